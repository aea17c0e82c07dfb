"""Interaction: an adversary who sees each answer before it asks the next question."""
