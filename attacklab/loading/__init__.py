"""Loads what a command line, a marker or a file of pairs names: targets, and domains and pairs (`inputs`)."""
