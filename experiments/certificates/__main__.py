"""Write every certificate to reports/proofs and have each checked, some minutes."""

import argparse
import sys
from pathlib import Path

from experiments.certificates.writing import main

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m experiments.certificates", description=__doc__).parse_args()
    sys.exit(main(Path("reports")))
