"""Domains: on which inputs a claim holds, and the neighbouring pairs that follow from that."""

from attacklab.model.domains.conditions import broken_condition
from attacklab.model.domains.domain import Domain
from attacklab.model.domains.shapes import (
    Categories,
    Graphs,
    HeldAs,
    Lists,
    Pattern,
    Queries,
    Records,
    Rows,
    Shape,
    Streams,
    Strings,
)
from attacklab.model.domains.text import domain_from_text, read_pairs

__all__ = [
    "Categories",
    "Domain",
    "Graphs",
    "HeldAs",
    "Lists",
    "Pattern",
    "Queries",
    "Records",
    "Rows",
    "Shape",
    "Streams",
    "Strings",
    "broken_condition",
    "domain_from_text",
    "read_pairs",
]
