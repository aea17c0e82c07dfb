"""Deterministic stages: how far one record moves their output, shown by two inputs and two outputs."""
