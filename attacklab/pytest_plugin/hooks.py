"""The pytest plugin for authors of DP libraries: the fixture `dp_audit`, which fails a test whose target leaks.

One α a run, split evenly at collection over the tests that take the fixture, so that neither their order nor the number
of xdist workers changes a verdict. A test passes only if every attack that ran had the trials to refute the claim and
did not: an error and too few trials fail it. Nothing heavy is imported before the first audit.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from attacklab.errors import UsageError, UsageTypeError
from attacklab.pytest_plugin.options import OPTIONS

if TYPE_CHECKING:
    from attacklab.attacks import Attack
    from attacklab.findings import Finding
    from attacklab.pytest_plugin.report import AuditedTest
    from attacklab.targets import Release, Target

FIXTURE = "dp_audit"
CLAIM = "dp_claim"
CLAIM_ARGUMENTS = ("epsilon", "delta", "sensitivity", "bounds", "kind", "relation")


class DpAudit(Protocol):
    """What the fixture gives."""

    def __call__(self, target: Target | Release, *, attacks: Sequence[Attack] | None = None) -> list[Finding]:
        """Audit a target, and fail the test unless nothing was detected.

        Args:
            target: a `Target`, or a release function whose claim stands in the marker `dp_claim`.
            attacks: attacks of one's own; by default the registered ones, or those named by --dp-attacks.

        Returns:
            The findings, where the test may go on.

        Raises:
            TypeError: `target` is neither, or the marker and the target contradict each other.
            ValueError: the claim is out of range, or there are no attacks.
            RuntimeError: the test has audited a target before.
        """
        ...


@dataclass
class _Run:
    """The settings of a run, and what was audited in it."""

    alpha: float
    trials: int | None
    seconds: float
    seed: int
    attacks: tuple[str, ...]
    json: Path | None
    sarif: Path | None
    audits: frozenset[str] = frozenset()
    tests: dict[str, AuditedTest] = field(default_factory=dict)

    def in_order(self) -> list[AuditedTest]:
        """Of names, which no number of workers changes."""
        return [self.tests[test] for test in sorted(self.tests)]

    def replay(self, test: str, alpha: float, trials: int, attack: str | None) -> str:
        options = [f"--dp-alpha={alpha!r}", f"--dp-trials={trials}", f"--dp-seed={self.seed}"]
        options += [f"--dp-attacks={attack}"] if attack else []
        return shlex.join(["pytest", test, *options])


_RUN = pytest.StashKey[_Run]()
_AUDITED = pytest.StashKey["AuditedTest"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, each as an ini setting of the same name too."""
    group = parser.getgroup("attacklab", "differential-privacy audits")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.name, type=option.parse, metavar=option.metavar, help=option.help)
        parser.addini(option.name, f"Default of {option.flag}.")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options."""
    config.addinivalue_line(
        "markers",
        f"{CLAIM}({', '.join(f'{name}=' for name in CLAIM_ARGUMENTS)}): what a release function that {FIXTURE} is "
        "called with claims; relation alone may stand beside a Target.",
    )
    run = _Run(**{option.name.removeprefix("dp_"): option.value(config) for option in OPTIONS})
    if _here_is_told(config):
        _require_writable(run)
    if run.attacks:
        _registered(run.attacks)
    config.stash[_RUN] = run


def _require_writable(run: _Run) -> None:
    for option, path in (("--dp-json", run.json), ("--dp-sarif", run.sarif)):
        if path is not None:
            from attacklab.findings import require_writable

            try:
                require_writable(path)
            except ValueError as error:
                raise pytest.UsageError(f"{option}: {error}") from error


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests that α is split over, now that it is known which will run."""
    audits = (item.nodeid for item in session.items if FIXTURE in getattr(item, "fixturenames", ()))
    session.config.stash[_RUN].audits = frozenset(audits)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Check markers while their module is collected, so that xdist too reports a wrong one."""
    for marker in metafunc.definition.iter_markers(CLAIM):
        unknown = [name for name in marker.kwargs if name not in CLAIM_ARGUMENTS]
        if unknown or marker.args:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: {CLAIM} takes {', '.join(CLAIM_ARGUMENTS)}, all by name; not "
                + ", ".join([*unknown, *map(repr, marker.args)])
            )


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> DpAudit:
    """Audit a target against the lab's attacks; the test fails unless nothing was detected."""
    item: pytest.Item = request.node
    run = item.config.stash[_RUN]
    if item.nodeid not in run.audits:
        raise RuntimeError(f"take {FIXTURE} as an argument: α is split beforehand over the tests that do")
    if _AUDITED in item.stash:  # of an earlier run of the same test
        del item.stash[_AUDITED]
    return functools.partial(_audited, item, run)


