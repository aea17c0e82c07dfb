"""The vectors of type `tape`: what this project's exact algorithms make of random bits.

Each takes its parameters by name, its input, and the source of its randomness, and draws from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from hashlib import shake_256
from typing import Any, TypeAlias

from experiments.vectors.notes import case, file_of, fractions
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential, exact_exponential_base2
from mechanisms.laplace.exact import exact_dyadic_geometric, exact_randomized_response
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.published import discrete_gaussian, discrete_laplace, two_sided_geometric
from mechanisms.randomness import RandomBits

Parameters: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[Parameters, Any, RandomBits], Any]

COUNT = 48
"""How many runs are made of each setting; the first, the shortest and the longest are written."""

SPARE_BITS = 8
"""The number of further bits after those that are used, for an implementation that takes too many."""


class RecordedBits(RandomBits):
    """The bits of a hash of a name, the same on every machine."""

    def __init__(self, name: str) -> None:
        self._name, self._known, self.used = name.encode(), "", 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        start, self.used = self.used, self.used + count
        return int(self.first(self.used)[start:] or "0", 2)

    def first(self, count: int) -> str:
        """Return the first bits of the stream, whether they were taken or not."""
        if count > len(self._known):
            content = shake_256(self._name).digest(max(1 << 10, count // 4))
            self._known = "".join(f"{byte:08b}" for byte in content)
        return self._known[:count]


def _exponential_base2(of: Parameters, utilities: Any, bits: RandomBits) -> int:
    eta = BaseTwoEta(of["decay"].numerator, of["decay"].denominator.bit_length() - 1)
    ends = (min(utilities), max(utilities) + 1)
    return int(exact_exponential_base2(eta=eta, utility_range=ends).release(utilities, bits))


def _geometric_on_a_range(of: Parameters, answer: Any, bits: RandomBits) -> int:
    term = exact_dyadic_geometric(ratio=of["decay"], lower=of["lower"], upper=of["upper"])
    return int(term.release(answer, bits))


RUNS: Mapping[str, Run] = {
    "uniform_below": lambda of, _, bits: uniform_below(of["bound"], bits),
    "bernoulli": lambda of, _, bits: bernoulli(Fraction(of["probability"]), bits),
    "bernoulli_exp": lambda of, _, bits: bernoulli_exp(Fraction(of["gamma"]), bits),
    "two_sided_geometric": lambda of, _, bits: two_sided_geometric(of["ratio"], bits),
    "discrete_laplace": lambda of, _, bits: discrete_laplace(Fraction(of["scale"]), bits),
    "discrete_gaussian": lambda of, _, bits: discrete_gaussian(Fraction(of["variance"]), bits),
    "permute_and_flip": lambda of, data, bits: exact_exponential_noisy_max(epsilon=2 * of["rate"]).release(data, bits),
    "randomized_response": lambda of, data, bits: exact_randomized_response(epsilon=of["epsilon"]).release(data, bits),
    "two_sided_geometric_on_a_range": _geometric_on_a_range,
    "exponential": lambda of, data, bits: exact_exponential(epsilon=2 * of["rate"]).release(data, bits),
    "exponential_base2": _exponential_base2,
}
"""The algorithms, by name; the last four compare single bits with probabilities, in an order of our own."""

_RATES, _DECAYS = fractions("1/2 1/8"), fractions("1/2 5/8")
_UTILITIES = ([0, 1], [3, 0, 0], [1, 1, 1, 1, 1], [0, -7, 2], [100, 0])

SETTINGS: Mapping[str, tuple[str, Sequence[Any], Sequence[Any]]] = {
    "uniform_below": ("bound", (1, 2, 3, 5, 10, 100, 1000, 1 << 64), (None,)),
    "bernoulli": ("probability", fractions("0 1 1/2 1/3 7/10 1/12157665459056928801"), (None,)),
    "bernoulli_exp": ("gamma", fractions("0 1/10 1/2 1 5/3 7"), (None,)),
    "two_sided_geometric": ("ratio", fractions("1/2 1/3 9/10 255/256"), (None,)),
    "discrete_laplace": ("scale", fractions("1/2 1 3 7/3 9 20 1000000000000"), (None,)),
    "discrete_gaussian": ("variance", fractions("1/4 1 10/3 25 1000000000000"), (None,)),
    "permute_and_flip": ("rate", _RATES, _UTILITIES),
    "randomized_response": ("epsilon", fractions("1/10 1 3"), (False, True)),
    "two_sided_geometric_on_a_range": ("decay", _DECAYS, (-4, -1, 0, 2, 3)),
    "exponential": ("rate", _RATES, _UTILITIES),
    "exponential_base2": ("decay", _DECAYS, _UTILITIES),
}
"""For each algorithm, the name of its parameter, the values of it, and the inputs; None is the input of pure noise."""


def tapes() -> dict[str, Any]:
    """Return the contents of the file."""
    return file_of("tape", {name: _cases(name) for name in SETTINGS})


def _cases(name: str) -> list[dict[str, Any]]:
    parameter, values, inputs = SETTINGS[name]
    more = {"lower": -4, "upper": 4} if name.endswith("_on_a_range") else {}
    return [row for input_ in inputs for value in values for row in _runs(name, {parameter: value, **more}, input_)]


def _runs(name: str, parameters: Parameters, input_: Any) -> list[dict[str, Any]]:
    runs = []
    for number in range(COUNT):
        bits = RecordedBits(f"{name} {dict(parameters)} {input_} {number}")
        output = RUNS[name](parameters, input_, bits)
        runs.append({"bits": bits.first(bits.used + SPARE_BITS), "output": output, "bits_used": bits.used})
    shortest, longest = (choose(runs, key=lambda run: run["bits_used"]) for choose in (min, max))
    cases: dict[str, dict[str, Any]] = {}
    for place, run in {"first": runs[0], "shortest": shortest, "longest": longest}.items():
        is_long = place == "longest" and run["bits_used"] > shortest["bits_used"]
        fields = {"parameters": parameters, "input": input_, **run}
        cases.setdefault(str(run), case(f"the {place} of {COUNT} runs", ["LongRun" if is_long else "Basic"], fields))
    return list(cases.values())
