"""A call in a fresh process: what differs there, what can be sent, how it ends, and that nothing is left behind."""

import enum
import functools
import importlib.util
import operator
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.draws.errors import NeverEnds
from attacklab.model.errors import LabFault
from attacklab.processes import fresh
from attacklab.processes.fresh import HASH_SEEDS, CannotBeSent, run_in_fresh_processes
from attacklab.processes.programs import NoAnswer, Program, TooLate
from tests.processes.looking import ends, wait_until

pytestmark = pytest.mark.slow

_calls = 0


@pytest.fixture(scope="module", autouse=True)
def _worker_as_users_have_it() -> Iterator[None]:
    fresh.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fresh, "PRELOADED", [])
        yield
    fresh.close()


def _counted(value: int) -> int:
    global _calls
    _calls += 1
    return value + _calls


class _Adder:
    def __init__(self, first: int) -> None:
        self.first = first

    def add(self, second: int) -> int:
        return self.first + second


def run_in_fresh_process(function: Callable[..., Any], *arguments: Any, seconds: float = 60.0) -> Any:
    return run_in_fresh_processes([(function, arguments)], seconds=seconds)[0]


def _call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """As the library does it: an importable function, with a user's among the arguments."""
    return run_in_fresh_process(operator.call, function, *arguments, **options)


