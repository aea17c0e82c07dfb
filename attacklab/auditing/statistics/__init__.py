"""Confidence from samples: fixed-size bounds, evidence by betting, power, and timing tests."""
