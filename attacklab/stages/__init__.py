"""Deterministic stages: how far one record moves what they give, by two inputs and two numbers."""
