"""Who met whom in a karate club: 34 people, 78 friendships (see experiments/data/README.md)."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]
"""Two people, the one with the smaller number first."""
Graph: TypeAlias = frozenset[Edge]

PEOPLE = 34
_TABLE = Path(__file__).parent.parent / "data" / "karate_club.csv"

with _TABLE.open(newline="", encoding="utf-8") as _file:
    CLUB: Graph = frozenset((int(row["person"]), int(row["friend"])) for row in csv.DictReader(_file))


def degrees(graph: Graph) -> Counter[int]:
    """Return the number of friends of each person; people without any are left out."""
    return Counter(person for edge in graph for person in edge)


def rewired(graph: Graph, person: int, friends: frozenset[int]) -> Graph:
    """Return the graph in which a person has exactly these friends: a node neighbour of the graph."""
    kept = {edge for edge in graph if person not in edge}
    return frozenset(kept | {(min(person, friend), max(person, friend)) for friend in friends})
