"""Write the data of the touchable figures to docs/_static/figures/."""

import argparse

from experiments.touchable import write

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m experiments.touchable", description=__doc__).parse_args()
    write()
