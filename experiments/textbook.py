"""The textbook's own flaws: by exact computation where samples see nothing, and as attacks where they do.

See attacklab.attacks.known_pairs, and experiments.common.textbook_laws for the computations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attacklab.attacks.base import Attack
from attacklab.attacks.known_pairs import DOUBLE_BUDGET, MISSING_CLIP, POSITION_CHUNKS
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import Finding
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common import textbook_laws
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker, audits
from experiments.targets import means

QUESTION = "How far are a textbook's mechanisms from what the textbook says of them?"

EPSILON = 1.0
DELTAS = tuple(10.0**-power for power in range(2, 15))
SIZES = tuple(2**power for power in range(16))
OTHERS = (1, 2, 3, 5, 10, 30, 100, 300)
SLOW = (targets.exact_smooth_mean, targets.exact_ptr_mean)
"""These draw only a few thousand outputs a second, so they get fewer trials."""

AUDITED: Sequence[tuple[Attack, Maker, str, Role]] = (
    (POSITION_CHUNKS, targets.naive_sample_aggregate, "chunks by\nposition", Role.NAIVE),
    (MISSING_CLIP, targets.naive_sum_over_count, "no lower clip,\nsum / count", Role.NAIVE),
    (MISSING_CLIP, targets.naive_ptr_mean, "no lower clip,\nPTR", Role.NAIVE),
    (MISSING_CLIP.given(size=1 << 12), targets.naive_smooth_mean, "no lower clip,\nsmooth", Role.NAIVE),
    (DOUBLE_BUDGET, targets.naive_sum_over_count, "budget spent\ntwice", Role.NAIVE),
    (POSITION_CHUNKS, targets.exact_sum_over_count, "chunks by\nposition", Role.EXACT),
    (MISSING_CLIP, targets.exact_sum_over_count, "no lower clip,\nsum / count", Role.EXACT),
    (MISSING_CLIP, targets.exact_ptr_mean, "no lower clip,\nPTR", Role.EXACT),
    (MISSING_CLIP.given(size=1 << 12), targets.exact_smooth_mean, "no lower clip,\nsmooth", Role.EXACT),
    (DOUBLE_BUDGET, targets.exact_sum_over_count, "budget spent\ntwice", Role.EXACT),
)


def collect(settings: Settings) -> Collected:
    """Compute what laws and moves show, and attack what samples show."""
    trials, few = settings.budget(400_000, 100_000), settings.budget(20_000, 500)
    alpha = share_of_alpha(DEFAULT_ALPHA, len(AUDITED))
    findings = [
        finding
        for attack, make, _, _ in AUDITED
        for finding in audits([(attack, make, EPSILON)], alpha, settings, trials=few if make in SLOW else trials)
    ]
    measured = {
        "test": [textbook_laws.passing_probabilities(delta, EPSILON) for delta in (*DELTAS, means.DELTA)],
        "budget": [textbook_laws.sum_over_count_loss(size, EPSILON) / EPSILON for size in (*SIZES, means.PEOPLE)],
        "halved": [textbook_laws.sum_over_count_loss(size, EPSILON / 2) / EPSILON for size in SIZES],
        "moves": textbook_laws.moves_of_one_person(settings.seed),
        "rounding": [textbook_laws.rounding_losses(others) for others in OTHERS],
    }
    return Collected(findings, measured)


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw a panel for each flaw, and one for the attacks."""
    caption = "A textbook's flaws, naive beside repaired; all but the last panel are exact, not sampled."
    return [figure("textbook", caption, [_test(data), _budget(data), _moving(data), _rounding(data), _attacks(data)])]


def _test(data: dict[str, Any]) -> Panel:
    rows = sorted(data["measured"]["test"], key=lambda row: float(row["claimed"]))
    claimed = [row["claimed"] for row in rows]

    def series(label: str, role: Role, name: str, *, marks_only: bool = False) -> Series:
        return Series(label=label, role=role, x=claimed, y=[row[name] for row in rows], marks_only=marks_only)

    drawn = [
        series("naive, law of the code", Role.NAIVE, "computed", marks_only=True),
        series("naive, ½·√(δ/2)", Role.IDEAL, "derived"),
        series("exact", Role.EXACT, "repaired"),
        series("claimed", Role.CEILING, "claimed"),
    ]
    return panel(
        "propose-test-release: the test passes at distance 0",
        "claimed δ",
        "probability",
        drawn,
        x_scale="log",
        y_scale="log",
    )


