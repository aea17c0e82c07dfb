"""`python -m experiments.certificates`: write every certificate, and have it checked."""

import sys
from pathlib import Path

from experiments.certificates.writing import main

if __name__ == "__main__":
    sys.exit(main(Path("reports")))
