"""Kinds of arguments that theorems are put together from, one file each."""
