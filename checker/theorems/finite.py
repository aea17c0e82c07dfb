"""The theorem on any sampler and finitely many inputs: each law is found, and every pair of neighbours compared."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, decoded, rational, require
from checker.enclosures.elementary import exp
from checker.kinds.claims import require_neighbours
from checker.kinds.law_tree import Law, Laws, tag
from checker.kinds.ratios import BITS, greatest_ratio, shown, within

UNITS = 1 << 96
"""Masses are rounded against the claim to so many parts where laws are not closed."""

STATED = Fraction(1, 1 << 48)
"""The masses of a law that is not closed are stated to this precision, rounded down."""

LISTED = "the listed pairs"
Inputs = list[Any]


def finite_inputs(certificate: Certificate) -> Conclusion:
    """Show that a sampler keeps (ε, δ) for every pair of neighbours of a finite domain.

    Functions: `reference(input, bits, **parameters)`, of any package that the checker was told of. Evidence: `inputs`,
    either listed or every vector of some values and lengths; `pairs`, if neighbours are listed; `laws`, one an input.
    """
    epsilon, delta = _claimed(certificate)
    relation = require_neighbours(certificate, LISTED, *RELATIONS)
    evidence = certificate.evidence
    inputs, domain = _inputs(evidence.get("inputs"))
    parameters = certificate.arguments()
    pairs = (
        _listed(evidence.get("pairs"), len(inputs))
        if relation == LISTED
        else sorted(_related(relation, inputs, parameters))
    )
    if not pairs:
        raise Refused("no two of the inputs are neighbours")
    sampler = partial(certificate.function("reference"), **parameters)
    laws = Laws()
    found = [laws.of(sampler, one) for one in inputs]
    stated = require(evidence.get("laws"), list, "laws")
    if len(stated) != len(found):
        raise Refused(f"{len(stated)} laws are stated for {len(found)} inputs")
    closed = all(law.open == 0 for law in found)
    for one, law, said in zip(inputs, found, stated, strict=True):
        _require_stated(one, law, require(said, list, "a law"), closed)
    compare = _compare_closed if closed and not delta else _compare_open
    worst, (first, second) = compare(found, pairs, epsilon, delta, inputs)
    return Conclusion(
        f"({epsilon}, {delta})-DP for every pair of neighbours ({relation}) of {domain}; the worst is "
        f"{inputs[first]!r}, {inputs[second]!r}: {worst}",
        (),
        {"inputs": len(inputs), "pairs": len(pairs), "runs": laws.runs},
    )


def _claimed(certificate: Certificate) -> tuple[Fraction, Fraction]:
    claim = certificate.claim
    kinds = {"pure": {"kind", "epsilon"}, "approximate": {"kind", "epsilon", "delta"}}
    if set(claim) != kinds.get(claim.get("kind", "")):
        raise Refused(f"this theorem is about pure and approximate differential privacy, not {dict(claim)}")
    epsilon, delta = rational(claim["epsilon"], "epsilon"), rational(claim.get("delta", 0), "delta")
    if epsilon < 0 or not 0 <= delta < 1:
        raise Refused(f"epsilon must be at least 0 and delta in [0, 1), not {epsilon} and {delta}")
    return epsilon, delta


def _inputs(given: Any) -> tuple[Inputs, str]:
    """Return the inputs, each of them once, and what they are."""
    form = require(given, dict, "inputs")
    if set(form) == {"listed"}:
        inputs = list(map(decoded, require(form["listed"], list, "the inputs")))
        domain = f"{len(inputs)} inputs"
    elif set(form) == {"values", "lengths"}:
        values, lengths = (list(map(decoded, require(form[name], list, name))) for name in ("values", "lengths"))
        inputs = [vector for length in lengths for vector in product(values, repeat=require(length, int, "a length"))]
        domain = (
            f"the {len(inputs)} vectors of {'/'.join(map(str, lengths))} of the values {', '.join(map(str, values))}"
        )
    else:
        raise Refused(f"inputs are {sorted(form)}")
    if len(set(map(tag, inputs))) != len(inputs):
        raise Refused("an input is there twice")
    return inputs, domain


def _listed(given: Any, count: int) -> list[tuple[int, int]]:
    pairs = []
    for pair in require(given, list, "pairs"):
        one, other = (require(index, int, "an index") for index in require(pair, list, "a pair"))
        if not (0 <= one < count and 0 <= other < count and one != other):
            raise Refused(f"{pair} is not a pair of inputs")
        pairs.append((one, other))
    return pairs


Vector = tuple[Any, ...]


def _close(vector: Vector, values: Inputs, sensitivity: Fraction) -> Iterator[Vector]:
    near = {
        value: [other for other in values if abs(Fraction(other) - Fraction(value)) <= sensitivity] for value in values
    }
    return product(*(near[value] for value in vector))


def _close_one_way(vector: Vector, values: Inputs, sensitivity: Fraction) -> Iterator[Vector]:
    for other in _close(vector, values, sensitivity):
        if all(map(operator.le, vector, other)) or all(map(operator.le, other, vector)):
            yield other


def _removed(vector: Vector, values: Inputs, sensitivity: Fraction) -> Iterator[Vector]:  # noqa: ARG001
    return (vector[:at] + vector[at + 1 :] for at in range(len(vector)))


def _substituted(vector: Vector, values: Inputs, sensitivity: Fraction) -> Iterator[Vector]:  # noqa: ARG001
    return ((*vector[:at], value, *vector[at + 1 :]) for at in range(len(vector)) for value in values)


RELATIONS: dict[str, Callable[[Vector, Inputs, Fraction], Iterator[Vector]]] = {
    "utilities at most the sensitivity apart": _close,
    "utilities at most the sensitivity apart, all the same way": _close_one_way,
    "add-remove": _removed,
    "substitute": _substituted,
}
"""The neighbours of a vector, by the certificate's words: of each pair, those of either are all among those of one."""


