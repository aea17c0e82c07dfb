"""What the work done tells in addition to the output, by joint laws of the two.

A mechanism's law is that of its outputs. An adversary who can time it, or count the randomness that it takes from the
system, sees more: the pair (output, work). Loops that run as long as the noise is large, and rejections whose
probability depends on the database, make that pair tell more than ε allows. Jin, McMurtry, Rubinstein and Ohrimenko
2022, 'Are We There Yet? Timing and Floating-Point Attacks on Differential Privacy Systems', measure the time; here
the pair's law is exact. What bits add to δ is shown of every exact target (`experiments.common.exact_losses`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, cast

from attacklab.laws import Divergence, Law, Limits, advantage, enumerate_law, largest_ratio, log_bounds
from attacklab.laws.counted_work import Counted
from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, marks, panel
from experiments.common.exact_losses import EXACT, entry
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.coins import uniform_below
from mechanisms.core.flip import RationalResponse, Response
from mechanisms.core.inversion import invert
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.with_work import Delayed, Padded
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.weighted_sampling import (
    IntegerWeights,
    sample_by_rejection,
    sample_by_rejection_rounds,
)
from mechanisms.exponential.exact import exact_exponential, exact_exponential_base2, exact_exponential_fixed_work
from mechanisms.laplace.exact import exact_dyadic_geometric, exact_two_sided_geometric
from mechanisms.published import discrete_laplace, two_sided_geometric
from mechanisms.randomness import RandomBits
from mechanisms.subsampling.exact import exact_poisson_count

QUESTION = "What does an adversary gain by seeing output and work together, of naive, exact and fixed-work mechanisms?"

EPSILON = Fraction(1)
Y = 8
"""Mechanisms in base 2 come as near to ε as 8 bits allow."""
ETA_OF_NOISE = BaseTwoEta.from_epsilon(EPSILON, y=Y, monotone=True)
ETA_OF_SELECTION = BaseTwoEta.from_epsilon(EPSILON, y=Y)
RANGE = 7
ANSWERS = (RANGE // 2, RANGE // 2 + 1)
UTILITIES = ((0, 0, 0, 0, 0), (0, -1, -1, -1, -1))
UTILITY_RANGE = (-2, 0)
BASE_TWO = exact_exponential_base2(eta=ETA_OF_SELECTION, utility_range=UTILITY_RANGE)
RATE = Fraction(1, 4)
"""With which a record is in the sample; that takes two bits for each record."""
RECORDS = ((1,), ())
DELAYED = Delayed(exact_poisson_count(epsilon=EPSILON / 2, rate=RATE), DiscreteLaplace(Fraction(4)), most=40)
"""Half of ε is for the count, and half for the delay: two bits over a scale of four."""
RESPONSE = Response(EPSILON)
BITS = (False, True)
PADDED_BITS = 64
FIXED_WORK = exact_exponential_fixed_work(epsilon=EPSILON, utility_range=UTILITY_RANGE, precision=24)
ROUNDS = 8
GREATEST_NOISE = RANGE - ANSWERS[0]
CEILING = PrivacyClaim(float(EPSILON)).ceiling


@dataclass(frozen=True)
class Mechanism:
    """A mechanism and two neighbouring inputs.

    Attributes:
        label: its name in figures.
        release: takes an input and bits.
        pair: the inputs.
        is_wide: whether its joint laws have so many outcomes that they are sought to 2^−16 only.
    """

    label: str
    release: Callable[[Any, RandomBits], Any]
    pair: tuple[Any, Any]
    is_wide: bool = False

    def law(self, side: int, limits: Limits, counted: Counted | None) -> Law:
        """The law of the output, or of the output and the work, on one input of the pair."""
        reached = replace(limits, unresolved=Fraction(1, 1 << 16)) if self.is_wide else limits
        return enumerate_law(lambda bits: self.release(self.pair[side], bits), limits=reached, counted=counted)


def _noise(label: str, sampler: Callable[..., int], parameter: Fraction | DiscreteLaplace) -> Mechanism:
    return Mechanism(label, lambda answer, bits: answer + bits.call(sampler, parameter), ANSWERS)


def _selection(label: str, release: Callable[..., int]) -> Mechanism:
    return Mechanism(label, release, UTILITIES)


def _base_two(label: str, sampler: Callable[..., int]) -> Mechanism:
    """The selection of `BASE_TWO`, with another sampler of its levels."""

    def release(utilities: Sequence[int], bits: RandomBits) -> int:
        levels = tuple(sorted({-utility for utility in utilities}))
        counts = tuple(utilities.count(-level) for level in levels)
        weights = IntegerWeights(tuple(BASE_TWO.prepared(utilities).weights(levels, counts)))
        drawn = bits.call(sampler, weights)
        members = [outcome for outcome, utility in enumerate(utilities) if utility == -levels[drawn]]
        return members[bits.call(uniform_below, len(members))]

    return _selection(f"exponential, {label}", release)


MECHANISMS = {
    "algorithm_2": _noise("discrete Laplace, Algorithm 2", discrete_laplace, 1 / EPSILON),
    "geometric": _noise(
        "two-sided geometric, by counting", two_sided_geometric, Fraction(int(ETA_OF_NOISE.x), 1 << ETA_OF_NOISE.y)
    ),
    "inversion": _noise("discrete Laplace, inversion", invert, DiscreteLaplace(1 / EPSILON)),
    "fixed_work": Mechanism(
        "two-sided geometric, fixed work",
        exact_two_sided_geometric(epsilon=EPSILON, lower=0, upper=RANGE).release,
        ANSWERS,
    ),
    "fixed_work_selection": _selection("exponential, fixed work", FIXED_WORK.release),
    "padded": Mechanism(
        f"randomized response, padded to {PADDED_BITS} bits", Padded(RESPONSE, PADDED_BITS, False).release, BITS
    ),
    "response": Mechanism("randomized response, bit by bit", RESPONSE.release, BITS),
    "sample": Mechanism("count of a sample", exact_poisson_count(epsilon=EPSILON, rate=RATE).release, RECORDS),
    "delayed": Mechanism("count of a sample, delayed", DELAYED.release, RECORDS, is_wide=True),
    "base_e": _selection("exponential, base e", exact_exponential(epsilon=EPSILON).release),
    "rejection": _base_two("rejection", sample_by_rejection),
    "bisection": _selection("exponential, bisection", BASE_TWO.release),
    "rounds": _base_two(f"at least {ROUNDS} rounds", partial(sample_by_rejection_rounds, rounds=ROUNDS)),
}
SHORT = {
    "short_words": Mechanism(
        "two-sided geometric of ratio 3/8, short words",
        exact_dyadic_geometric(ratio=Fraction(3, 8), lower=0, upper=RANGE).release,
        ANSWERS,
    ),
    "coin": Mechanism("randomized response of probability 1/4", RationalResponse(Fraction(1, 4)).release, BITS),
}
"""Two more that take few bits."""

ADDITIVE = ("algorithm_2", "geometric", "inversion", "fixed_work")
"""The mechanisms that add noise to an answer."""


_COUNTED: tuple[Counted, ...] = ("bits", "calls")


def collect(settings: Settings) -> Collected:
    """Find each mechanism's law, and its joint laws with either measure of work; then the losses of exact targets."""
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(40, 16)))
    measured = {name: _measure(name, limits) for name in MECHANISMS}
    of_targets = Limits(unresolved=Fraction(1, 1 << 32), runs=settings.budget(3_000, 300))
    names = EXACT[:: settings.budget(1, 8)]
    return Collected((), {"mechanisms": measured, "exact": {name: entry(name, of_targets) for name in names}})


