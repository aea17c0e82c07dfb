"""Targets in another process: whatever they do to it is reported in one line, and no process is left behind."""

import os
import pickle
import platform
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab import ATTACKS, Kind, Target, Verdict
from attacklab.attacks.features import hashes
from attacklab.auditing.referee import audit
from attacklab.loading.targets import load_target
from attacklab.model.errors import Refused, TargetError, UsageError
from attacklab.model.floats import require_ieee_arithmetic
from attacklab.processes import programs
from attacklab.processes.programs import NoAnswer
from attacklab.processes.targets import ProcessRelease, external, isolated
from tests.processes.looking import ends, is_alive

pytestmark = pytest.mark.slow

MISBEHAVING = str(Path(__file__).with_name("misbehaving.py"))
EXAMPLES = Path(__file__).parents[2] / "examples"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the facility is Linux's")
X86_64_GLIBC = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="the tests know the control registers of x86-64 under glibc only",
)

Made = Callable[..., Target]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def release_of(target: Target) -> ProcessRelease:
    assert isinstance(target.release, ProcessRelease)
    return target.release


def pid_of(target: Target) -> int:
    pid = release_of(target)._process.pid
    assert pid is not None
    return pid


@pytest.fixture
def made() -> Iterator[Made]:
    """Makes targets in other processes, and ends those after the test."""
    targets: list[Target] = []

    def make(maker: Callable[..., Target], *arguments: Any, **parameters: Any) -> Target:
        targets.append(maker(*arguments, **{"kind": Kind.NOISE, "epsilon": 1.0, **parameters}))
        return targets[-1]

    yield make
    for target in targets:
        release_of(target).close()


@pytest.fixture
def misbehaving(made: Made) -> Made:
    return lambda name, **parameters: made(isolated, f"{MISBEHAVING}:{name}", **parameters)


@pytest.fixture
def shell(made: Made) -> Made:
    return lambda script, **parameters: made(external, ["sh", "-c", script], **parameters)


def failure_of(target: Target, trials: int = 3, answer: Any = 0.0) -> str:
    with pytest.raises(TargetError) as raised:
        target.outputs(answer, trials, rng())
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value.__cause__, NoAnswer)
    return str(raised.value.__cause__)


# What is sent, and what comes back


def test_outputs_are_those_that_it_gives_here_with_every_bit(misbehaving: Made) -> None:
    here = 0.5 + rng(int(rng(7).integers(1 << 63))).laplace(size=1000)
    assert misbehaving("sound").outputs(0.5, 1000, rng(7)).tobytes() == here.tobytes()


def test_outputs_of_any_form_are_those_that_it_gives_here(misbehaving: Made) -> None:
    for name in ("of_any_form", "generated"):
        here, there = (
            hashes(target.outputs([0], 16, rng()))
            for target in (
                load_target(f"{MISBEHAVING}:{name}", kind=Kind.DATASET, epsilon=1.0),
                misbehaving(name, kind=Kind.DATASET),
            )
        )
        assert here.tolist() == there.tolist()


def test_inputs_keep_every_bit_and_their_type(misbehaving: Made) -> None:
    values = np.array([5e-324, -0.0, sys.float_info.max, 0.1, np.inf])
    echo = misbehaving("echo", kind=Kind.SUM, bounds=(0.0, 1.0))
    for sent in (values, np.array([-0.0, 1.5], dtype=np.float32)):
        assert echo.outputs(sent, len(sent), rng()).tobytes() == sent.tobytes()
    assert echo.outputs(np.arange(5)[::-1] - 2, 5, rng()).tolist() == [2, 1, 0, -1, -2]
    types = misbehaving("type_of_input", kind=Kind.DATASET)
    for input_, name in (
        (values, "ndarray float64"),
        (np.zeros(2, dtype=np.float32), "ndarray float32"),
        (np.arange(3), "ndarray int64"),
        (np.zeros((2, 0, 3)), "ndarray float64"),
        (np.array([True, False]), "ndarray bool"),
        (np.float32(1), "float32 float32"),
        (1.0, "float "),
        (1, "int "),
        ([1, 2.0, None], "list "),
    ):
        codes = types.outputs(input_, 1, rng())[0]
        assert "".join(map(chr, codes)) == name


def test_what_a_target_does_to_its_input_or_streams_does_not_disturb(misbehaving: Made) -> None:
    in_place = misbehaving("works_in_place", kind=Kind.SUM, bounds=(0.0, 1.0))
    assert in_place.outputs(np.ones(3), 1, rng()).tolist() == [3.0]
    for name in ("prints", "reads_input", "chatters"):
        assert len(misbehaving(name).outputs(0.0, 10, rng())) == 10, name


