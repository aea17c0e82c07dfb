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
"""A function from an ε to a target. It is a module's own, so that a finding's replay line can name it."""

Rows: TypeAlias = Sequence[tuple[Maker, str, Role]]
"""For each target its maker, its label in figures, and its role there, such as naive or exact."""


def sweep(
    makers: Iterable[Maker], epsilons: Sequence[float], attack: Attack, settings: Settings, *, trials: int
) -> list[Finding]:
    """Audit the target that each maker makes of each ε, with one α for all.

    Args:
        makers: the functions that make the targets.
        epsilons: the claimed ε, each greater than 0.
        attack: the attack to run.
        settings: the settings, which have the seed.
        trials: the number of outputs of each input on which an event is judged.

    Returns:
        The findings, target by target, and for each target in the order of the ε.
    """
    cases = [(attack, make, epsilon) for make in makers for epsilon in epsilons]
    return audits(cases, share_of_alpha(DEFAULT_ALPHA, len(cases)), settings, trials=trials)


def audits(
    cases: Iterable[tuple[Attack, Maker, float]], alpha: float, settings: Settings, *, trials: int
) -> list[Finding]:
    """Audit the targets one by one, spending all trials for close bounds.

    Args:
        cases: for each audit, the attack, the maker of the target, and the claimed ε.
        alpha: the α of each audit.
        settings: the settings, which have the seed.
        trials: the number of outputs of each input on which an event is judged.

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
