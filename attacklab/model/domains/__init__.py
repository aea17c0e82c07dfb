"""Domains: on which inputs a claim holds, and the neighbouring pairs that follow from that."""

from attacklab.model.domains.domain import Domain
from attacklab.model.domains.shapes import Categories, Graphs, Pattern, Queries, Records, Streams

__all__ = [
    "Categories",
    "Domain",
    "Graphs",
    "Pattern",
    "Queries",
    "Records",
    "Streams",
]
