"""Loads the targets, domains and pairs that a command line, a pytest marker or a file names."""
