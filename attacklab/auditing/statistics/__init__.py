"""Confidence from samples: fixed-size bounds, evidence by betting, and power."""