def _measure(name: str, limits: Limits) -> dict[str, Any]:
    """The advantage from the output alone, and from the output with the bits taken or with the calls made."""
    mechanism = MECHANISMS[name]
    alone = advantage(*(mechanism.law(side, limits, None) for side in (0, 1)))
    measured: dict[str, Any] = {"output": as_floats(alone), "output_exact": _exact(alone)}
    for counted in _COUNTED:
        joint = [mechanism.law(side, limits, counted) for side in (0, 1)]
        ratios = largest_ratio(*joint), largest_ratio(*reversed(joint))
        work = {amount for law in joint for (_, amount), _ in _pairs(law)}
        seen = advantage(*joint)
        measured[counted] = {
            "advantage": as_floats(seen),
            "exact": _exact(seen),
            "epsilon_lower": log_bounds(max(ratios, key=lambda ratio: ratio.lower))[0],
            "least_work": min(work),
            "greatest_work": max(work),
            "unresolved": float(max(law.unresolved for law in joint)),
        }
        if counted == "bits" and name in ADDITIVE:
            measured["mean_bits"] = _mean_bits(joint[0])
    return measured


def _exact(divergence: Divergence) -> str | None:
    """The advantage as a fraction, where the laws are closed."""
    return str(divergence.lower) if divergence.lower == divergence.upper else None


