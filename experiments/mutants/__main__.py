"""Run every mutant: `python -m experiments.mutants`, some hours, which continue where they were interrupted."""

from __future__ import annotations

from experiments.mutants.listing import mutants
from experiments.mutants.running import JOURNAL, Journal, check_mutants, run_whole, test_mutants
from experiments.mutants.trees import folder_for_certificates

if __name__ == "__main__":
    listed, journal = mutants(), Journal(JOURNAL)
    with folder_for_certificates() as folder:
        check_mutants(listed, run_whole(folder), folder, journal)
    test_mutants(listed, journal)
