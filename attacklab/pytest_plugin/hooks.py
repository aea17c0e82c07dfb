"""The pytest plugin for authors of DP libraries: the fixture `dp_audit`, which fails a test whose target leaks.

A run has one α. It is split evenly, at collection, over the tests that take the fixture, so that neither their order
nor the number of xdist workers changes a verdict. A test passes only if every attack that ran had enough trials to
refute the claim and did not refute it; errors and too few trials fail it. Nothing heavy is imported before the first
audit.
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
CLAIM_ARGUMENTS = (
    *("epsilon", "delta", "rho", "mu", "rdp", "claim"),
    *("sensitivity", "bounds", "kind", "relation", "domain", "pairs"),
)
KINDS_OF_CLAIM = ("epsilon", "rho", "mu", "rdp", "claim")
DECLARATIONS = ("domain", "pairs")
"""What the marker may add to a Target, besides a relation."""


class DpAudit(Protocol):
    """The function that the fixture `dp_audit` gives a test."""

    def __call__(self, target: Target | Release, *, attacks: Sequence[Attack] | None = None) -> list[Finding]:
        """Audit a target; fail the test unless nothing was detected.

        Args:
            target: a `Target`, or a release function whose claim is in the marker `dp_claim`.
            attacks: your own attacks; by default the registered ones, or those named by --dp-attacks.

        Returns:
            The findings, if the test did not fail.

        Raises:
            TypeError: `target` is neither, or the marker and the target contradict each other.
            ValueError: the claim is out of range, or `attacks` is empty.
            RuntimeError: the test has already audited a target.
        """
        ...


@dataclass
class _Run:
    """The settings of a run, and the tests that audited a target in it."""

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
        """By name, so that the number of workers does not matter."""
        return [self.tests[test] for test in sorted(self.tests)]

    def replay(self, test: str, alpha: float, trials: int, attack: str | None) -> str:
        options = [f"--dp-alpha={alpha!r}", f"--dp-trials={trials}", f"--dp-seed={self.seed}"]
        options += [f"--dp-attacks={attack}"] if attack else []
        return shlex.join(["pytest", test, *options])


_RUN = pytest.StashKey[_Run]()
_AUDITED = pytest.StashKey["AuditedTest"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare each option, and the ini setting of the same name."""
    group = parser.getgroup("attacklab", "differential-privacy audits")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.name, type=option.parse, metavar=option.metavar, help=option.help)
        parser.addini(option.name, f"{option.help} (same as {option.flag})")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options."""
    config.addinivalue_line(
        "markers",
        f"{CLAIM}({', '.join(f'{name}=' for name in CLAIM_ARGUMENTS)}): the claim of the release function that "
        f"{FIXTURE} is called with; for a Target, only relation, domain and pairs may be given.",
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
            except UsageError as error:
                raise pytest.UsageError(f"{option}: {error}") from error


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests that α is split over: those selected to run that take the fixture."""
    audits = (item.nodeid for item in session.items if FIXTURE in getattr(item, "fixturenames", ()))
    session.config.stash[_RUN].audits = frozenset(audits)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Check markers while their module is collected, so that a wrong one is reported under xdist too."""
    for marker in metafunc.definition.iter_markers(CLAIM):
        unknown = [name for name in marker.kwargs if name not in CLAIM_ARGUMENTS]
        if unknown or marker.args:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: {CLAIM} takes only the keyword arguments {', '.join(CLAIM_ARGUMENTS)}; "
                f"remove {', '.join([*unknown, *map(repr, marker.args)])}"
            )
        claims = [name for name in KINDS_OF_CLAIM if name in marker.kwargs]
        if len(claims) > 1 or ("delta" in marker.kwargs and claims not in ([], ["epsilon"])):
            named = " and ".join([*claims, *(["delta"] if "delta" in marker.kwargs else [])])
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: {CLAIM} takes one claim: epsilon (and delta), rho, mu, rdp or claim, "
                f"not {named} together"
            )


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> DpAudit:
    """Audit a target with the lab's attacks; the test fails unless nothing was detected."""
    item: pytest.Item = request.node
    run = item.config.stash[_RUN]
    if item.nodeid not in run.audits:
        raise RuntimeError(f"make {FIXTURE} an argument of the test: α is split beforehand over the tests that take it")
    if _AUDITED in item.stash:  # from an earlier run of the same test
        del item.stash[_AUDITED]
    return functools.partial(_audited, item, run)


