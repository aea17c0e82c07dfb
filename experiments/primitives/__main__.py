"""Write the page and the machine-readable list of vulnerable primitives."""

from __future__ import annotations

import argparse

from experiments.primitives import listing
from experiments.primitives.page import LIST, PAGE, json_text, page

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m experiments.primitives", description=__doc__).parse_args()
    whole = listing()
    PAGE.write_text(page(whole), encoding="utf-8")
    LIST.write_text(json_text(whole), encoding="utf-8")
