"""Audits of several targets at several ε, as one run with one α."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attacklab.attacks import Attack
from attacklab.experiment import Settings
from attacklab.findings import Finding
from attacklab.inference import share_of_alpha
from attacklab.referee import DEFAULT_ALPHA, audit
from attacklab.targets import Target


def sweep(
    makers: Iterable[Callable[[float], Target]],
    epsilons: Sequence[float],
    attack: Attack,
    settings: Settings,
    *,
    trials: int,
) -> list[Finding]:
    """Audit the target that each maker makes of each ε, spending all trials for close bounds.

    Args:
        makers: functions of a module, so that a finding's replay line can name them.
        epsilons: the claimed ε, each greater than 0.
        attack: the one attack.
        settings: where the seed comes from.
        trials: outputs of either input on which an event is judged.

    Returns:
        The findings, target by target and for each in the order of the ε.
    """
    cases = [(make, epsilon) for make in makers for epsilon in epsilons]
    alpha = share_of_alpha(DEFAULT_ALPHA, len(cases))
    return [
        finding
        for make, epsilon in cases
        for finding in audit(
            make(epsilon),
            [attack],
            trials=trials,
            alpha=alpha,
            seed=settings.seed,
            spend_all=True,
            spec=f"{make.__module__}:{make.__name__} --epsilon {epsilon}",
        )
    ]
