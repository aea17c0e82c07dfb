"""Domains: the inputs on which a claim holds, and neighbouring pairs among them to try."""

from attacklab.model.domains.domain import Domain
from attacklab.model.domains.shapes import Categories, Graphs, Pattern, Queries, Records, Streams

__all__ = ["Categories", "Domain", "Graphs", "Pattern", "Queries", "Records", "Streams"]
