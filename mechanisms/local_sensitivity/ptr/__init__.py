"""Propose-test-release of the mean."""
