"""Certificates in which anything was changed are refused, or still state something true.

What an accepted one states is judged here without the checker: `true_because` names the reasons that there are. Each of
them is a class of changes that leave a certificate true; an accepted change that fits none of them fails the test.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from attacklab.certificates import Draft, certificate
from attacklab.laws import enumerate_law
from checker.check import check
from checker.core.certificate import Certificate, Refused, load
from checker.kinds.law_tree import Law, Laws
from checker.theorems import finite
from experiments.certificates import DRAFTS
from experiments.certificates.finite import powers, small_scope
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact_base2 import exact_exponential_base2

MUTATIONS = 1000
"""Over all certificates; the default run tries a tenth as many, of those that are checked fast."""

Json = Any


def _tiny() -> Draft:
    return small_scope(
        exact_exponential_base2,
        {"eta": BaseTwoEta(3, 2), "utility_range": (0, 8)},
        lambda utilities: powers(Fraction(3, 4), utilities),
        values=3,
        lengths=(1, 2),
        neighbours="utilities at most the sensitivity apart",
        epsilon=Fraction("0.5754"),
        closed=True,
    )


def _short() -> Draft:
    draft = DRAFTS["exact_two_sided_geometric"]()
    return replace(draft, parameters={**draft.parameters, "lower": -1, "upper": 2})


FAST: dict[str, Callable[[], Draft]] = {
    "tiny domain": _tiny,
    "short range": _short,
    "exact_randomized_response": DRAFTS["exact_randomized_response"],
    "exact_discrete_laplace": DRAFTS["exact_discrete_laplace"],
}


@cache
def written(name: str) -> Json:
    return certificate(name, (FAST | dict(DRAFTS))[name]())


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(value: Json, random: Random) -> Json:
    """Another value of the same kind, as near as can be or far away."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, -value - 1, 2 * value + 3, str(value), True])
    if isinstance(value, str):
        return _changed_text(value, random)
    if isinstance(value, list) and value:
        at, other = random.randrange(len(value)), random.randrange(len(value))
        swapped = list(value)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        return random.choice([value[:at] + value[at + 1 :], [*value, value[at]], swapped, []])
    if isinstance(value, dict) and value:
        key = random.choice(sorted(value))
        rest = {name: item for name, item in value.items() if name != key}
        return random.choice([rest, {**rest, f"{key}s": value[key]}, {**value, "more": 1}])
    return random.choice([0, "0", [], {"more": 1}])


def _changed_text(text: str, random: Random) -> Json:
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        pass
    else:
        near = Fraction(1, random.choice([1, 2, 1000, 1 << 30, number.denominator]))
        return str(random.choice([number + near, number - near, number * (1 + near), -number, 2 * number, number]))
    if text.startswith(("0x", "-0x")):
        double = float.fromhex(text)
        return random.choice([math.nextafter(double, math.inf), math.nextafter(double, 0), 2 * double, -double]).hex()
    at = random.randrange(len(text) + 1)
    return random.choice(
        [text[:at] + random.choice("0aZ:_.") + text[at + 1 :], text[:at] + text[at + 1 :], text.upper()]
    )


def moved(evidence: Json, random: Random) -> bool:
    """Move some mass of a stated law from one outcome to another, so that it still adds up to 1."""
    laws = [law for law in evidence.get("laws", ()) if len(law) > 1]
    if not laws:
        return False
    one, other = random.sample(random.choice(laws), 2)
    part = Fraction(one[1]) / random.choice([2, 1000, 1 << 40])
    one[1], other[1] = str(Fraction(one[1]) - part), str(Fraction(other[1]) + part)
    return True


def mutated(original: Json, random: Random) -> Json:
    """A certificate with one thing changed; each field is as likely to be met."""
    mutant = copy.deepcopy(original)
    if random.random() < 1 / 12 and moved(mutant["evidence"], random):
        return mutant
    field = random.choice([*sorted(mutant), "parameters", "claim", "evidence"])
    path = random.choice(list(places(mutant[field], (field,))))
    holder = mutant
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = changed(holder[path[-1]], random)
    return mutant


def true_because(original: Json, mutant: Json) -> str | None:
    """Say why a changed certificate still states something true; None if nothing says so."""
    fields = {name for name in original if original[name] != mutant.get(name)}
    if not fields:
        return "nothing was changed"
    if fields == {"mechanism"}:
        return "the name is a label"
    if mutant["theorem"] == "finite_inputs" and fields <= {"claim", "evidence", "neighbours", "parameters"}:
        return "the stated laws say so" if _holds_by_stated_laws(mutant) else None
    if fields == {"evidence"} and not original["evidence"]:
        return "the theorem asks for no evidence"
    if fields <= {"claim", "parameters"} and _lost(mutant) <= float(Fraction(mutant["claim"]["epsilon"])):
        return "the mechanism of these parameters loses no more, by its definition"
    return None