def _pairs(joint: Law) -> Iterable[tuple[tuple[Any, int], Any]]:
    """The pairs (output, work) of a joint law, and their masses."""
    return cast("Iterable[tuple[tuple[Any, int], Any]]", joint.masses.items())


def _mean_bits(joint: Law) -> list[float]:
    """The mean number of bits for noise 0, 1, …, among the runs that were resolved."""
    mass = [0.0] * (GREATEST_NOISE + 1)
    bits = [0.0] * (GREATEST_NOISE + 1)
    for (output, work), probability in _pairs(joint):
        noise = int(output - ANSWERS[0])
        if 0 <= noise <= GREATEST_NOISE:
            mass[noise] += float(probability)
            bits[noise] += work * float(probability)
    return [b / m for b, m in zip(bits, mass, strict=True)]


def figures(data: dict[str, Any]) -> list[Figure]:
    """Advantages by mechanism, and bits by noise; then what bits add to δ of each exact target."""
    measured = data["measured"]["mechanisms"]
    caption = f"What the work done adds to the output of naive and exact mechanisms, at ε = {float(EPSILON):g}."
    of_targets = "What seeing the bits taken adds to δ, at the ε that each exact target claims."
    return [
        figure("output_and_work", caption, [_advantage_panel(measured), _mean_panel(measured)]),
        figure("exact_joint_losses", of_targets, [_added_panel(data["measured"]["exact"])]),
    ]


def _advantage_panel(measured: dict[str, Any]) -> Panel:
    names = list(reversed(MECHANISMS))
    rows = list(range(len(names)))

    def seen(label: str, role: Role, advantages: Sequence[list[float]]) -> Series:
        return marks(label, role, [middle(bounds) for bounds in advantages], rows)

    series = [
        seen("output and bits taken", Role.NAIVE, [measured[name]["bits"]["advantage"] for name in names]),
        seen("output and calls made", Role.NAIVE, [measured[name]["calls"]["advantage"] for name in names]),
        seen("output alone", Role.EXACT, [measured[name]["output"] for name in names]),
        line("ceiling of the claim", Role.CEILING, [CEILING] * 2, [-0.5, len(names) - 0.5]),
    ]
    return panel(
        "Exact advantage between two neighbours",
        "distinguishing advantage",
        "",
        series,
        y_names=[MECHANISMS[name].label for name in names],
    )


def _mean_panel(measured: dict[str, Any]) -> Panel:
    series = [
        line(MECHANISMS[name].label, Role.EXACT, list(range(GREATEST_NOISE + 1)), measured[name]["mean_bits"])
        for name in ADDITIVE
    ]
    return panel("Bits taken, by the noise drawn", "noise", "mean number of bits", series)


RARE = 1e-6
"""What is added to δ is called rare up to here."""

NOTHING = 1e-20
"""Where a logarithmic axis shows that nothing is added."""


