"""Search for the pair that shows a flaw best, and for the smallest one that still shows it."""

from attacklab.search.witnesses import Witness, search

__all__ = ["Witness", "search"]
