"""Write the certificate of every exact target to reports/proofs and have each checked, in some two minutes."""

import argparse
import sys

from experiments.certificates import ROOT, main

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m experiments.certificates", description=__doc__).parse_args()
    sys.exit(main(ROOT / "reports"))