def test_a_target_that_draws_from_the_global_generators_can_be_replayed(misbehaving: Made) -> None:
    target = misbehaving("legacy_sampler")
    first = target.outputs(0.0, 100, rng(5))
    assert first.tobytes() != target.outputs(0.0, 100, rng(6)).tobytes()
    release_of(target).close()
    assert first.tobytes() == target.outputs(0.0, 100, rng(5)).tobytes()


def test_large_requests_and_answers_do_not_block_each_other(made: Made) -> None:
    program = (
        "import sys, json\nfor line in sys.stdin: print(json.dumps({'outputs': json.loads(line)['input']}), flush=True)"
    )
    target = made(external, [sys.executable, "-c", program], kind=Kind.SUM, bounds=(0.0, 1.0))
    values = rng().normal(size=200_000)
    assert target.outputs(values, len(values), rng()).tobytes() == values.tobytes()


def test_threads_take_turns_and_a_copy_has_a_child_of_its_own(misbehaving: Made) -> None:
    target = misbehaving("sound")
    seeds = range(8)
    with ThreadPoolExecutor(8) as threads:
        outputs = list(threads.map(lambda seed: target.outputs(0.0, 1000, rng(seed)).tobytes(), seeds))
    copied = pickle.loads(pickle.dumps(target))  # noqa: S301
    assert outputs == [copied.outputs(0.0, 1000, rng(seed)).tobytes() for seed in seeds]
    assert pid_of(copied) != pid_of(target)
    release_of(copied).close()


# What goes wrong


def test_what_a_target_does_wrong_is_told_in_one_line_and_an_exception_is_an_outcome(misbehaving: Made) -> None:
    for name, told in (
        ("vanishes", "crash: exited with status 3; it said: out of cheese"),
        ("nothing", "garbage: it returned NoneType, not outputs"),
        ("code", "garbage: its outputs: values of type function cannot be sent"),
    ):
        assert failure_of(misbehaving(name)) == told
    for name, told in (
        ("raises", "ReleaseError: ZeroDivisionError: of all things"),
        ("raises_silently", "ReleaseError: Silent$"),
        ("exits", "ReleaseError: SystemExit: 3"),
    ):
        target = misbehaving(name)
        pid = pid_of(target)
        with pytest.raises(Refused, match=told):
            target.outputs(0.0, 3, rng())
        assert release_of(target)._process.pid == pid
    target = misbehaving("segfaults")
    pid = pid_of(target)
    assert failure_of(target, answer=1.0) == "crash: killed by SIGSEGV"
    assert release_of(target)._process is None
    assert len(target.outputs(0.0, 10, rng())) == 10
    assert pid_of(target) != pid


@X86_64_GLIBC
def test_a_switched_floating_point_mode_is_noticed_and_stays_in_the_child(
    misbehaving: Made, made: Made, tmp_path: Path
) -> None:
    file = tmp_path / "fast_math.py"
    file.write_text(
        "import ctypes\nctypes.CDLL(None).fesetround(0x800)\n"
        "def laplace(answer, trials, rng):\n    return [answer] * trials\n"
    )
    for target, told in (
        (misbehaving("rounds_upward"), "does not round to nearest, ties to even"),
        (misbehaving("flushes_to_zero"), "flushes subnormal numbers to zero"),
        (made(isolated, f"{file}:laplace"), "does not round to nearest, ties to even"),
    ):
        assert failure_of(target).startswith(f"arithmetic mode: this process {told}")
        require_ieee_arithmetic()


def test_a_target_that_is_late_is_not_waited_for_once_an_attack(misbehaving: Made) -> None:
    for name in ("hangs", "computes_forever"):
        findings = audit(misbehaving(name, seconds=0.5), ATTACKS, trials=100)
        late = [finding.reason for finding in findings if finding.verdict is Verdict.ERROR]
        assert len(late) > 3
        assert 1 <= sum(reason.endswith("time limit: no answer within 0.5 s") for reason in late) <= 3
        assert not any(finding.refutes for finding in findings)


