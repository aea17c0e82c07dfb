"""Programs under proof: the examples are decided as they say, and whatever else a program does is told in one line."""

from __future__ import annotations

import math
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacklab.laws import Law, LawError, NotDeterministic
from attacklab.laws.has_law import HasLaw
from attacklab.laws.proof import LIMITS, prove
from attacklab.model.errors import TargetError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Kind, Target
from attacklab.processes.failures import ChildError, ChildFailure
from attacklab.processes.lines import Limits
from attacklab.processes.programs import Conversation, ProgramSampler
from attacklab.processes.targets import external

DRAWING = str(Path(__file__).with_name("drawing.py"))
EXAMPLES = Path(__file__).parents[4] / "examples" / "proving"
PAIR = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)

Made = Callable[..., Target]


def compiled(*command: str) -> str:
    """Compile an example to what follows -o; skip the test where there is no such compiler."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    subprocess.run(command, check=True, cwd=EXAMPLES)  # noqa: S603 - a compiler, on our own file
    return command[command.index("-o") + 1]


@pytest.fixture
def made() -> Iterator[Made]:
    """Makes targets of commands, and ends their processes after the test."""
    targets: list[Target] = []

    def make(*command: str, kind: Kind = Kind.NOISE, epsilon: float = 1.0, seconds: float = 20.0) -> Target:
        targets.append(external(command, kind=kind, epsilon=epsilon, seconds=seconds))
        return targets[-1]

    yield make
    for target in targets:
        sampler_of(target).close()


@pytest.fixture
def drawing(made: Made) -> Made:
    return lambda name, **parameters: made(sys.executable, DRAWING, name, **parameters)


def sampler_of(target: Target) -> ProgramSampler:
    assert isinstance(target.sampler, ProgramSampler)
    return target.sampler


def law(target: Target, input_: Any = 0.0) -> Law:
    return sampler_of(target).law(input_, limits=LIMITS)


def decided(target: Target) -> Finding:
    return prove(target, PAIR)


def is_proved(finding: Finding) -> bool:
    """Whether a claim is proved, perhaps with slack: a loop leaves mass open."""
    return finding.verdict.startswith("proved")


def test_the_discrete_laplace_in_c_is_proved_and_its_twin_that_keeps_negative_zeros_refuted(
    made: Made, tmp_path: Path
) -> None:
    command = ("cc", "-O2", "-DSCALE=1", "discrete_laplace.c", "-o")
    exact = made(compiled(*command, str(tmp_path / "exact")), epsilon=1.0)
    assert is_proved(decided(exact))
    naive = made(compiled(*command, str(tmp_path / "naive"), "-DNAIVE"), epsilon=1.0)
    finding = decided(naive)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.epsilon_lower == pytest.approx(1 + math.log(2))


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_randomized_response_in_javascript_is_proved_and_its_rounded_twin_refuted(made: Made) -> None:
    program = str(EXAMPLES / "randomized_response.mjs")
    exact = decided(made("node", program, epsilon=1.3862943611198908))
    assert exact.verdict is Verdict.PROVED
    assert exact.advantage is not None
    assert exact.advantage.estimate == pytest.approx(3 / 5)
    naive = decided(made("node", program, "naive", epsilon=1.3862943611198908))
    assert naive.verdict is Verdict.VIOLATED
    assert naive.epsilon_lower == pytest.approx(math.log(205 / 51))


def test_response_of_six_in_rust_is_proved_and_its_twin_that_gives_up_is_refused(made: Made, tmp_path: Path) -> None:
    program = compiled("rustc", "-O", "response_of_six.rs", "-o", str(tmp_path / "response"))
    exact = made(program, epsilon=1.0986122886681098)
    assert is_proved(decided(exact))
    assert float(law(exact, 2.0).mass(2)) == pytest.approx(3 / 8, rel=1e-15)
    with pytest.raises(LawError, match=r"after a rejected round .* 'output 0'; it must begin the same round again"):
        decided(made(program, "naive", epsilon=1.0986122886681098))


def test_a_program_has_its_law_and_gives_single_outputs_from_given_bits(drawing: Made) -> None:
    target = drawing("sound")
    assert isinstance(target.sampler, HasLaw)
    assert law(target, 1.0) == Law({1: Fraction(3, 4), 0: Fraction(1, 4)})
    sampler, bits = pickle.loads(pickle.dumps(sampler_of(target))), SeededBits(1)  # noqa: S301 - our own
    assert 250 < sum(sampler(1.0, bits) for _ in range(400)) < 350  # both exact binomial tails are below 1e-8
    sampler.close()


def test_inputs_of_every_kind_reach_the_program(drawing: Made) -> None:
    assert law(drawing("echo"), 3) == Law({3: 1})
    assert law(drawing("echo", kind=Kind.SELECTION), [3.0, 1.0, -2.0]) == Law({(3.0, 1.0, -2.0): 1})
    with pytest.raises(TargetError, match="must consist of numbers"):
        law(drawing("echo"), "text")
    with pytest.raises(TargetError, match="too many digits"):
        law(drawing("echo"), 1 << 20_000)


def test_runs_whose_lines_fit_into_no_pipe_do_not_stall() -> None:
    conversation = Conversation((sys.executable, DRAWING, "wide"), Limits(20.0), "noise")
    conversation.begin(0.0, ["65535"] * 30_000)
    assert [line for _ in range(30_000) for line in conversation.lines(1)] == ["take 16"] * 30_000
    assert conversation.lines(9) == [f"output {65535 * 30_000}"]
    conversation.renew()


def test_a_program_that_is_no_function_of_its_replies_is_refused(drawing: Made) -> None:
    """Those that are random are missed with a probability below 2^−40."""
    for name in ("looks_at_its_process", "draws_elsewhere", "depends_on_hashes", "starts_otherwise"):
        with pytest.raises(NotDeterministic) as refusal:
            law(drawing(name))
        assert "\n" not in str(refusal.value)
    with pytest.raises(NotDeterministic):
        decided(drawing("keeps_the_previous_input"))


@pytest.mark.parametrize(
    ("name", "failure", "message"),
    [
        ("rubbish", ChildFailure.GARBAGE, "its lines are not ASCII"),
        ("dies", ChildFailure.CRASH, "status 1 .* the pool of entropy is empty"),
        ("hangs", ChildFailure.HANG, "no answer within 1 s"),
    ],
)
def test_a_failure_of_the_process_is_told_in_one_line(
    drawing: Made, name: str, failure: ChildFailure, message: str
) -> None:
    with pytest.raises(ChildError, match=message) as refusal:
        law(drawing(name, seconds=1.0))
    assert refusal.value.failure is failure
    assert "\n" not in str(refusal.value)


def test_a_refused_program_leaves_no_process_behind(drawing: Made) -> None:
    def ours() -> list[str]:
        listed = subprocess.run(["/bin/ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if DRAWING in line or "sleep 60" in line]

    if sys.platform != "linux":
        pytest.skip("ps has other options")
    before = ours()
    with pytest.raises(ChildError):
        law(drawing("leaves_a_child"))
    deadline = time.monotonic() + 5
    while ours() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ours() == before


def test_a_program_for_audits_is_told_what_a_proof_needs(made: Made) -> None:
    audited = made(sys.executable, str(EXAMPLES.parent / "exec_laplace.py"))
    with pytest.raises(TargetError, match=r"exited with status 1 .*KeyError: 'trials'"):
        law(audited)
