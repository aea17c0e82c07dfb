"""Proofs of concept: a finding as one Python script, for a maintainer who has never seen this lab.

The script imports numpy and the target, and nothing of this package. What it says, what it draws, how it calls the
target and how it judges is in `script`; which finding it shows is in `choice`.
"""

from attacklab.reporting.poc.choice import chosen_finding
from attacklab.reporting.poc.script import Call, proof_of_concept

__all__ = ["Call", "chosen_finding", "proof_of_concept"]