def test_a_program_that_misbehaves_is_told_in_one_line(shell: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attacklab.processes.programs.LONGEST_LINE", 1 << 20)
    for script, told in (
        ("read -r request; echo hello; sleep 9", "garbage: not a line of JSON"),
        ("""read -r r; printf '{"outputs": [1,2,3]}\n{"outputs": [1,2,3]}\n'; sleep 9""", "it answered more than once"),
        ("""read -r r; printf '{"outputs": [1,2,'""", "crash: exited with status 0 before answering"),
        ("""read -r r; printf '{"outputs": [1,2,3,4]}\n'""", "wrong number of outputs: 4 outputs for 3 trials"),
        ("read -r r; exec >&-; sleep 9", "garbage: it closed its output without an answer"),
        ("kill -s KILL 0", "crash: killed by SIGKILL"),
        ("exit 5", "crash: exited with status 5"),
        ("""read -r r; echo '{"error": "no luck", "failure": "memory limit"}'""", "memory limit: no luck"),
        ("read -r r; cat /dev/zero", "a line of more than 1048576 bytes; write one answer a line"),
    ):
        assert told in failure_of(shell(script)), script
    keeps_open = shell("read -r r; sleep 9 & kill -s SEGV $$", seconds=0.3)  # another process does
    assert failure_of(keeps_open) == "crash: killed by SIGSEGV"


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(shell: Made) -> None:
    target = shell("""read -r r; echo '{"outputs": [1]}'; sleep 0.1; echo '{"outputs": [2]}'; cat""")
    assert target.outputs(0.0, 1, rng()).tolist() == [1]
    assert select.select([release_of(target)._stdout], [], [], 30)[0]
    assert "bytes too many before the request" in failure_of(target, trials=1)


# What is left behind


@LINUX
def test_no_process_is_left_by_a_failure_an_interrupt_or_a_target_that_is_let_go(misbehaving: Made) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    hanging = misbehaving("hangs", seconds=0.3)
    pid = pid_of(hanging)
    failure_of(hanging)
    assert ends(pid)

    hanging = misbehaving("hangs")
    pid = pid_of(hanging)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            hanging.outputs(0.0, 1, rng())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert ends(pid)

    leaving = misbehaving("leaves_a_process")
    grandchild = int(leaving.outputs(0.0, 1, rng())[0])
    assert is_alive(grandchild)
    release_of(leaving).close()
    assert ends(grandchild)

    let_go = isolated(f"{MISBEHAVING}:sound", kind=Kind.NOISE, epsilon=1.0)
    pid = pid_of(let_go)
    assert is_alive(pid)
    del let_go
    assert ends(pid)


def run_lab(lines: str) -> subprocess.Popen[str]:
    beginning = f"""
import os, numpy as np
from attacklab.processes.targets import isolated
from attacklab.model.targets import Kind
def made(name): return isolated({MISBEHAVING!r} + ":" + name, kind=Kind.NOISE, epsilon=1.0)
def ask(target): return int(target.outputs(0.0, 1, np.random.default_rng())[0])
"""
    return subprocess.Popen([sys.executable, "-c", beginning + lines], stdout=subprocess.PIPE, text=True)  # noqa: S603


def test_a_killed_lab_leaves_no_process_even_if_the_target_hangs() -> None:
    with run_lab("target = made('hangs')\nprint(target.release._process.pid, flush=True)\nask(target)") as lab:
        assert lab.stdout is not None
        pid = int(lab.stdout.readline())
        time.sleep(0.1)
        os.kill(pid, 0)
        lab.kill()
    assert ends(pid)


def test_a_fork_has_a_child_of_its_own_and_a_lab_that_ends_leaves_none() -> None:
    script = """
target = made("process_id")
first = ask(target)
if os.fork() == 0:
    print(ask(target), flush=True)
    os._exit(0)
os.wait()
print(first, ask(target))
"""
    with run_lab(script) as lab:
        assert lab.stdout is not None
        forked, first, again = map(int, lab.stdout.read().split())
    assert first == again != forked
    assert ends(first, forked)


# How targets are loaded

LIBRARY = """
from attacklab.model.claims import Profile, Renyi
from attacklab.model.domains import Domain
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Kind, Target
__version__ = "2.5"
def release(records, trials, rng):
    return rng.normal(size=trials)
def maker(epsilon=0.1, bounds=(0.0, 1.0)):
    return Target.sum(release, epsilon=epsilon, delta=2**-40, bounds=bounds, name="noisy sum")
ready = maker()
renyi = Target.noise(release, claim=Renyi((1.1, 7), (0.1, 1 / 3)), domain=Domain(bounds=(0.1, 2)))
profile = Target.noise(release, claim=Profile([(0.1, 1 / 3), (0.3, 2**-1074)], name="0x1p+1"))
def described():
    words = {"kind": Kind.SUM, "relation": Relation.SUBSTITUTE, "name": "in words"}
    return {**words, "release": release, "claim": renyi.claim, "domain": renyi.domain, "bounds": (0.1, 7.0)}
"""


def test_a_target_with_a_claim_of_its_own_is_described_as_in_this_process(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "library_targets.py"
    file.write_text(LIBRARY)
    declared: list[tuple[str, dict[str, Any]]] = [
        ("ready", {}),
        ("maker", {"epsilon": 0.3, "bounds": (0.1, 7.0)}),
        ("renyi", {}),
        ("profile", {}),
        ("described", {}),
    ]
    for name, parameters in declared:
        there = made(isolated, f"{file}:{name}", **{"kind": None, "epsilon": None, **parameters})
        here = load_target(f"{file}:{name}", **parameters)
        for one in ("name", "kind", "claim", "relation", "sensitivity", "bounds", "noise_scale", "domain", "version"):
            assert getattr(there, one) == getattr(here, one), f"{one} of {name}"
        assert (there.domain is None) is (name not in ("renyi", "described"))
    assert len(there.outputs(0.0, 5, rng())) == 5


def test_a_target_whose_import_hangs_is_told(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "slow.py"
    file.write_text("import time\ntime.sleep(1000)\n")
    monkeypatch.setattr(programs, "STARTING_SECONDS", 1.0)
    with pytest.raises(ValueError, match="time limit: no answer within 1 s"):
        made(isolated, f"{file}:laplace", seconds=0.1)


def test_an_interpreter_that_does_not_start_is_told(made: Made, tmp_path: Path) -> None:
    python = tmp_path / "python"
    for script, told in (
        ("echo hello", "garbage: not a line of JSON"),
        ("echo {}", f"{python} did not start; is it a Python with numpy installed?"),
        ("""echo '{"error": "no luck"}'""", "no luck"),
        (f'exec {sys.executable} -S -E "$@"', "has no numpy, which targets in it need; install it there"),
    ):
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        with pytest.raises(UsageError, match=re.escape(told)):
            made(isolated, f"{MISBEHAVING}:sound", python=str(python))


def test_the_child_needs_numpy_alone_and_a_target_sees_its_own_modules_and_none_beside_the_child(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codec.py").write_text("ANSWER = 7\n")
    file = tmp_path / "alone.py"
    file.write_text(
        "import sys, importlib.util, codec\n"
        "lab = [name for name in sys.modules if name.partition('.')[0] in ('attacklab', 'scipy', 'gmpy2')]\n"
        "found = [name for name in ('batches', 'wire', 'child') if importlib.util.find_spec(name)]\n"
        "def count(answer, trials, rng):\n    return [len(lab) + len(found) + codec.ANSWER] * trials\n"
    )
    monkeypatch.chdir(tmp_path)  # which the child puts first on its path
    assert made(isolated, f"{file}:count").outputs(0.0, 1, rng()).tolist() == [7]


# The examples


def command_of(language: str, folder: Path) -> list[str]:
    """The command of the example in a language; skips the test where the language is not installed."""
    program, source = {
        "python": (sys.executable, "exec_laplace.py"),
        "c": ("gcc", "exec_laplace.c"),
        "java": ("java", "ExecLaplace.java"),
        "rust": ("rustc", "exec_laplace.rs"),
    }[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if language in ("python", "java"):
        return [program, str(EXAMPLES / source)]
    binary = str(folder / "exec_laplace")
    strict = ["-O", "-D", "warnings"] if language == "rust" else ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"]
    libraries = [] if language == "rust" else ["-ffp-contract=off", "-lm"]
    subprocess.run([program, *strict, "-o", binary, str(EXAMPLES / source), *libraries], check=True)  # noqa: S603
    return [binary]


@pytest.mark.parametrize("language", ["c", "java", "rust"])
def test_the_examples_in_other_languages_agree_with_python_but_for_the_last_bits_of_a_logarithm(
    made: Made, language: str, tmp_path: Path
) -> None:
    command = command_of(language, tmp_path)
    python = made(external, command_of("python", tmp_path))
    other = made(external, command)
    for answer, seed in ((0.0, 1), (1.0, 2), (-1e300, 3), (5e-324, 4), (7, 5), (-np.inf, 6), (2**60 + 129, 7)):
        expected, outputs = (target.outputs(answer, 500, rng(seed)) for target in (python, other))
        assert np.allclose(outputs, expected, rtol=1e-13, atol=1e-13)
        assert outputs.dtype == np.float64
        if language == "c":
            assert outputs.tobytes() == expected.tobytes()
        if answer == 0:
            assert np.count_nonzero(outputs == expected) > 400
    with pytest.raises(TargetError, match="ReleaseError: the Laplace mechanism adds noise"):
        made(external, command, kind=Kind.SELECTION).outputs(np.zeros(2), 3, rng())


def test_the_version_of_a_program_is_that_of_its_files(made: Made, tmp_path: Path) -> None:
    script = tmp_path / "program.sh"
    script.write_text("exit 0\n")
    before = made(external, ["sh", str(script)]).version
    assert made(external, ["sh", str(script)]).version == before
    script.write_text("exit 1\n")
    assert made(external, ["sh", str(script)]).version != before
