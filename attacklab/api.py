"""One call and one verdict: `audit` of a plain function or of a target, as `from attacklab import audit` gives it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from attacklab.auditing import referee
from attacklab.auditing.ordinary import best
from attacklab.loading.targets import made_target
from attacklab.model.errors import UsageTypeError
from attacklab.model.findings import Finding, Verdict, decisive
from attacklab.model.stage import Stage
from attacklab.model.targets import Kind, Target
from attacklab.reporting.screen import screen

SETTINGS = inspect.signature(referee.audit).parameters.keys() - {"target"}
"""The options of `audit` that are settings of the audit; all others describe the target."""

MORE = "the findings of this report, one by one"
"""The text on the screen that says where to see more than the screen."""


class Report(list[Finding]):
    """The findings of one audit, in the order of the attacks; printed, it is the screen of the command line."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings that decide something. Without findings it is NOT_APPLICABLE."""
        return next((finding.verdict for finding in decisive(self)), Verdict.NOT_APPLICABLE)

    @property
    def best(self) -> Finding | None:
        """The finding with the best evidence for the verdict; None if there are no findings."""
        return best(self) or next(iter(decisive(self)), None)

    def __str__(self) -> str:
        return "\n".join(screen(self, more=MORE).lines()) if self else "no findings"


def audit(release: Target | Stage | Callable[..., Any], /, attacks: Any = None, **options: Any) -> Report:
    """Audit a target, or a plain function with a claim.

    Args:
        release: a target; or a function of one value (and `rng`) that returns one noisy output; or a release or a
            sampler, as `attacklab audit` takes them; or a stage, made by `Target.stage`, which is not sampled.
        attacks: the attacks to run, all by default.
        **options: settings of `attacklab.auditing.referee.audit`, such as `seconds` and `seed`; for a stage, settings
            of `attacklab.stages.search.stability`. For a function, its claim, such as `epsilon`, and what else a
            constructor of `Target` takes, such as `pairs` or `domain`. Its `kind` is "dataset" where these are pairs of
            datasets or a domain with a shape, and "noise" otherwise.

    Returns:
        The findings, with one verdict.

    Raises:
        UsageError: a setting is out of range, or the function cannot be audited. If a target comes with options that
            describe a target, such as a second claim, this is a `UsageTypeError`.
    """
    if isinstance(release, Stage):
        from attacklab.stages.search import stability  # it takes Hypothesis, which takes time to import

        if refused := options.keys() - inspect.signature(stability).parameters.keys() | (
            {"attacks"} if attacks else set()
        ):
            raise UsageTypeError(f"{release.name} is a stage, which draws nothing; leave out {', '.join(refused)}")
        return Report([stability(release, **options)])
    settings = {name: options.pop(name) for name in SETTINGS & options.keys()}
    if isinstance(release, Target):
        if options:
            raise UsageTypeError(f"{release.name} is a target with a claim of its own; leave out {', '.join(options)}")
        return Report(referee.audit(release, attacks, **settings))
    shape = getattr(options.get("domain"), "shape", None)
    related = any(getattr(pair, "relation", None) for pair in options.get("pairs", ()))
    kind = Kind(options.pop("kind", Kind.DATASET if related or shape is not None else Kind.NOISE))
    return Report(referee.audit(made_target(kind, release, **options), attacks, **settings))
