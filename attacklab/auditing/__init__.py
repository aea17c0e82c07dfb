"""Audits: attacks, the statistics that judge them, and the loop that runs them against a target."""

DEFAULT_ALPHA = 1e-6
"""The probability of a false alarm in a whole audit."""

DEFAULT_TRIALS = 100_000
"""The outputs of each input on which an event is judged, unless more may still refute the claim."""
