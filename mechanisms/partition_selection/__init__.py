"""Partition selection: which keys of a dataset can be named, and how many people have them; see README.md."""