@pytest.fixture
def from_file(tmp_path: Path) -> Iterator[ModuleType]:
    """A module that was loaded from a file outside of `sys.path`, as the command line does it."""
    path = tmp_path / "someones_noise.py"
    path.write_text(
        "import enum, math\n"
        "OFFSET = 5\n"
        "class Colour(enum.Enum):\n    RED = 1\n"
        "class Plain:\n    def __init__(self, value): self.value = value\n"
        "def shifted(value): return helper(value) + math.floor(0.5)\n"
        "def helper(value): return value + OFFSET\n"
        "def plain(): return Plain(Colour.RED)\n"
    )
    spec = importlib.util.spec_from_file_location("someones_noise", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["someones_noise"] = loaded
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules["someones_noise"]


def test_the_other_process_has_another_hash_seed_and_other_global_random_state() -> None:
    assert run_in_fresh_process(os.getpid) != os.getpid()
    assert run_in_fresh_process(hash, "a string") != hash("a string")
    assert run_in_fresh_process(random.getrandbits, 64) != random.getrandbits(64)
    assert run_in_fresh_process(np.random.bytes, 8) != np.random.bytes(8)
    assert _call(lambda: np.random.get_state()[1].tolist()) != np.random.get_state()[1].tolist()
    _counted(0)
    assert [run_in_fresh_process(_counted, 10) for _ in range(3)] == [11, 11, 11]  # each finds that of a fresh import


def test_calls_at_the_same_time_have_hash_seeds_of_their_own_and_all_end_when_one_is_late() -> None:
    calls = [(hash, ("a string",))] * len(HASH_SEEDS)
    hashes = run_in_fresh_processes(calls, seconds=60)
    assert hashes == run_in_fresh_processes(calls, seconds=60)
    assert len({hash("a string"), *hashes}) == 1 + len(HASH_SEEDS)
    with pytest.raises(TooLate):
        run_in_fresh_processes([(time.sleep, (600,)), (os.getppid, ())], seconds=1)
    assert run_in_fresh_processes(calls, seconds=60) == hashes


def test_functions_of_every_kind_can_be_sent(from_file: ModuleType) -> None:
    offset = 3
    assert _call(lambda value: value + offset, 1) == 4
    assert _call(functools.partial(pow, 2), 5) == 32
    assert _call(_Adder(2).add, 3) == 5
    assert _call(from_file.shifted, 1) == 6
    from_file.OFFSET = 7  # type: ignore[attr-defined] # what is sent by value is what the module holds now
    assert _call(from_file.shifted, 1) == 8


def test_a_result_has_the_types_that_it_would_have_here(from_file: ModuleType) -> None:
    class Side(enum.Enum):
        LEFT = "left"

    result = (True, 1, 1.0, -0.0, Fraction(1, 3), mpq(1, 3), np.int64(1), (b"x", None), frozenset({2}))
    returned = _call(lambda: result)
    assert [type(part) for part in returned] == [type(part) for part in result]
    assert repr(returned) == repr(result)
    plain = _call(from_file.plain)
    assert type(plain) is from_file.Plain
    assert plain.value is from_file.Colour.RED
    assert _call(lambda: Side.LEFT) is Side.LEFT


def test_what_cannot_be_sent_is_named_with_the_reason() -> None:
    for thing in (threading.Lock(), (value for value in (0,)), sys.stderr):

        def sampler(thing: object = thing) -> object:
            return thing

        with pytest.raises(CannotBeSent) as caught:
            _call(sampler)
        assert str(caught.value).startswith("the sampler cannot be sent to another process: TypeError: cannot pickle ")
        assert "\n" not in str(caught.value)
    with pytest.raises(CannotBeSent, match=r"^what the sampler gave cannot be sent to another process: TypeError: "):
        _call(lambda: threading.Lock())


def _fail(error: BaseException) -> None:
    raise error


def test_errors_of_the_lab_come_back_as_themselves_and_others_in_one_line() -> None:
    with pytest.raises(NeverEnds) as caught:
        _call(_fail, NeverEnds("three loops\nand no end"))
    assert type(caught.value) is NeverEnds
    assert str(caught.value) == "three loops\nand no end"
    assert any("in _fail" in note for note in caught.value.__notes__)
    for error, told in ((KeyError("gone"), "KeyError: 'gone'"), (SystemExit(3), "SystemExit: 3")):
        with pytest.raises(LabFault) as fault:
            _call(_fail, error)
        assert str(fault.value) == f"a call in another process: {told}"


def test_a_call_that_ends_its_process_is_told_and_the_next_one_works() -> None:
    for how, call, arguments in (
        ("exited with status 7", os._exit, (7,)),
        ("killed by SIGSEGV", signal.raise_signal, (signal.SIGSEGV,)),
        ("exited with status 1", os.closerange, (3, 100)),
        ("crash: killed by SIGKILL", os.killpg, (0, signal.SIGKILL)),
    ):
        with pytest.raises(NoAnswer, match=rf"^{how}$"):
            _call(call, *arguments)
        assert run_in_fresh_process(sum, [1, 2]) == 3


def test_a_late_call_is_killed_with_what_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pids"

    def hang() -> None:
        os.fork()
        with noted.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while True:
            time.sleep(1)

    with pytest.raises(TooLate, match=r"^time limit: no answer within 1 s$"):
        _call(hang, seconds=1)
    assert ends(*map(int, noted.read_text().split()))
    with pytest.raises(TooLate):  # also where it holds the interpreter
        run_in_fresh_process(pow, 3, 10**10, seconds=0.2)
    assert run_in_fresh_process(sum, [1, 2]) == 3


def test_what_a_call_prints_and_a_copy_of_its_process_disturb_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def say() -> str:
        print("by print")
        os.write(1, b"by the descriptor\n")
        return sys.stdin.read()

    assert _call(say) == ""
    assert capfd.readouterr() == ("", "")
    assert len({_call(os.fork) for _ in range(3)} - {0}) == 3


def test_the_working_directory_and_the_path_are_those_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("somewhere else")
    assert _call(lambda: (Path.cwd(), sys.path)) == (tmp_path, sys.path)


def test_an_interrupt_ends_the_call_and_the_next_one_works() -> None:
    def interrupt() -> None:
        os.kill(parent, signal.SIGINT)
        time.sleep(600)

    parent = os.getpid()
    with pytest.raises(KeyboardInterrupt):
        _call(interrupt)
    assert run_in_fresh_process(sum, [1, 2]) == 3


def test_what_is_interrupted_while_it_ends_late_calls_leaves_none_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Program) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Program, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_in_fresh_processes([(time.sleep, (1,))] * 2, seconds=0.2)
    monkeypatch.undo()
    assert run_in_fresh_processes([(int, ("3",))] * 2, seconds=60) == [3, 3]


def test_nothing_is_left_when_this_process_is_killed(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    code = (
        "import os, time\n"
        "from attacklab.processes.fresh import run_in_fresh_processes\n"
        "def hang():\n"
        f"    open({str(noted)!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}\\n')\n"
        "    time.sleep(600)\n"
        "run_in_fresh_processes([(hang, ())], seconds=60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:  # noqa: S603
        assert wait_until(lambda: noted.exists() and noted.read_text().endswith("\n"))
        parent.kill()
    pids = [int(pid) for pid in noted.read_text().split()]
    assert len(pids) == 2
    assert ends(*pids)