def _audited(
    item: pytest.Item, run: _Run, target: Target | Release, *, attacks: Sequence[Attack] | None = None
) -> list[Finding]:
    __tracebackhide__ = True
    if _AUDITED in item.stash:
        raise RuntimeError(f"{FIXTURE} audits one target a test; parametrise the test to audit several")
    from attacklab.pytest_plugin.report import AuditedTest
    from attacklab.reporting.sarif import Place
    from attacklab.timed_audit import paced_audit

    claimed = _claimed(item, target)
    chosen = _registered(run.attacks) if attacks is None else tuple(attacks)
    if not chosen:
        raise UsageError(f"{FIXTURE} was given no attacks")
    alpha = run.alpha / len(run.audits)
    audited = paced_audit(
        claimed, chosen, seconds=run.seconds, trials=run.trials, alpha=alpha, seed=run.seed, until_refuted=True
    )
    findings: list[Finding] = []
    for one in audited:
        # Attacks of the test's own all run again: the command line knows only the registered ones.
        again = (one.alpha, one.trials, one.attack.name) if attacks is None else (alpha, one.trials, None)
        replay = run.replay(item.nodeid, *again)
        findings += [replace(finding, replay=replay) for finding in one.findings]
    path, line, _ = item.location
    test = AuditedTest(
        test=item.nodeid,
        place=Place(Path(path).as_posix(), (line or 0) + 1),
        alpha=alpha,
        trials=max(one.trials for one in audited),
        seed=run.seed,
        findings=tuple(findings),
    )
    item.stash[_AUDITED] = test
    properties = {"verdict": str(test.verdict), "alpha": alpha, "trials": test.trials, "seed": test.seed}
    item.user_properties += [(f"dp_{name}", value) for name, value in properties.items()]
    item.user_properties.append(("dp_summary", test.summary()))
    if test.failed:
        pytest.fail(test.failure(), pytrace=False)
    return list(test.findings)


def _claimed(item: pytest.Item, target: Target | Release) -> Target:
    """The target with its claim."""
    from attacklab.loading import made_target
    from attacklab.targets import Kind, Target

    marker = item.get_closest_marker(CLAIM)
    said = dict(marker.kwargs) if marker else {}
    relation = said.pop("relation", None)
    if isinstance(target, Target):
        if said:
            raise UsageTypeError(f"{CLAIM} gives {', '.join(said)}, and {target.name} has a claim of its own")
        if relation is not None and target.relation not in (None, relation):
            raise UsageTypeError(f"{CLAIM} gives {relation}, and {target.name} claims for {target.relation} neighbours")
        return target if relation is None else replace(target, relation=relation)
    if not callable(target):
        raise UsageTypeError(f"{FIXTURE} takes a Target or a release function, not {target!r}")
    if "epsilon" not in said:
        raise UsageTypeError(f"{FIXTURE} takes a Target, or a release function in a test marked {CLAIM}(epsilon=...)")
    return replace(made_target(Kind(said.pop("kind", Kind.NOISE)), target, **said), relation=relation)


def _registered(names: Sequence[str]) -> tuple[Attack, ...]:
    from attacklab.attacks import ATTACKS

    known = {attack.name: attack for attack in ATTACKS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise pytest.UsageError(f"--dp-attacks: no attack {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else ATTACKS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the findings travel with the report, to the process that writes files and summary."""
    report = yield
    if _AUDITED in item.stash:  # in whichever phase: another fixture may have audited
        report.dp_audited = item.stash[_AUDITED].to_text()  # type: ignore[attr-defined] # xdist carries plain ones
    return report


def _here_is_told(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput")


class _Collector:
    """Gathers what the reports of all workers carry."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = getattr(report, "dp_audited", None)
        if text is not None:
            from attacklab.pytest_plugin.report import AuditedTest

            self._run.tests[report.nodeid] = AuditedTest.from_text(text)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Gather findings in the process that the workers, if any, report to."""
    if _here_is_told(session.config):
        session.config.pluginmanager.register(_Collector(session.config.stash[_RUN]), "attacklab-collector")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the files that were asked for."""
    run = session.config.stash[_RUN]
    if not _here_is_told(session.config) or (run.json is None and run.sarif is None):
        return
    from attacklab.findings import to_text, write_whole
    from attacklab.pytest_plugin.report import record_of, sarif_of

    for path, made in ((run.json, record_of), (run.sarif, sarif_of)):
        if path is not None:
            write_whole(path, to_text(made(run.in_order())))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say of every audited test what is known now."""
    tests = config.stash[_RUN].in_order()
    if not tests:
        return
    rows = [("test", "verdict", "trials", "what is known")]
    rows += [(test.test, str(test.verdict), str(test.trials), test.summary()) for test in tests]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    terminalreporter.section("differential-privacy audits")
    for row, failed in zip(rows, [None, *(test.failed for test in tests)], strict=True):
        text = "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        terminalreporter.write_line(text, bold=failed is None, red=failed is True, green=failed is False)
    run = config.stash[_RUN]
    terminalreporter.write_line(f"α = {run.alpha:g} for the run; nothing detected is not a proof")
