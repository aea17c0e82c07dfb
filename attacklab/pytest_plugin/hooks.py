"""The pytest plugin for authors of DP libraries: the fixtures `dp_audit` and `dp_prove`.

A run has one α, which is split evenly, at collection, over the tests that take `dp_audit`, so that neither their order
nor the number of xdist workers changes a verdict. An audit passes only if every attack that ran had enough trials to
refute the claim and did not refute it. Nothing heavy is imported before the first audit or proof.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.files import require_writable, write_whole
from attacklab.pytest_plugin.options import OPTIONS

if TYPE_CHECKING:
    from attacklab.attacks import Attack
    from attacklab.model.findings import Finding
    from attacklab.model.stage import Stage
    from attacklab.model.targets import Release, Sampler, Target
    from attacklab.pytest_plugin.report import AuditedTest

FIXTURE = "dp_audit"
PROOF = "dp_prove"
CLAIM = "dp_claim"
CLAIM_ARGUMENTS = "epsilon=, delta=, rho=, mu=, rdp=, claim=, sensitivity=, bounds=, kind=, relation=, domain=, pairs="


@dataclass(eq=False)
class _Run:
    """The settings of a run, and the tests that audited a target in it.

    In the main process, to which xdist's workers report, it is also a plugin: it gathers and reports their findings.
    """

    alpha: float
    trials: int | None
    seconds: float
    seed: int
    attacks: tuple[str, ...]
    json: Path | None
    sarif: Path | None
    audits: frozenset[str] = frozenset()  # the node ids of the tests that take dp_audit
    tests: dict[str, AuditedTest] = field(default_factory=dict)  # by node id
    unwritten: list[str] = field(default_factory=list)  # messages about files that cannot be written

    def in_order(self) -> list[AuditedTest]:
        """Return the tests sorted by name, so that the number of workers does not matter."""
        return [self.tests[test] for test in sorted(self.tests)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the test of this report to `tests`, if it audited or proved a target."""
        if (text := getattr(report, "dp_audited", None)) is not None:
            from attacklab.pytest_plugin.report import AuditedTest

            self.tests[report.nodeid] = AuditedTest.from_text(text)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files that --dp-json and --dp-sarif name."""
        if self.json is None and self.sarif is None:
            return
        from attacklab.pytest_plugin.report import record_of, sarif_of, to_text

        for path, make in ((self.json, record_of), (self.sarif, sarif_of)):
            try:  # from where pytest was started: a test may have gone elsewhere
                if path is not None:
                    write_whole(session.config.invocation_params.dir / path, to_text(make(self.in_order())))
            except OSError as error:
                self.unwritten.append(f"cannot write to {path}: {error.strerror}")
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the first line of every audited test's screen."""
        tests = self.in_order()
        for line in self.unwritten:
            terminalreporter.write_line(line, red=True)
        if not tests:
            return
        terminalreporter.section("differential-privacy audits")
        for test in tests:
            colour = "red" if test.failed else "yellow" if test.skipped else "green"
            terminalreporter.write_line(test.screen.headline, **{colour: True})
        if not all(test.is_proof for test in tests):
            terminalreporter.write_line(f"α = {self.alpha:g} for the run; nothing detected is not a proof")
        if any(test.is_proof for test in tests):
            terminalreporter.write_line("a proof is for the pairs or inputs that it was given, and no others")

    def replay(self, test: str, trials: int, alpha: float, attack: str | None) -> str:
        options = [f"--dp-alpha={alpha!r}", f"--dp-trials={trials}", f"--dp-seed={self.seed}"]
        options += [f"--dp-attacks={attack}"] if attack else []
        return shlex.join(["pytest", test, *options])


