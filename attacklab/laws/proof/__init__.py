"""The three ways to a proof: by exact laws on pairs or on a finite domain, and by a certificate for every pair.

`prove` decides a claim on one pair, or on every pair of neighbours among given inputs; `prove_all` on each of some
pairs; `prove_every_pair` on every pair of neighbours that there is.
"""

from attacklab.laws.proof.certificates import find_checker, prove_every_pair
from attacklab.laws.proof.pairs import SECONDS, default_pair, prove, prove_all
from attacklab.laws.proof.search import LIMITS, SLACK

__all__ = ["LIMITS", "SECONDS", "SLACK", "default_pair", "find_checker", "prove", "prove_all", "prove_every_pair"]
