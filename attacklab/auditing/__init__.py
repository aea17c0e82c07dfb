"""Audits: attacks, the statistics that judge them, and the loop that runs them against a target."""
