"""Who met whom in a karate club: 34 people, 78 friendships.

Source: W. W. Zachary 1977, 'An Information Flow Model for Conflict and Fission in Small Groups', Journal of
Anthropological Research 33, figure 1 and its matrix of relations.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]
"""Two people, the one with the smaller number first."""
Graph: TypeAlias = frozenset[Edge]

PEOPLE = 34
_FRIENDS = {
    1: (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32),
    2: (3, 4, 8, 14, 18, 20, 22, 31),
    3: (4, 8, 9, 10, 14, 28, 29, 33),
    4: (8, 13, 14),
    5: (7, 11),
    6: (7, 11, 17),
    7: (17,),
    9: (31, 33, 34),
    10: (34,),
    14: (34,),
    15: (33, 34),
    16: (33, 34),
    19: (33, 34),
    20: (34,),
    21: (33, 34),
    23: (33, 34),
    24: (26, 28, 30, 33, 34),
    25: (26, 28, 32),
    26: (32,),
    27: (30, 34),
    28: (34,),
    29: (32, 34),
    30: (33, 34),
    31: (33, 34),
    32: (33, 34),
    33: (34,),
}
"""Person → the friends with larger numbers."""

CLUB: Graph = frozenset((person, friend) for person, friends in _FRIENDS.items() for friend in friends)


def degrees(graph: Graph) -> Counter[int]:
    """How many friends each person has; people without any are left out."""
    return Counter(person for edge in graph for person in edge)


def rewired(graph: Graph, person: int, friends: frozenset[int]) -> Graph:
    """The graph in which a person has other friends: a neighbour of it where people are protected."""
    kept = {edge for edge in graph if person not in edge}
    return frozenset(kept | {(min(person, friend), max(person, friend)) for friend in friends})