def _related(relation: str, inputs: Inputs, parameters: dict[str, Any]) -> set[tuple[int, int]]:
    """Return each pair of inputs that are neighbours, once."""
    sensitivity = Fraction(parameters.get("sensitivity", 1))
    indices = {tag(vector): index for index, vector in enumerate(inputs)}
    values = list({tag(value): value for vector in inputs for value in vector}.values())
    found = set()
    for index, vector in enumerate(inputs):
        for other in RELATIONS[relation](vector, values, sensitivity):
            reached = indices.get(tag(other), index)
            if reached != index:
                found.add((min(index, reached), max(index, reached)))
    return found


def _require_stated(one: Any, law: Law, stated: list[Any], closed: bool) -> None:
    """Check that the stated masses are those that were found: exactly, if all laws are closed."""
    masses = {tag(leaf.outcome): leaf.mass for leaf in law.leaves.values()}
    said = {}
    for entry in stated:
        outcome, mass = require(entry, list, "an outcome and its mass")
        said[tag(decoded(outcome))] = rational(mass, "a mass")
    if len(said) != len(stated):
        raise Refused(f"the law of {one!r} states an outcome twice")
    if closed:
        if said != masses:
            raise Refused(f"the law of {one!r} is not the one stated")
        return
    if not {name for name, mass in masses.items() if mass >= STATED} <= said.keys() <= masses.keys():
        raise Refused(f"the law of {one!r} has other outcomes than those stated")
    for name, mass in said.items():
        if (mass / STATED).denominator != 1 or not mass - law.open <= masses[name] < mass + STATED:
            raise Refused(f"the law of {one!r} has {name} with about {float(masses[name])}, not {mass}")


Pairs = list[tuple[int, int]]
Worst = tuple[str, tuple[int, int]]


def _compare_closed(laws: list[Law], pairs: Pairs, epsilon: Fraction, delta: Fraction, inputs: Inputs) -> Worst:  # noqa: ARG001
    masses = [{name: leaf.mass for name, leaf in law.leaves.items()} for law in laws]
    ratio, pair = max((greatest_ratio(masses[one], masses[other]), (one, other)) for one, other in pairs)
    if not within(ratio, epsilon):
        raise Refused(f"{inputs[pair[0]]!r} and {inputs[pair[1]]!r} lose {shown(ratio)}, more than {epsilon}")
    return f"ε is at most {shown(ratio)}, {epsilon} is claimed", pair


def _compare_open(laws: list[Law], pairs: Pairs, epsilon: Fraction, delta: Fraction, inputs: Inputs) -> Worst:
    least = exp(epsilon, BITS)[0] if epsilon else Fraction(1)
    above = [{n: -int(-leaf.mass * UNITS // 1) for n, leaf in law.leaves.items()} for law in laws]
    below = [{n: int(leaf.mass * least * UNITS // 1) for n, leaf in law.leaves.items()} for law in laws]
    left = [-int(-law.open * UNITS // 1) for law in laws]

    def excess(one: int, other: int) -> int:
        """Bound the hockey-stick divergence of one law from another, in parts."""
        known = below[other]
        return left[one] + sum(max(0, mass - known.get(name, 0)) for name, mass in above[one].items())

    parts, pair = max((excess(*ordered), ordered) for one, other in pairs for ordered in ((one, other), (other, one)))
    found = Fraction(parts, UNITS)
    if found > delta:
        raise Refused(
            f"{inputs[pair[0]]!r} and {inputs[pair[1]]!r} may need δ = {float(found):.3g} at ε = {epsilon}, "
            f"more than {float(delta):.3g}"
        )
    return f"δ is at most {float(found):.3g} at ε = {epsilon}, and {_least_loss(laws, pairs)}", pair


def _least_loss(laws: list[Law], pairs: Pairs) -> str:
    """Say what ε some pair loses at least, by the outcome whose masses differ most for certain."""
    ratios = [
        leaf.mass / (laws[other].leaves[name].mass + laws[other].open)
        for pair in pairs
        for one, other in (pair, pair[::-1])
        for name, leaf in laws[one].leaves.items()
        if name in laws[other].leaves
    ]
    return f"some pair loses about {shown(max(ratios))}"