def added(found: dict[str, Any]) -> tuple[float, bool]:
    """At most so much do bits add to δ, and whether they add as much to within a hundredth of it.

    Where words were counted on a coarser grid, that says nothing of the target's own.
    """
    lower, upper = (0.0, 1.0) if found.get("grid") else found.get("added", (0.0, 1.0))
    upper = min(upper, found.get("added_at_most", 1.0))
    return upper, lower >= 0.99 * upper


def _added_panel(exact: dict[str, dict[str, Any]]) -> Panel:
    names = sorted(exact, key=lambda name: (added(exact[name])[0], name), reverse=True)
    series = [
        marks(
            label,
            role,
            [max(added(exact[name])[0], NOTHING) for name in chosen],
            [names.index(name) for name in chosen],
        )
        for label, role, is_tight in (("exactly", Role.EXACT, True), ("at most", Role.OTHER, False))
        if (chosen := [name for name in names if added(exact[name])[1] is is_tight])
    ]
    return panel(
        "What bits add to δ",
        f"added to δ ({NOTHING:g}: nothing)",
        "",
        series,
        x_scale="log",
        y_names=[f"{name.removeprefix('exact_')}, {added(exact[name])[0]:.2g}" for name in names],
    )


def explain(data: dict[str, Any]) -> str:
    """Say which mechanisms leak through their work."""
    measured = data["measured"]["mechanisms"]

    def seen(name: str, counted: Counted) -> float:
        return middle(measured[name][counted]["advantage"])

    fixed, selection = measured["fixed_work"], measured["fixed_work_selection"]
    exact = data["measured"]["exact"]
    by_name = {name.removeprefix("exact_"): added(found)[0] for name, found in exact.items()}
    rare = {name: most for name, most in by_name.items() if 0 < most <= RARE}
    telling = sorted((name for name, most in by_name.items() if most > RARE), key=by_name.__getitem__)
    arrays = {name: found["arrays"] for name, found in exact.items() if found.get("arrays")}
    widest = max(arrays, key=lambda name: arrays[name]["delta"][1])
    return PARAGRAPHS["output_and_work"].format(
        ceiling=CEILING,
        algorithm_2=middle(measured["algorithm_2"]["output"]),
        algorithm_2_bits=seen("algorithm_2", "bits"),
        algorithm_2_calls=seen("algorithm_2", "calls"),
        geometric_bits=seen("geometric", "bits"),
        steps=measured["algorithm_2"]["mean_bits"][-1] - measured["algorithm_2"]["mean_bits"][-2],
        inversion_bits=seen("inversion", "bits"),
        inversion_work=measured["inversion"]["bits"]["greatest_work"],
        inversion_rest=measured["inversion"]["bits"]["unresolved"],
        selection=middle(measured["bisection"]["output"]),
        bisection_bits=seen("bisection", "bits"),
        rejection_bits=seen("rejection", "bits"),
        rounds=ROUNDS,
        rounds_bits=seen("rounds", "bits"),
        base_e=middle(measured["base_e"]["output"]),
        base_e_bits=seen("base_e", "bits"),
        fixed=fixed["bits"]["least_work"],
        fixed_output=middle(fixed["output"]),
        fixed_bits=seen("fixed_work", "bits"),
        fixed_selection=selection["bits"]["least_work"],
        fixed_selection_output=middle(selection["output"]),
        fixed_selection_bits=seen("fixed_work_selection", "bits"),
        response=middle(measured["response"]["output"]),
        response_bits=seen("response", "bits"),
        padded_bits=seen("padded", "bits"),
        padding=PADDED_BITS,
        sample=middle(measured["sample"]["output"]),
        sample_bits=seen("sample", "bits"),
        delay=DELAYED.most,
        delayed_bits=seen("delayed", "bits"),
        delayed_calls=seen("delayed", "calls"),
        targets=len(by_name),
        never=", ".join(sorted(name for name, most in by_name.items() if most == 0)),
        rare=len(rare),
        greatest=max(rare.values()),
        rarest=min(rare.values()),
        telling=", ".join(f"{name} ({by_name[name]:.2g})" for name in telling),
        widest=widest.removeprefix("exact_"),
        array=arrays[widest],
    )
