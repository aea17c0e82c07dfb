"""Check and test every mutant, some hours; what is interrupted continues where it ended."""

from __future__ import annotations

import argparse

from bench.mutants.listing import mutants
from bench.mutants.running import JOURNAL, Journal, check_mutants, run_whole, test_mutants
from bench.mutants.trees import folder_for_certificates

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__).parse_args()
    listed, journal = mutants(), Journal(JOURNAL)
    with folder_for_certificates() as folder:
        check_mutants(listed, run_whole(folder), folder, journal)
    test_mutants(listed, journal)