def _lost(given: Json) -> float:
    """What a mechanism loses by its definition, from its public parameters."""
    parameters = given["parameters"]
    if "eta" in parameters:
        eta = parameters["eta"]
        return float(-eta.get("z", 1) * math.log(eta["x"] / 2 ** eta["y"]))
    if "epsilon_threshold" in parameters:
        known = Certificate(**given).arguments()
        return float(sum(Fraction(value) for name, value in known.items() if name.startswith("epsilon_")))
    return float(Fraction(parameters["epsilon"]["rational"]))


def _holds_by_stated_laws(given: Json) -> bool:
    """Compare the laws that are stated, pair by pair, in floats; and some of them with what the lab enumerates."""
    form = given["evidence"]["inputs"]
    vectors = [vector for length in form["lengths"] for vector in product(form["values"], repeat=length)]
    laws = [{json.dumps(o): float(Fraction(mass)) for o, mass in law} for law in given["evidence"]["laws"]]
    epsilon, delta = (float(Fraction(given["claim"].get(name, 0))) for name in ("epsilon", "delta"))
    parameters = Certificate(**given).arguments()
    for index in range(0, len(vectors), len(vectors) // 3 + 1):
        sampler = partial(Certificate(**given).function("reference"), vectors[index], **parameters)
        for outcome, mass in enumerate_law(sampler).masses.items():
            said = laws[index].get(
                json.dumps(outcome if not isinstance(outcome, float) else {"float": outcome.hex()}), 0
            )
            if abs(float(mass) - said) > 1e-9:
                return False
    for one, p in zip(vectors, laws, strict=True):
        for other, q in zip(vectors, laws, strict=True):
            if _neighbours(given, one, other, float(parameters.get("sensitivity", 1))):
                excess = sum(max(0.0, mass - math.exp(epsilon) * q.get(o, 0.0)) for o, mass in p.items())
                if excess > delta + 1e-9:
                    return False
    return True


def _neighbours(given: Json, one: tuple[Any, ...], other: tuple[Any, ...], sensitivity: float) -> bool:
    if given["neighbours"] == "add-remove":
        return any(one[:at] + one[at + 1 :] == other for at in range(len(one)))
    if len(one) != len(other):
        return False
    if given["neighbours"] == "substitute":
        return sum(map(lambda u, v: u != v, one, other)) == 1
    return all(abs(u - v) <= sensitivity for u, v in zip(one, other, strict=True))


class Remembered(Laws):
    """Laws of samplers that were found for certificates before."""

    before: dict[Any, Law] = {}  # noqa: RUF012

    def of(self, sampler: Any, *arguments: Any) -> Law:
        key = (sampler.func, repr(sorted(sampler.keywords.items())), arguments)
        if key not in self.before:
            self.before[key] = super().of(sampler, *arguments)
        return self.before[key]


def require_refused_or_true(name: str, seed: int, path: Path) -> str:
    """Check one mutant; return why it was refused or is true."""
    original = written(name)
    mutant = mutated(original, Random(f"{name} {seed}"))
    path.write_text(json.dumps(mutant), "utf-8")
    try:
        check(load(path))
    except Refused as error:
        return f"refused: {error}"
    reason = true_because(original, mutant)
    assert reason is not None, {field: mutant.get(field) for field in original if original[field] != mutant.get(field)}
    return reason


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FAST)
def test_what_is_changed_is_refused_or_still_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "Laws", Remembered)
    said = [require_refused_or_true(name, seed, tmp_path / "mutant.json") for seed in range(MUTATIONS // 40)]
    assert sum(reason.startswith("refused") for reason in said) > len(said) // 2


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAFTS)
def test_a_thousand_changes_are_refused_or_still_true(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finite, "Laws", Remembered)
    said = [
        require_refused_or_true(name, seed, tmp_path / "mutant.json") for seed in range(-(-MUTATIONS // len(DRAFTS)))
    ]
    assert sum(reason.startswith("refused") for reason in said) > len(said) // 2


def test_a_false_claim_would_not_be_excused() -> None:
    """The judge of accepted mutants finds those that are false."""
    for name, epsilon in (("tiny domain", "0.2"), ("short range", "0.9"), ("exact_discrete_laplace", "0.9")):
        original = written(name)
        assert true_because(original, {**original, "claim": {"kind": "pure", "epsilon": epsilon}}) is None
        assert true_because(original, {**original, "functions": {"reference": "mechanisms.laplace.naive:x"}}) is None