_RUN = pytest.StashKey[_Run]()
_AUDITED = pytest.StashKey["AuditedTest"]()
_CALLED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare each option, and the ini setting of the same name."""
    group = parser.getgroup("attacklab", "differential-privacy audits")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.name, type=option.parse, metavar=option.metavar, help=option.help)
        parser.addini(option.name, f"{option.help} (same as {option.flag})")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker and read the options. Unless this is an xdist worker, register the run as a plugin."""
    config.addinivalue_line(
        "markers",
        f"{CLAIM}({CLAIM_ARGUMENTS}): the claim of the function that {FIXTURE} "
        f"or {PROOF} is called with; for a Target, only relation, domain and pairs may be given.",
    )
    run = _Run(**{option.name.removeprefix("dp_"): option.value(config) for option in OPTIONS})
    if not hasattr(config, "workerinput"):
        for option, path in (("--dp-json", run.json), ("--dp-sarif", run.sarif)):
            try:
                if path is not None:
                    require_writable(path)
            except UsageError as error:
                raise pytest.UsageError(f"{option}: {error}") from error
        config.pluginmanager.register(run, "attacklab-run")
    if run.attacks:
        _registered(run.attacks)
    config.stash[_RUN] = run


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests that α is split over: those selected to run that take the fixture."""
    audits = (item.nodeid for item in session.items if FIXTURE in getattr(item, "fixturenames", ()))
    session.config.stash[_RUN].audits = frozenset(audits)


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Callable[..., list[Finding]]:
    """Audit a target; fail the test unless nothing was detected, and skip it if sampling cannot refute the claim.

    A test calls it as `dp_audit(target, *, attacks=None, ideal_noise=False)`, and gets the findings. The target is a
    `Target`, a stage, or a release function whose claim is in the marker `dp_claim`. Give attacks of your own to run
    them instead of the registered ones. `ideal_noise` assumes that samplers are right, and tests the code around them.
    """
    item: pytest.Item = request.node
    run = item.config.stash[_RUN]
    if item.nodeid not in run.audits:
        raise RuntimeError(f"make {FIXTURE} an argument of the test: α is split beforehand over the tests that take it")
    return _judging(item, functools.partial(_audited, item, run))


@pytest.fixture
def dp_prove(request: pytest.FixtureRequest) -> Callable[..., list[Finding]]:
    """Prove a target's claim; fail the test unless it is proved on every pair. A proof with slack is enough.

    A test calls it as `dp_prove(target, *, inputs=None, seconds=60.0)`, and gets the findings. The target
    is a `Target` with a sampler, or a `sampler(input, bits)` whose claim is in the marker `dp_claim`. It is
    proved on the pairs that are declared, or one as far apart as the target's kind allows; with inputs, on every pair
    of neighbours among them.
    """
    return _judging(request.node, functools.partial(_proved, request.node))


def _judging(item: pytest.Item, judge: Callable[..., AuditedTest]) -> Callable[..., list[Finding]]:
    """Return the function that a fixture gives a test: it judges one target and records, fails or skips the test."""
    item.stash[_CALLED] = False
    if _AUDITED in item.stash:  # by an earlier run of the same test
        del item.stash[_AUDITED]

    def judged(*arguments: Any, **options: Any) -> list[Finding]:
        __tracebackhide__ = True
        item.stash[_CALLED] = True
        if _AUDITED in item.stash:
            raise RuntimeError(
                "a test audits or proves one target, and only once; parametrise it for several, "
                f"or use {FIXTURE} and {PROOF} in two tests"
            )
        try:
            test = judge(*arguments, **options)
        except UsageError as error:  # the message says it all, so the traceback need not lead into the lab
            raise error.with_traceback(None) from None
        item.stash[_AUDITED] = test
        item.user_properties += test.properties()
        if test.failed:
            pytest.fail(test.failure(), pytrace=False)
        if test.skipped:
            pytest.skip(test.why_skipped())
        return list(test.findings)

    return judged


def _audited(
    item: pytest.Item,
    run: _Run,
    target: Target | Stage | Release,
    *,
    attacks: Sequence[Attack] | None = None,
    ideal_noise: bool = False,
) -> AuditedTest:
    from attacklab.auditing.first_outputs import without_variety
    from attacklab.auditing.referee import audit
    from attacklab.model.stage import Stage
    from attacklab.stages.search import stability

    claimed, seed, has_own_attacks = _claimed(item, target, FIXTURE), run.seed, ideal_noise or attacks is not None
    if isinstance(claimed, Stage):
        if has_own_attacks:
            raise UsageTypeError(f"{claimed.name} is a stage, which draws nothing; leave out attacks and ideal_noise")
        found = replace(stability(claimed, seed=seed), replay=shlex.join(["pytest", item.nodeid]))
        return _test_of(item, [found], seed=seed)
    if attacks is not None and not attacks:
        raise UsageError(f"{FIXTURE} was given no attacks; leave attacks= out to run the registered ones")
    alpha = run.alpha / len(run.audits)
    if constant := without_variety(claimed, seed):
        return _test_of(item, [constant], alpha=alpha, trials=0, seed=seed)

    def again(attack: Attack, trials: int, share: float) -> str:
        # the command line knows only the registered attacks; with others the whole test runs again
        return run.replay(item.nodeid, trials, *((alpha, None) if has_own_attacks else (share, attack.name)))

    chosen = attacks if has_own_attacks else _registered(run.attacks)
    budget: dict[str, Any] = {"seconds": run.seconds} if run.trials is None else {"trials": run.trials}
    findings = audit(claimed, chosen, **budget, alpha=alpha, seed=seed, again=again, ideal_noise=ideal_noise)
    drawn = run.trials or max((finding.samples.counts.trials for finding in findings if finding.samples), default=0)
    return _test_of(item, findings, alpha=alpha, trials=drawn, seed=seed)


def _proved(
    item: pytest.Item, target: Target | Sampler, *, inputs: Sequence[Any] | None = None, seconds: float = 60.0
) -> AuditedTest:
    from attacklab.laws.proof import prove, prove_all
    from attacklab.model.stage import Stage

    claimed = _claimed(item, target, PROOF)
    if isinstance(claimed, Stage):
        raise UsageTypeError(f"{claimed.name} is a stage, which draws nothing, so it has no law; give it to {FIXTURE}")
    if inputs is None:
        return _test_of(item, prove_all(claimed, seconds=seconds))
    return _test_of(item, [prove(claimed, inputs=inputs, seconds=seconds)])


def _test_of(item: pytest.Item, findings: Sequence[Finding], **settings: Any) -> AuditedTest:
    from attacklab.pytest_plugin.report import AuditedTest
    from attacklab.reporting.sarif import Place

    path, line, _ = item.location
    place = Place(Path(path).as_posix(), (line or 0) + 1)
    again = shlex.join(["pytest", item.nodeid])
    made = tuple(replace(finding, replay=again) if finding.is_proof else finding for finding in findings)
    return AuditedTest(test=item.nodeid, place=place, findings=made, **settings)


def _claimed(item: pytest.Item, target: Target | Stage | Release | Sampler, fixture: str) -> Target | Stage:
    """Return the target with the claim, or the domain, pairs and relation, that the test's marker gives."""
    marker = item.get_closest_marker(CLAIM)
    mark = dict(marker.kwargs) if marker else {}
    from attacklab.loading.inputs import domain_from_text
    from attacklab.loading.targets import CLAIM_PARAMETERS, claim_of, made_target
    from attacklab.model.stage import Stage
    from attacklab.model.targets import Kind, Target

    relation = mark.pop("relation", None)
    if isinstance(mark.get("domain"), str):
        mark["domain"] = domain_from_text(mark["domain"])
    if isinstance(target, Target | Stage):
        return _with_claim_of_its_own(target, mark, relation)
    if not callable(target):
        function = "sampler" if fixture == PROOF else "release function"
        raise UsageTypeError(f"{fixture} takes a Target or a {function}, not {target!r}")
    named = next((name for name in ("epsilon", *CLAIM_PARAMETERS, "claim") if name in mark), None)
    if named is None:
        raise UsageTypeError(f"a function needs a claim; mark the test {CLAIM}(epsilon=...), or pass a Target")
    if named in CLAIM_PARAMETERS:
        mark["claim"] = claim_of(named, mark.pop(named))
    kind = mark.pop("kind", Kind.NOISE)
    return replace(made_target(Kind(kind), target, **mark), relation=relation)