def _audited(
    item: pytest.Item, run: _Run, target: Target | Release, *, attacks: Sequence[Attack] | None = None
) -> list[Finding]:
    __tracebackhide__ = True
    if _AUDITED in item.stash:
        raise RuntimeError(f"{FIXTURE} audits one target per test; parametrise the test to audit several")
    from attacklab.pytest_plugin.report import AuditedTest
    from attacklab.reporting.sarif import Place
    from attacklab.timed_audit import timed_audit

    claimed = _claimed(item, target)
    chosen = _chosen(run.attacks, claimed) if attacks is None else tuple(attacks)
    if not chosen:
        raise UsageError(f"{FIXTURE} was given no attacks; leave attacks= out to run the registered ones")
    alpha = run.alpha / len(run.audits)
    audited = timed_audit(
        claimed, chosen, seconds=run.seconds, trials=run.trials, alpha=alpha, seed=run.seed, until_refuted=True
    )
    findings: list[Finding] = []
    for one in audited:
        # The command line knows only the registered attacks; where a test brings its own, all of them run again.
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
    from attacklab.domains import domain_from_text
    from attacklab.loading import CLAIM_PARAMETERS, claim_of, made_target
    from attacklab.targets import Kind, Target

    marker = item.get_closest_marker(CLAIM)
    said = dict(marker.kwargs) if marker else {}
    relation = said.pop("relation", None)
    if isinstance(said.get("domain"), str):
        said["domain"] = domain_from_text(said["domain"])
    if isinstance(target, Target):
        declared = {name: said.pop(name) for name in DECLARATIONS if name in said}
        target = replace(target, **declared)
        if said:
            raise UsageTypeError(f"{CLAIM} gives {', '.join(said)}, but {target.name} has its own claim; leave one out")
        if relation is not None and target.relation not in (None, relation):
            raise UsageTypeError(f"{CLAIM} gives {relation}, but {target.name} claims for {target.relation} neighbours")
        return target if relation is None else replace(target, relation=relation)
    if not callable(target):
        raise UsageTypeError(f"{FIXTURE} takes a Target or a release function, not {target!r}")
    named = next((name for name in KINDS_OF_CLAIM if name in said), None)
    if named is None:
        raise UsageTypeError(f"a release function needs a claim; mark the test {CLAIM}(epsilon=...), or pass a Target")
    if named in CLAIM_PARAMETERS:
        said["claim"] = claim_of(named, said.pop(named))
    return replace(made_target(Kind(said.pop("kind", Kind.NOISE)), target, **said), relation=relation)


def _chosen(names: Sequence[str], target: Target) -> tuple[Attack, ...]:
    from attacklab.attacks import default_attacks

    return _registered(names) if names else default_attacks(target)


def _registered(names: Sequence[str]) -> tuple[Attack, ...]:
    from attacklab.attacks import ATTACKS, ON_REQUEST

    known = {attack.name: attack for attack in (*ATTACKS, *ON_REQUEST)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise pytest.UsageError(f"--dp-attacks: unknown {', '.join(unknown)}; choose from {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the findings to the report, which takes them to the process that writes the files and the summary."""
    report = yield
    if _AUDITED in item.stash:  # in whichever phase: another fixture may have audited
        report.dp_audited = item.stash[_AUDITED].to_text()  # type: ignore[attr-defined] # xdist carries plain attributes
    return report


def _here_is_told(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput")


class _Collector:
    """Gathers the findings from the reports of all workers."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = getattr(report, "dp_audited", None)
        if text is not None:
            from attacklab.pytest_plugin.report import AuditedTest

            self._run.tests[report.nodeid] = AuditedTest.from_text(text)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Gather findings in the main process, which xdist workers report to."""
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
    """Print what is known of every audited test."""
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
