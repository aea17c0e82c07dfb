"""A test that audited or proved a target: its verdict, why it failed, its line in the summary, and all tests' files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from attacklab.auditing.statistics.reasons import above_text
from attacklab.model.findings import Finding, Reach, Verdict, decisive, lower_text, record, upper_text
from attacklab.model.plain_text import plain
from attacklab.reporting.sarif import Place, sarif_log
from attacklab.reporting.wording import (
    claim_text,
    flaw_lines,
    judged_text,
    pair_text,
    shown_by,
    told_once,
)

PASSES = (Verdict.NOT_DETECTED, Verdict.PROVED_WITH_SLACK, Verdict.PROVED)
"""Too little data is not a pass, and neither is a proof that was not found."""


@dataclass(frozen=True, kw_only=True)
class AuditedTest:
    """A test that audited a target, or proved its claim.

    Attributes:
        test: its node id.
        place: its file and line.
        findings: one or more for each attack that ran, or one for each pair that was to be proved.
        alpha: its share of the run's α; None for a proof.
        trials: the largest number of outputs of each input that an event was to be judged on, over all attacks; None
            for a proof.
        seed: the seed of all randomness; None for a proof.
    """

    test: str
    place: Place
    findings: tuple[Finding, ...]
    alpha: float | None = None
    trials: int | None = None
    seed: int | None = None

    @property
    def is_proof(self) -> bool:
        """Whether it sought a proof."""
        return all(finding.is_proof for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its findings; inconclusive if none of them says anything about the claim.

        Notes do not.
        """
        deciding = [finding for finding in decisive(self.findings) if not self._is_note(finding)]
        verdict = next((finding.verdict for finding in deciding), Verdict.NOT_APPLICABLE)
        return Verdict.INCONCLUSIVE if verdict is Verdict.NOT_APPLICABLE else verdict

    @staticmethod
    def _is_note(finding: Finding) -> bool:
        return finding.verdict is Verdict.VIOLATED and not finding.refutes

    def _worst(self) -> list[Finding]:
        return [
            finding
            for finding in decisive(self.findings)
            if finding.verdict is not Verdict.NOT_APPLICABLE
            and not self._is_note(finding)
            and (not finding.decides_nothing or finding.verdict is Verdict.UNTESTABLE)
        ]

    @property
    def failed(self) -> bool:
        """Whether the test has to fail."""
        return self.verdict not in PASSES and not self.skipped

    @property
    def skipped(self) -> bool:
        """Whether the test has to be skipped: no number of trials can refute the claim."""
        return self.verdict is Verdict.UNTESTABLE

    def why_skipped(self) -> str:
        """The reason that it is skipped for."""
        worst = self._worst()[0]
        return plain(f"{worst.target}: untestable by sampling: {worst.reason}")

    def failure(self) -> str:
        """The message that the test fails with."""
        worst = self._worst()
        target = self.findings[0].target
        if not worst:
            lines = [f"{target}: inconclusive: none of the attacks that ran could decide anything about this target"]
            return _in_lines(lines + [f"  {finding.attack}: {finding.reason}" for finding in self.findings])
        outcome = {
            Verdict.VIOLATED: f"does not keep its claim ({claim_text(worst[0])})",
            Verdict.ERROR: f"could not be {'proved' if self.is_proof else 'audited'}: it failed",
            Verdict.INCONCLUSIVE: "was not proved"
            if self.is_proof
            else "could not be judged"
            if self.alpha is None
            else "had too few trials to decide: raise --dp-seconds or --dp-trials",
        }[self.verdict]
        lines = [f"{target} {outcome}"]
        for finding, besides in told_once(worst):
            lines += ["", f"{shown_by(finding)}: {finding.verdict}: {finding.reason}", *_details(finding)]
            lines += [f"  {line}" for line in besides]
        replays = [f"replay: {line}" for line in dict.fromkeys(finding.replay for finding in worst) if line]
        return _in_lines([*lines, *(["", *replays] if replays else [])])

    def properties(self) -> list[tuple[str, object]]:
        """What JUnit's file says of it."""
        settings = {"alpha": self.alpha, "trials": self.trials, "seed": self.seed}
        properties = {"verdict": str(self.verdict), **settings, "summary": self.summary()}
        return [(f"dp_{name}", value) for name, value in properties.items() if value is not None]

    def summary(self) -> str:
        """What is known of the target, in one line."""
        notes = dict.fromkeys(
            f"{finding.severity} by {finding.attack}" for finding in self.findings if self._is_note(finding)
        )
        return plain(self._known() + (f"; notes on {', '.join(notes)}" if notes else ""))

    def _known(self) -> str:
        worst = self._worst()
        if self.is_proof:
            pairs = f"{len(worst)} of {len(self.findings)} pairs: " if len(self.findings) > 1 else ""
            scope = worst[0].scope
            prefix = f"for {scope}: " if scope and scope.reach is not Reach.PAIR else ""
            return f"{pairs}{prefix}{worst[0].reason}"
        attacks = ", ".join(dict.fromkeys(finding.attack for finding in worst))
        if self.verdict is Verdict.VIOLATED:
            bounds = [(finding.epsilon_lower, finding) for finding in worst if finding.epsilon_lower is not None]
            return f"{_bound(max(bounds, key=lambda pair: pair[0])[1])} by {attacks}" if bounds else f"by {attacks}"
        if self.verdict is Verdict.NOT_DETECTED:
            shown = [finding.smallest_detectable for finding in worst if finding.smallest_detectable is not None]
            if not shown:
                return worst[0].reason
            attacks = ", ".join(dict.fromkeys(one.attack for one in worst if one.smallest_detectable is not None))
            return (
                f"advantages of {min(shown):.2g} (best event) to {max(shown):.2g} (worst event) would have been "
                f"detected by {attacks}"
            )
        return worst[0].reason if worst else "none of the attacks could decide anything"

    def to_text(self) -> str:
        """The test as text, to be sent between processes."""
        data: dict[str, Any] = {name: getattr(self, name) for name in ("test", "alpha", "trials", "seed")}
        data |= {"place": asdict(self.place), "findings": [finding.to_json() for finding in self.findings]}
        return json.dumps(data)

    @classmethod
    def from_text(cls, text: str) -> AuditedTest:
        """Read the text that `to_text` wrote."""
        data = json.loads(text)
        findings = tuple(Finding.from_json(finding) for finding in data.pop("findings"))
        return cls(place=Place(**data.pop("place")), findings=findings, **data)


