"""A test that audited or proved a target: its verdict, its screen, and the files of all tests."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from attacklab.model.findings import Finding, Verdict, decisive, record
from attacklab.model.findings import to_text as to_text
from attacklab.model.plain_text import plain
from attacklab.reporting.sarif import Place, sarif_log
from attacklab.reporting.screen import Screen, screen

PASSES = (Verdict.NOT_DETECTED, Verdict.PROVED)
"""The verdicts with which a test passes: too little data is not a pass, and neither is a proof that was not found."""


@dataclass(frozen=True, kw_only=True)
class AuditedTest:
    """A test that audited a target, or proved its claim."""

    test: str  # the test's node id
    place: Place
    findings: tuple[Finding, ...]
    alpha: float | None = None  # the test's share of the run's α; None if nothing was sampled
    trials: int | None = None  # the most outputs of each input to judge an event on; None if nothing was sampled
    seed: int | None = None  # the seed of the audit; None for a proof

    @property
    def is_proof(self) -> bool:
        """Whether the test asked for a proof."""
        return all(finding.is_proof for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its findings; inconclusive if none of them says anything about the claim."""
        deciding = decisive(self.findings)
        is_open = not deciding or deciding[0].verdict is Verdict.NOT_APPLICABLE
        return Verdict.INCONCLUSIVE if is_open else deciding[0].verdict

    @property
    def failed(self) -> bool:
        """Whether the test has to fail."""
        return self.verdict not in PASSES and not self.skipped

    @property
    def skipped(self) -> bool:
        """Whether the test has to be skipped: no number of trials can refute the claim."""
        deciding = decisive(self.findings)
        return bool(deciding) and all(finding.is_untestable for finding in deciding)

    @property
    def screen(self) -> Screen:
        """The screen that a failure prints."""
        return screen(self.findings, self.test, more="--dp-json findings.json", every=True)

    def failure(self) -> str:
        """Return the message with which the test fails."""
        return "\n".join(self.screen.lines())

    def why_skipped(self) -> str:
        """Return the reason why the test is skipped."""
        reason = next(finding.reason for finding in self.findings if finding.is_untestable)
        return plain(f"{self.screen.headline}: {reason}")

    def properties(self) -> list[tuple[str, object]]:
        """Return the test's properties for the JUnit file, as pairs of a name and a value."""
        settings = {"alpha": self.alpha, "trials": self.trials, "seed": self.seed}
        properties = {"verdict": str(self.verdict), **settings, "summary": self.screen.headline}
        return [(f"dp_{name}", value) for name, value in properties.items() if value is not None]

    def to_text(self) -> str:
        """Return the test as text, which can be sent between processes."""
        data: dict[str, Any] = {name: getattr(self, name) for name in ("test", "alpha", "trials", "seed")}
        data |= {"place": asdict(self.place), "findings": [finding.to_json() for finding in self.findings]}
        return json.dumps(data)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the text that `to_text` wrote."""
        data = json.loads(text)
        findings = tuple(Finding.from_json(finding) for finding in data.pop("findings"))
        return cls(place=Place(**data.pop("place")), findings=findings, **data)


def record_of(tests: Sequence[AuditedTest]) -> dict[str, Any]:
    """Return the record of all findings, with each test's settings and the indices of its findings."""
    listed, findings = [], list[Finding]()
    for test in tests:
        numbers = list(range(len(findings), len(findings) + len(test.findings)))
        findings += test.findings
        settings = {"alpha": test.alpha, "trials": test.trials, "seed": test.seed}
        listed.append({"test": test.test, "verdict": test.verdict, **settings, "findings": numbers})
    return record(findings, tests=listed)


def sarif_of(tests: Sequence[AuditedTest]) -> dict[str, Any]:
    """Return the SARIF log of all findings, each placed at the test that made it."""
    return sarif_log([(finding, test.place) for test in tests for finding in test.findings])