def _with_claim_of_its_own(target: Target | Stage, mark: dict[str, Any], relation: Any) -> Target | Stage:
    """Return a target with the domain, the pairs and the relation of a marker, which may give nothing else."""
    target = replace(target, **{name: mark.pop(name) for name in ("domain", "pairs") if name in mark})
    if mark:
        raise UsageTypeError(f"{CLAIM} gives {', '.join(mark)}, but {target.name} has its own claim; leave one out")
    if relation is not None and target.relation not in (None, relation):
        raise UsageTypeError(f"{CLAIM} gives {relation}, but {target.name} claims for {target.relation} neighbours")
    return target if relation is None else replace(target, relation=relation)


def _registered(names: Sequence[str]) -> tuple[Attack, ...]:
    """Return the attacks with these names; all attacks if there are no names."""
    from attacklab.attacks import ALL_ATTACKS

    known = {attack.name: attack for attack in ALL_ATTACKS}
    if unknown := [name for name in names if name not in known]:
        raise pytest.UsageError(f"--dp-attacks: unknown {', '.join(unknown)}; choose from {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names or known))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the findings to the report. Fail a passed test that is marked or has a fixture, but tested nothing."""
    report = yield
    marked = any(marker.name == CLAIM for marker in item.own_markers)
    if report.when == "call" and report.passed and not item.stash.get(_CALLED, not marked):
        report.outcome = "failed"
        told = f"nothing was tested: make {FIXTURE} or {PROOF} an argument of the test, and call it with the target"
        report.longrepr = f"{item.nodeid}: {told}"
    if _AUDITED in item.stash:  # in whichever phase: another fixture may have audited
        report.dp_audited = item.stash[_AUDITED].to_text()  # type: ignore[attr-defined] # xdist carries plain attributes
    return report