def record_of(tests: Sequence[AuditedTest]) -> dict[str, Any]:
    """The record of all findings, with the numbers of those that belong to each test."""
    findings = [finding for test in tests for finding in test.findings]
    listed, before = [], 0
    for test in tests:
        numbers = list(range(before, before + len(test.findings)))
        before += len(numbers)
        settings = {"alpha": test.alpha, "trials": test.trials, "seed": test.seed}
        listed.append({"test": test.test, "verdict": test.verdict, **settings, "findings": numbers})
    return record(findings, tests=listed)


def sarif_of(tests: Sequence[AuditedTest]) -> dict[str, Any]:
    """The SARIF log of all findings, each at the test that made it."""
    return sarif_log([(finding, test.place) for test in tests for finding in test.findings])


def _in_lines(lines: Sequence[str]) -> str:
    return "\n".join(map(plain, lines))


def _details(finding: Finding) -> list[str]:
    lines = []
    if finding.pair is not None:
        lines.append(f"  {pair_text(finding)}")
    if finding.event:
        lines.append(f"  event: {finding.event}")
    lines += [f"  {line}" for line in flaw_lines(finding)]
    if finding.judged_at is not None:
        lines.append(f"  {judged_text(finding)}")
    if finding.advantage is not None:
        within = f"[{lower_text(finding.advantage.lower)}, {upper_text(finding.advantage.upper)}]"
        lines.append(
            f"  advantage: {finding.advantage.estimate:.3g}, within {within}; the claim allows {finding.ceiling:.3g}"
        )
    if finding.refutes and finding.laws is not None and finding.epsilon_lower is not None:
        lines.append(f"  {_bound(finding)} by the exact laws")
    return lines


def _bound(finding: Finding) -> str:
    """The lower bound on the real ε or, where a δ is claimed, on the real δ."""
    judged = finding.judged
    if judged.delta and finding.delta_lower:
        return f"δ ≥ {above_text(finding.delta_lower, judged.delta)} at ε = {upper_text(judged.epsilon, 4)}"
    at_delta = f" at δ = {lower_text(judged.delta)}" if judged.delta else ""
    return f"ε ≥ {above_text(finding.epsilon_lower or 0.0, judged.epsilon)}{at_delta}"
