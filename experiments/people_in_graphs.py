"""Edges or people: what a private number of friendships protects in a graph, by what counts as a neighbour.

Two graphs are edge neighbours if one edge tells them apart, and node neighbours if one person's edges do, as many as
these are. A claim for edges promises a person with d friends what group privacy gives: dε. A claim for people needs
noise for all the edges a person may have, or a bound on them that no one person can move far. Leaving out the people
with more than D friends is no such bound: who befriends people of exactly D friends takes them out too.

Sources: Dwork and Roth 2014, section 2.3 (edges and nodes) and theorem 2.2 (groups); bounds that hold are in
Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013, 'Analyzing Graphs with Node Differential Privacy'.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.laws import Law, Limits, advantage, enumerate_law, smallest_epsilon
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments.common.curves import figure, line, marks, panel
from experiments.common.karate_club import CLUB, PEOPLE, Graph, degrees, rewired
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.published import discrete_laplace

QUESTION = "What does an ε for the edges of a graph promise to its people?"

EPSILON = 1
MOST_FRIENDS = max(degrees(CLUB).values())
BOUNDS = range(1, MOST_FRIENDS + 1)
EDGES = 10
"""At ε = 1/EDGES for an edge, this many edges have ε = 1 together, and δ stays 0."""


def collect(settings: Settings) -> Collected:
    """Find the ε of people under a claim for edges, and how far one person moves a bounded count."""
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(60, 40)))
    law, wide = (enumerate_law(discrete_laplace, Fraction(scale, EPSILON), limits=limits) for scale in (1, EDGES))
    friends = sorted(set(degrees(CLUB).values()))
    bounds = list(BOUNDS)[:: settings.budget(1, 5)]
    moves = {bound: list(rewirings(bound)) for bound in bounds}
    measured = {
        "friends": friends,
        "epsilon": _epsilons(law, friends),
        "wide_epsilon": _epsilons(wide, friends),
        "wide_advantage": float(advantage(wide, wide.map(partial(operator.add, EDGES))).lower),
        "bounds": bounds,
        "tried": sum(map(len, moves.values())),
        "naive_move": [
            max(abs(among_few_friends(CLUB, d) - among_few_friends(g, d)) for g in moves[d]) for d in bounds
        ],
    }
    return Collected((), measured)


def _epsilons(noise: Law, moves: list[int]) -> list[float]:
    """Return, for each distance in `moves`, the ε that two answers at that distance need under this noise."""
    return [smallest_epsilon(noise, noise.map(partial(operator.add, move)))[0] for move in moves]


def rewirings(bound: int) -> list[Graph]:
    """Return graphs in which one person befriends nobody, everybody, or all people with exactly `bound` friends."""
    at_the_edge = {person for person, friends in degrees(CLUB).items() if friends == bound}
    everybody = frozenset(range(1, PEOPLE + 1))
    return [
        rewired(CLUB, person, frozenset(friends) - {person})
        for person in sorted(everybody)
        for friends in ((), at_the_edge, everybody)
    ]


def among_few_friends(graph: Graph, bound: int) -> int:
    """Return the number of edges between people of at most `bound` friends, which a naive truncation counts."""
    friends = degrees(graph)
    return sum(max(friends[first], friends[second]) <= bound for first, second in graph)


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the ε that hiding a person needs, and how far a person moves the count."""
    measured = data["measured"]
    friends, bounds = measured["friends"], measured["bounds"]
    panels = [
        panel(
            f"Noise that hides an edge with ε = {EPSILON:g} or {EPSILON / EDGES:g}",
            "friends of a person, d",
            "ε that hiding the person needs",
            [
                marks(f"exact laws, edges at ε = {EPSILON:g}", Role.EXACT, friends, measured["epsilon"]),
                marks(f"exact laws, edges at ε = {EPSILON / EDGES:g}", Role.OTHER, friends, measured["wide_epsilon"]),
                *(
                    line("group privacy, dε", Role.IDEAL, friends, [d * epsilon for d in friends])
                    for epsilon in (EPSILON, EPSILON / EDGES)
                ),
                line(f"ε = {EPSILON:g}", Role.CEILING, friends, [EPSILON] * len(friends)),
            ],
        ),
        panel(
            "What one person moves",
            "bound on friends, D",
            "change of the count",
            [
                line("people above D left out", Role.NAIVE, bounds, measured["naive_move"]),
                line("noise is scaled to D", Role.CEILING, bounds, bounds),
            ],
        ),
    ]
    caption = "A private number of friendships: edges protected, and people."
    return [figure("people_in_graphs", caption, panels)]


def explain(data: dict[str, Any]) -> str:
    """Say what a claim for edges promises to people."""
    measured = data["measured"]
    excess = [move / d for d, move in zip(measured["bounds"], measured["naive_move"], strict=True)]
    worst = max(range(len(excess)), key=excess.__getitem__)
    return PARAGRAPHS["people_in_graphs"].format(
        measured=measured,
        people=PEOPLE,
        edges=len(CLUB),
        epsilon=EPSILON,
        most=measured["epsilon"][-1],
        most_friends=measured["friends"][-1],
        tenth=EPSILON / EDGES,
        few=EDGES,
        few_ceiling=math.tanh(EPSILON / 2),
        wide_most=measured["wide_epsilon"][-1],
        above=sum(friends > EDGES for friends in degrees(CLUB).values()),
        naive=measured["naive_move"][worst],
        naive_at=measured["bounds"][worst],
    )
