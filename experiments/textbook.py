"""The textbook's own flaws: by exact computation where samples see nothing, and as attacks where they do.

See attacklab.attacks.textbook for the attacks; `mechanisms/local_sensitivity/README.md` and
`mechanisms/exponential/README.md` derive the closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Attack
from attacklab.attacks.textbook import DoubleBudget, MissingClip, PositionChunks
from attacklab.experiment import Collected, Settings
from attacklab.figures import Figure, Panel, Role, Series
from attacklab.findings import Finding
from attacklab.inference import share_of_alpha
from attacklab.laws import Law, enumerate_law, smallest_epsilon, step_law
from attacklab.referee import DEFAULT_ALPHA, audit
from attacklab.targets import Target
from experiments import targets
from experiments.adult import ages
from mechanisms.exponential.base_two import BaseTwoEta
from mechanisms.exponential.utilities import round_at_random
from mechanisms.local_sensitivity.constants import tail_threshold
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.exact import prepare_sample_aggregate, prepare_sum_over_count
from mechanisms.local_sensitivity.naive import naive_sample_aggregate, naive_sum_over_count
from mechanisms.randomness import RandomBits

QUESTION = "How far are a textbook's mechanisms from what the textbook says of them?"

EPSILON = 1.0
DELTAS = tuple(10.0**-power for power in range(2, 15))
SIZES = tuple(2**power for power in range(16))
OTHERS = (1, 2, 3, 5, 10, 30, 100, 300)
ENUMERATED = 5
"""Up to so many other outcomes the law of the rounded mechanism is enumerated too."""

OUTLIER = -1e6
NO_NOISE = 2.0**80
"""An ε at which the noise is lost in the rounding of the answer."""

AGES = Domain(0, Fraction(targets.UPPER), targets.AGE_GRID)
AUDITED: Sequence[tuple[Attack, Callable[[float], Target], str, Role]] = (
    (PositionChunks(), targets.naive_sample_aggregate, "chunks by\nposition", Role.NAIVE),
    (MissingClip(), targets.naive_sum_over_count, "no lower clip,\nsum / count", Role.NAIVE),
    (MissingClip(), targets.naive_ptr_mean, "no lower clip,\nPTR", Role.NAIVE),
    (MissingClip(), targets.naive_smooth_mean, "no lower clip,\nsmooth", Role.NAIVE),
    (DoubleBudget(), targets.naive_sum_over_count, "budget spent\ntwice", Role.NAIVE),
    (PositionChunks(), targets.exact_sum_over_count, "chunks by\nposition", Role.EXACT),
    (MissingClip(), targets.exact_sum_over_count, "no lower clip,\nsum / count", Role.EXACT),
    (MissingClip(), targets.exact_ptr_mean, "no lower clip,\nPTR", Role.EXACT),
    (MissingClip(), targets.exact_smooth_mean, "no lower clip,\nsmooth", Role.EXACT),
    (DoubleBudget(), targets.exact_sum_over_count, "budget spent\ntwice", Role.EXACT),
)
PARAGRAPH = """\
Propose-test-release claims that its test errs with probability δ; the textbook's threshold ln(2/δ)/(2ε) lets it err
with ½·√(δ/2): for the Adult table, δ = 1/n² = {delta:.2g}, with {passes:.3g}, {times:.0f} times too often. No sample of
feasible size shows that; the law of the test does, and that of the repaired one lies at {repaired:.2g}. A noisy sum
over a noisy count that spend ε each lose {loss:.4f}·ε at the answer −u for {people} people. Sample and aggregate by
position makes {made} chunks of the Adult table where its noise is scaled to {wanted}. Without the first row its
aggregate of maxima moves {adult:.2f} times as far as the noise covers where the rows are in random order, {ordered:.0f}
times where young and old alternate by chunks, and {worst:.0f} times on 1200 rows of 20, 20, 80, 80, …; with chunks
assigned to XX moves a sum by {outlier:.0f} times its declared sensitivity. Rounding utilities of sensitivity ½ to
integers turns a base-2 loss of 1 into {rounded:.3f} with {others} other outcomes. Three of these flaws show in outputs:
of {refutable} naive mechanisms attacked {refuted} are refuted at ε = {epsilon:g}, of {sound} exact ones {accused}."""


def collect(settings: Settings) -> Collected:
    """Compute what laws and moves show, and attack what samples show."""
    trials = settings.budget(400_000, 100_000)
    alpha = share_of_alpha(DEFAULT_ALPHA, len(AUDITED))
    findings = [
        finding
        for attack, make, _, _ in AUDITED
        for finding in audit(
            make(EPSILON),
            [attack],
            trials=trials,
            alpha=alpha,
            seed=settings.seed,
            spend_all=True,
            spec=f"experiments.targets:{make.__name__} --epsilon {EPSILON}",
        )
    ]
    measured = {
        "test": [_test_errors(delta) for delta in (*DELTAS, targets.DELTA)],
        "budget": [_sum_over_count_loss(size, EPSILON) / EPSILON for size in (*SIZES, targets.PEOPLE)],
        "halved": [_sum_over_count_loss(size, EPSILON / 2) / EPSILON for size in SIZES],
        "moves": _moves(settings),
        "rounding": [_rounding_losses(others) for others in OTHERS],
        "enumerated": [_enumerated_loss(others) for others in OTHERS if others <= ENUMERATED],
    }
    return Collected(findings, measured)


def _test_errors(delta: float) -> dict[str, float]:
    """With which probability propose-test-release's test passes at distance 0: as derived, as computed, repaired."""
    threshold = math.log(2 / delta) / (2 * EPSILON)

    def passes(uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(divide="ignore"):
            noise = np.where(uniform < 0.5, np.log(uniform + uniform), -np.log((2.0 - uniform) - uniform)) / EPSILON
        return (noise >= threshold).astype(np.int64)

    tail = math.exp(-EPSILON / 2)
    return {
        "claimed": delta,
        "derived": math.sqrt(delta / 2) / 2,
        "computed": float(step_law(passes).mass(1)),
        "repaired": tail ** tail_threshold(Fraction(EPSILON) / 2, Fraction(delta)) / (1 + tail),
    }


def _sum_over_count_loss(size: int, epsilon: float) -> float:
    """The privacy loss at y = −u between n and n + 1 records at u, sum and count with noise of ε each."""
    fewer, more = (n * n + n / epsilon + 1 / (2 * epsilon**2) for n in (size, size + 1))
    return 2 * epsilon + math.log(fewer / more)


def _moves(settings: Settings) -> dict[str, Any]:
    """How far one person moves what noise is added to, in units of what the noise is scaled to."""
    people = np.random.default_rng(settings.seed).permutation(ages())
    by_age = np.sort(people)
    chunk = math.ceil(len(people) / targets.CHUNKS)
    half = len(people) // (2 * chunk) * chunk
    alternating = np.stack([by_age[:half].reshape(-1, chunk), by_age[-half:].reshape(-1, chunk)], axis=1).ravel()
    ordered = np.concatenate([alternating, by_age[half:-half]])
    blocks = np.tile([20.0, 20.0, 80.0, 80.0], targets.CHUNKS // 2)
    young = np.zeros(targets.CHUNKS)
    one_more = np.append(young, targets.UPPER)
    outlier = people.copy()
    outlier[0] = OUTLIER
    total = abs(_naive_mean(outlier) - _naive_mean(people)) * len(people) / targets.UPPER
    clipped = abs(_exact_total(outlier) - _exact_total(people)) / AGES.width
    return {
        "names": [
            "Adult, shuffled,\nmaxima",
            "Adult, alternating,\nmaxima",
            "1200 rows,\nmaxima",
            "600 → 601 rows,\nmeans",
            "an age of −10^6,\nsum",
        ],
        "naive": [
            _naive_move(people, people[1:], np.max),
            _naive_move(ordered, ordered[1:], np.max),
            _naive_move(blocks, blocks[1:], np.max),
            _naive_move(one_more, young, np.mean),
            total,
        ],
        "exact": [
            _exact_move(people, 0, np.max),
            _exact_move(ordered, 0, np.max),
            _exact_move(blocks, 0, np.max),
            _exact_move(one_more, len(young), np.mean),
            clipped,
        ],
        "chunks": math.ceil(len(people) / chunk),
    }


Statistic = Callable[[NDArray[np.float64]], float]


def _naive_move(one: NDArray[np.float64], other: NDArray[np.float64], statistic: Statistic) -> float:
    def aggregate(records: NDArray[np.float64]) -> float:
        (answer,) = naive_sample_aggregate(
            records,
            1,
            np.random.default_rng(0),
            chunks=targets.CHUNKS,
            lower=0.0,
            upper=targets.UPPER,
            epsilon=NO_NOISE,
            statistic=statistic,
        )
        return float(answer)

    return abs(aggregate(one) - aggregate(other)) * targets.CHUNKS / targets.UPPER


def _exact_move(records: NDArray[np.float64], leaving: int, statistic: Statistic) -> float:
    """The move of the repaired aggregate where the person in that row leaves and everybody else stays who they are."""
    everybody = [(str(person), float(value)) for person, value in enumerate(records)]

    def total(present: list[tuple[str, float]]) -> int:
        return prepare_sample_aggregate(
            present, statistic=statistic, chunks=targets.CHUNKS, key=b"public", domain=AGES, epsilon=1
        ).total

    return abs(total(everybody) - total(everybody[:leaving] + everybody[leaving + 1 :])) / AGES.width


def _naive_mean(records: NDArray[np.float64]) -> float:
    (answer,) = naive_sum_over_count(records, 1, np.random.default_rng(0), upper=targets.UPPER, epsilon=NO_NOISE)
    return float(answer)


def _exact_total(records: NDArray[np.float64]) -> int:
    return prepare_sum_over_count(records, domain=AGES, epsilon=1).total


def _rounding_losses(others: int) -> dict[str, float]:
    """Base-2 losses for a claim of 1: one outcome at ½ and the others at 0, against 0 and the others at ½.

    Weights are 2^u. With u rounded first, B of the others, binomial, have weight 2; with u divided by ½ first, weights
    are 2^−η with 2η as close to 1 from below as 32 bits allow.
    """
    chosen = Fraction(1, 2) / (1 + others) + Fraction(2, 2) / (2 + others)
    not_chosen = sum(
        (Fraction(math.comb(others, up), 2**others) / (1 + others + up) for up in range(others + 1)), Fraction(0)
    )
    eta = BaseTwoEta.from_epsilon(Fraction(math.log(2)), y=32)
    decay = Fraction(int(eta.decay.numerator), int(eta.decay.denominator))
    return {
        "naive": _loss(_first_and_others(chosen, others), _first_and_others(not_chosen, others)),
        "exact": _loss(
            _first_and_others(1 / (1 + others * decay), others), _first_and_others(decay / (decay + others), others)
        ),
    }


def _first_and_others(first: Fraction, others: int) -> Law:
    return Law({0: first, **dict.fromkeys(range(1, others + 1), (1 - first) / others)})


def _loss(one: Law, other: Law) -> float:
    return smallest_epsilon(one, other)[1] / math.log(2)


def _enumerated_loss(others: int) -> float:
    """The loss of the rounded mechanism from its law, found by running it on all random bits."""
    half, zero = Fraction(1, 2), Fraction(0)
    laws = [
        enumerate_law(lambda bits, utilities=utilities: _rounded_choice(utilities, bits))
        for utilities in ((half, *[zero] * others), (zero, *[half] * others))
    ]
    return _loss(*laws)


def _rounded_choice(utilities: Sequence[Fraction], bits: RandomBits) -> int:
    """Draw an outcome in proportion to 2^u, every u rounded to an integer at random."""
    rounded = [bits.call(round_at_random, utility) for utility in utilities]
    outcomes = [outcome for outcome, power in enumerate(rounded) for _ in range(1 << power)]
    return outcomes[bits.call(_below, len(outcomes))]


def _below(bound: int, bits: RandomBits) -> int:
    while (drawn := bits.take((bound - 1).bit_length())) >= bound:
        bits.restart()
    return drawn


def figures(data: dict[str, Any]) -> list[Figure]:
    """A panel a flaw, and one of the attacks."""
    return [
        Figure(
            name="textbook",
            caption="A textbook's flaws, naive beside repaired; all but the last panel are exact, not sampled.",
            panels=[_test(data), _budget(data), _moving(data), _rounding(data), _attacks(data)],
        )
    ]


def _test(data: dict[str, Any]) -> Panel:
    rows = sorted(data["measured"]["test"], key=lambda row: float(row["claimed"]))
    claimed = [row["claimed"] for row in rows]

    def series(label: str, role: Role, name: str, *, marks_only: bool = False) -> Series:
        return Series(label=label, role=role, x=claimed, y=[row[name] for row in rows], marks_only=marks_only)

    return Panel(
        title="propose-test-release: the test passes at distance 0",
        x_label="claimed δ",
        y_label="probability",
        x_scale="log",
        y_scale="log",
        series=[
            series("naive, law of the code", Role.NAIVE, "computed", marks_only=True),
            series("naive, ½·√(δ/2)", Role.IDEAL, "derived"),
            series("exact", Role.EXACT, "repaired"),
            series("claimed", Role.CEILING, "claimed"),
        ],
    )


def _budget(data: dict[str, Any]) -> Panel:
    measured = data["measured"]
    return Panel(
        title="noisy sum / noisy count: privacy loss at −u",
        x_label="number of people, all at the upper bound u",
        y_label="loss / claimed ε",
        x_scale="log",
        series=[
            Series(label="naive, ε each", role=Role.NAIVE, x=SIZES, y=measured["budget"][: len(SIZES)]),
            Series(label="repaired, ε/2 each", role=Role.EXACT, x=SIZES, y=measured["halved"]),
            Series(label="claimed", role=Role.CEILING, x=SIZES, y=[1.0] * len(SIZES)),
        ],
    )


def _moving(data: dict[str, Any]) -> Panel:
    moves = data["measured"]["moves"]
    places = list(range(len(moves["names"])))
    return Panel(
        title="what one person moves",
        x_label="",
        y_label="move / what the noise is scaled to",
        y_scale="symlog",
        x_names=moves["names"],
        series=[
            Series(label="naive", role=Role.NAIVE, x=places, y=moves["naive"], marks_only=True),
            Series(label="exact", role=Role.EXACT, x=places, y=moves["exact"], marks_only=True),
            Series(label="covered", role=Role.CEILING, x=places, y=[1.0] * len(places)),
        ],
    )


def _rounding(data: dict[str, Any]) -> Panel:
    rows, enumerated = data["measured"]["rounding"], data["measured"]["enumerated"]
    return Panel(
        title="utilities of sensitivity ½ rounded at random",
        x_label="number of other outcomes",
        y_label="privacy loss, base 2",
        x_scale="log",
        series=[
            Series(label="naive, rounded as they are", role=Role.NAIVE, x=OTHERS, y=[row["naive"] for row in rows]),
            Series(
                label="naive, law enumerated",
                role=Role.NAIVE,
                x=OTHERS[: len(enumerated)],
                y=enumerated,
                marks_only=True,
            ),
            Series(label="exact, divided by ½ first", role=Role.EXACT, x=OTHERS, y=[row["exact"] for row in rows]),
            Series(label="claimed", role=Role.CEILING, x=OTHERS, y=[1.0] * len(OTHERS)),
        ],
    )


def _attacks(data: dict[str, Any]) -> Panel:
    names = list(dict.fromkeys(label for _, _, label, _ in AUDITED))

    def series(role: Role) -> Series:
        shown = [(label, _worst(data, attack, make)) for attack, make, label, one in AUDITED if one is role]
        return Series(
            label=str(role),
            role=role,
            x=[names.index(label) for label, _ in shown],
            y=[finding.epsilon_lower or 0.0 for _, finding in shown],
            marks_only=True,
        )

    claimed = Series(label="claimed", role=Role.CEILING, x=list(range(len(names))), y=[EPSILON] * len(names))
    return Panel(
        title=f"attacks on means that claim ε = {EPSILON:g}",
        x_label="",
        y_label="ε that the outputs need (lower bound)",
        x_names=names,
        series=[series(Role.NAIVE), series(Role.EXACT), claimed],
    )


def _worst(data: dict[str, Any], attack: Attack, make: Callable[[float], Target]) -> Finding:
    """The finding of an attack on a target, of its several scenarios the one that needs the largest ε."""
    found = (Finding.from_json(finding) for finding in data["findings"])
    own = [one for one in found if one.attack == attack.name and one.target == make(EPSILON).name]
    return max(own, key=lambda finding: finding.epsilon_lower or 0.0)


def explain(data: dict[str, Any]) -> str:
    """Put the figures into words."""
    measured = data["measured"]
    test, moves = measured["test"][-1], measured["moves"]
    violated = {
        role: [_worst(data, attack, make).verdict == "violated" for attack, make, _, one in AUDITED if one is role]
        for role in (Role.NAIVE, Role.EXACT)
    }
    return PARAGRAPH.format(
        delta=test["claimed"],
        passes=test["computed"],
        times=test["computed"] / test["claimed"],
        repaired=test["repaired"],
        loss=measured["budget"][-1],
        people=targets.PEOPLE,
        made=moves["chunks"],
        wanted=targets.CHUNKS,
        adult=moves["naive"][0],
        ordered=moves["naive"][1],
        worst=moves["naive"][2],
        person=moves["exact"][0],
        person_ordered=moves["exact"][1],
        person_worst=moves["exact"][2],
        outlier=moves["naive"][4],
        rounded=measured["rounding"][-1]["naive"],
        others=OTHERS[-1],
        refutable=len(violated[Role.NAIVE]),
        refuted=sum(violated[Role.NAIVE]),
        sound=len(violated[Role.EXACT]),
        accused=sum(violated[Role.EXACT]) or "none",
        epsilon=EPSILON,
    )
