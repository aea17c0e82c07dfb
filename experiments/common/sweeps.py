"""Audits of several targets as one run with one α."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from attacklab.attacks import ATTACKS, Attack
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import Finding
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Settings
from attacklab.reporting.figures import Role

Maker: TypeAlias = Callable[[float], Target]
"""A function of a module, so that a finding's replay line can name it: the target of an ε."""

Rows: TypeAlias = Sequence[tuple[Maker, str, Role]]
"""Targets, what each is called in figures, and which twin it is."""


def sweep(
    makers: Iterable[Maker], epsilons: Sequence[float], attack: Attack, settings: Settings, *, trials: int
) -> list[Finding]:
    """Audit the target that each maker makes of each ε, with one α for all.

    Args:
        makers: what makes the targets.
        epsilons: the claimed ε, each greater than 0.
        attack: the one attack.
        settings: where the seed comes from.
        trials: outputs of either input on which an event is judged.

    Returns:
        The findings, target by target and for each in the order of the ε.
    """
    cases = [(attack, make, epsilon) for make in makers for epsilon in epsilons]
    return audits(cases, share_of_alpha(DEFAULT_ALPHA, len(cases)), settings, trials=trials)


def audits(
    cases: Iterable[tuple[Attack, Maker, float]], alpha: float, settings: Settings, *, trials: int
) -> list[Finding]:
    """Audit the targets one by one, spending all trials for close bounds.

    Args:
        cases: an attack, what makes a target, and the claimed ε.
        alpha: of each audit.
        settings: where the seed comes from.
        trials: outputs of either input on which an event is judged.

    Returns:
        The findings, case by case.
    """
    return [
        finding
        for attack, make, epsilon in cases
        for finding in audit(
            make(epsilon),
            [attack],
            trials=trials,
            alpha=alpha,
            seed=settings.seed,
            spend_all=True,
            # A command line runs attacks as they are registered only.
            spec=f"{make.__module__}:{make.__name__} --epsilon {epsilon}" if attack in ATTACKS else None,
        )
    ]