def _budget(data: dict[str, Any]) -> Panel:
    measured = data["measured"]
    series = [
        line("naive, ε each", Role.NAIVE, SIZES, measured["budget"][: len(SIZES)]),
        line("repaired, ε/2 each", Role.EXACT, SIZES, measured["halved"]),
        line("claimed", Role.CEILING, SIZES, [1.0] * len(SIZES)),
    ]
    return panel(
        "noisy sum / noisy count: privacy loss at −u",
        "number of people, all at the upper bound u",
        "loss / claimed ε",
        series,
        x_scale="log",
    )


def _moving(data: dict[str, Any]) -> Panel:
    moves = data["measured"]["moves"]
    places = list(range(len(moves["names"])))
    series = [
        marks("naive", Role.NAIVE, places, moves["naive"]),
        marks("exact", Role.EXACT, places, moves["exact"]),
        line("covered", Role.CEILING, [-0.5, len(places) - 0.5], [1.0] * 2),
    ]
    return panel(
        "what one person moves",
        "",
        "move / what the noise is scaled to",
        series,
        y_scale="symlog",
        x_names=moves["names"],
    )


def _rounding(data: dict[str, Any]) -> Panel:
    rows = data["measured"]["rounding"]
    series = [
        line("naive, rounded as they are", Role.NAIVE, OTHERS, [row["naive"] for row in rows]),
        line("exact, divided by ½ first", Role.EXACT, OTHERS, [row["exact"] for row in rows]),
        line("claimed", Role.CEILING, OTHERS, [1.0] * len(OTHERS)),
    ]
    return panel(
        "utilities of sensitivity ½ rounded at random",
        "number of other outcomes",
        "privacy loss, base 2",
        series,
        x_scale="log",
    )


def _attacks(data: dict[str, Any]) -> Panel:
    names = list(dict.fromkeys(label for _, _, label, _ in AUDITED))

    def series(role: Role) -> Series:
        shown = [(label, _worst(data, attack, make)) for attack, make, label, kind in AUDITED if kind is role]
        return marks(
            str(role),
            role,
            [names.index(label) for label, _ in shown],
            [finding.shown.epsilon_lower or 0.0 for _, finding in shown],
        )

    claimed = line("claimed", Role.CEILING, [-0.5, len(names) - 0.5], [EPSILON] * 2)
    return panel(
        f"attacks on means that claim ε = {EPSILON:g}",
        "",
        "ε that the outputs need (lower bound)",
        [series(Role.NAIVE), series(Role.EXACT), claimed],
        x_names=names,
    )


def _worst(data: dict[str, Any], attack: Attack, make: Maker) -> Finding:
    """Return the finding of an attack on a target, for the scenario that needs the largest ε."""
    findings = (Finding.from_json(finding) for finding in data["findings"])
    chosen = [finding for finding in findings if finding.attack == attack.name and finding.target == make(EPSILON).name]
    return max(chosen, key=lambda finding: finding.shown.epsilon_lower or 0.0)


def explain(data: dict[str, Any]) -> str:
    """Put the figures into words."""
    measured = data["measured"]
    test, moves = measured["test"][-1], measured["moves"]
    violated = {
        role: [_worst(data, attack, make).verdict == "violated" for attack, make, _, kind in AUDITED if kind is role]
        for role in (Role.NAIVE, Role.EXACT)
    }
    return PARAGRAPHS["textbook"].format(
        test=test,
        means=means,
        moves=moves,
        times=test["computed"] / test["claimed"],
        loss=measured["budget"][-1],
        rounded=measured["rounding"][-1]["naive"],
        others=OTHERS[-1],
        refutable=len(violated[Role.NAIVE]),
        refuted=sum(violated[Role.NAIVE]),
        sound=len(violated[Role.EXACT]),
        accused=sum(violated[Role.EXACT]) or "none",
        epsilon=EPSILON,
    )
