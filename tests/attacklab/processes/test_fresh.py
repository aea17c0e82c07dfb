"""A call in another process: what differs there, what can be sent, how it ends, and that nothing is left behind."""

from __future__ import annotations

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

from attacklab import elsewhere as module
from attacklab.errors import LabFault
from attacklab.laws.errors import LawError, NeverEnds
from attacklab.processes.fresh import CannotBeSent, NoAnswer, elsewhere
from tests.conftest import PRELOADED

_calls = 0


@pytest.fixture(scope="module", autouse=True)
def _zygote_as_users_have_it() -> Iterator[None]:
    module._zygote.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_START", module._START.replace(PRELOADED, ""))
        yield
    module._zygote.close()


def _counted(value: int) -> int:
    global _calls
    _calls += 1
    return value + _calls


class _Adder:
    def __init__(self, first: int) -> None:
        self.first = first

    def add(self, second: int) -> int:
        return self.first + second

    __call__ = add


def _call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """As the library does it: an importable function, with a user's among the arguments."""
    return elsewhere(operator.call, function, *arguments, **options)


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
        "def red(): return {Colour.RED: 1}\n"
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
    assert elsewhere(os.getpid) != os.getpid()
    assert elsewhere(hash, "a string") != hash("a string")
    assert elsewhere(random.getrandbits, 64) != random.getrandbits(64)
    assert elsewhere(np.random.bytes, 8) != np.random.bytes(8)
    assert _call(lambda: np.random.get_state()[1].tolist()) != np.random.get_state()[1].tolist()


@pytest.mark.ci
def test_a_hash_seed_that_this_process_was_given_is_not_used_there() -> None:
    code = "from attacklab.processes.fresh import elsewhere; print(elsewhere(hash, 'a') == hash('a'))"
    for seed in ("0", "1", "2"):
        done = _python(code, env={**os.environ, "PYTHONHASHSEED": seed})
        assert done.stdout == "False\n"


def test_each_call_finds_the_state_of_a_fresh_import() -> None:
    _counted(0)
    assert [elsewhere(_counted, 10) for _ in range(3)] == [11, 11, 11]


def test_functions_of_every_kind_can_be_sent(from_file: ModuleType) -> None:
    offset = 3
    assert _call(lambda value: value + offset, 1) == 4
    assert _call(functools.partial(pow, 2), 5) == 32
    assert _call(_Adder(2).add, 3) == 5
    assert _call(_Adder(2), 3) == 5
    assert _call(math_floor := __import__("math").floor, 2.5) == math_floor(2.5)
    assert _call(from_file.shifted, 1) == 6


def test_a_module_is_imported_there_only_if_that_finds_the_same_file(tmp_path: Path, from_file: ModuleType) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "someones_noise.py").write_text("def shifted(value): return 'another file'")
    sys.path.insert(0, str(tmp_path / "other"))
    try:
        assert _call(from_file.shifted, 1) == 6
    finally:
        sys.path.remove(str(tmp_path / "other"))


def test_what_is_sent_by_value_is_what_the_module_holds_now(from_file: ModuleType) -> None:
    from_file.OFFSET = 7
    assert _call(from_file.shifted, 1) == 8


def test_a_result_has_the_types_that_it_would_have_here(from_file: ModuleType) -> None:
    result = (True, 1, 1.0, -0.0, Fraction(1, 3), mpq(1, 3), np.int64(1), (b"x", None), frozenset({2}))
    got = _call(lambda: result)
    assert [type(one) for one in got] == [type(one) for one in result]
    assert repr(got) == repr(result)
    assert _call(from_file.red) == {from_file.Colour.RED: 1}
    plain = _call(from_file.plain)
    assert type(plain) is from_file.Plain
    assert plain.value is from_file.Colour.RED


def test_a_local_class_comes_back_as_itself() -> None:
    class Side(enum.Enum):
        LEFT = "left"

    assert _call(lambda: Side.LEFT) is Side.LEFT


@pytest.mark.parametrize("thing", [threading.Lock(), (value for value in ()), sys.stderr])
def test_what_cannot_be_sent_is_named_with_the_reason(thing: object) -> None:
    def sampler() -> object:
        return thing

    with pytest.raises(CannotBeSent) as caught:
        _call(sampler)
    assert str(caught.value).startswith(f"{sampler.__qualname__} cannot be sent to another process: cannot pickle ")
    assert "\n" not in str(caught.value)


def test_a_result_that_cannot_be_sent_back_is_refused() -> None:
    with pytest.raises(CannotBeSent, match=r"^what call returned cannot be sent to another process: cannot pickle"):
        _call(lambda: threading.Lock())


def test_a_function_whose_module_fails_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "only_here.py"
    path.write_text(f"import os\nif os.getpid() != {os.getpid()}: raise OSError('not twice')\ndef draw(): return 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(CannotBeSent, match=r"^a function cannot be loaded elsewhere: OSError: not twice$"):
        _call(importlib.import_module("only_here").draw)


def test_the_errors_of_the_lab_come_back_as_themselves() -> None:
    def fail() -> None:
        raise NeverEnds("three loops\nand no end")

    with pytest.raises(NeverEnds) as caught:
        _call(fail)
    assert type(caught.value) is NeverEnds
    assert str(caught.value) == "three loops\nand no end"
    assert isinstance(caught.value, LawError)
    assert any("in fail" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(("error", "told"), [(KeyError("gone"), "KeyError: 'gone'"), (SystemExit(3), "SystemExit: 3")])
def test_any_other_error_is_told_in_one_line(error: BaseException, told: str) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(LabFault) as caught:
        _call(fail)
    assert str(caught.value) == f"call raised in another process: {told}"


def test_a_call_that_ends_its_process_is_told_and_the_next_one_works() -> None:
    with pytest.raises(NoAnswer, match=r"^call ended its process \(exit status 7\)"):
        _call(os._exit, 7)
    with pytest.raises(NoAnswer, match=r"^call ended its process \(SIGSEGV\)"):
        _call(lambda: os.kill(os.getpid(), signal.SIGSEGV))
    with pytest.raises(NoAnswer, match=r"^call ended its process \(exit status 1\)"):
        _call(os.closerange, 3, 100)
    assert elsewhere(sum, [1, 2]) == 3


def test_a_late_call_is_killed_with_what_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pids"

    def hang() -> None:
        os.fork()
        with noted.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while True:
            time.sleep(1)

    start = time.monotonic()
    with pytest.raises(NoAnswer, match=r"^call did not end within 1 s in another process"):
        _call(hang, seconds=1)
    assert time.monotonic() - start < 5
    assert all(_is_gone(int(pid)) for pid in noted.read_text().split())
    assert elsewhere(sum, [1, 2]) == 3


def test_what_a_call_leaves_running_is_killed() -> None:
    def leave() -> int:
        child = os.fork()
        if not child:
            time.sleep(600)
        return child

    assert _is_gone(_call(leave))


def test_a_call_that_holds_the_interpreter_is_killed_too() -> None:
    with pytest.raises(NoAnswer):
        elsewhere(pow, 3, 10**10, seconds=0.2)


def test_what_a_call_prints_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    def say() -> str:
        print("by print")
        os.write(1, b"by the descriptor\n")
        print("an error", file=sys.stderr)
        return sys.stdin.read()

    assert _call(say) == ""
    out, err = capfd.readouterr()
    assert out == ""
    assert sorted(err.splitlines()) == ["an error", "by print", "by the descriptor"]


def test_the_working_directory_and_the_path_are_those_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("somewhere else")
    assert elsewhere(os.getcwd) == str(tmp_path)
    assert _call(lambda: sys.path) == sys.path


def test_large_arguments_and_results_are_sent_whole() -> None:
    large = np.arange(1 << 20)
    assert np.array_equal(elsewhere(np.negative, large), -large)


def test_threads_wait_for_each_other() -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda k=k: found.append(elsewhere(sum, [k, k]))) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 2, 4, 6]


def test_a_fork_of_this_process_has_a_zygote_of_its_own() -> None:
    zygote = elsewhere(os.getppid)
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writes, str(elsewhere(os.getppid)).encode())
            module._zygote.close()
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as answer:
        other = int(answer.read())
    os.waitpid(child, 0)
    assert other not in {zygote, child}
    assert _is_gone(other)
    assert elsewhere(os.getppid) == zygote


def test_a_zygote_that_was_killed_is_replaced() -> None:
    zygote = elsewhere(os.getppid)
    os.kill(zygote, signal.SIGKILL)
    module._zygote._process.wait()  # type: ignore[union-attr]
    assert elsewhere(os.getppid) != zygote
    assert _is_gone(zygote)


def test_an_interrupt_ends_the_call_and_the_next_one_works() -> None:
    def interrupt() -> None:
        os.kill(parent, signal.SIGINT)
        time.sleep(600)

    parent = os.getpid()
    with pytest.raises(KeyboardInterrupt):
        _call(interrupt)
    assert elsewhere(sum, [1, 2]) == 3


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["kill", "sys.exit", "os._exit"])
def test_nothing_is_left_when_this_process_ends(how: str) -> None:
    code = (
        "import os, sys, threading, time\n"
        "from attacklab.processes.fresh import elsewhere\n"
        "def hang():\n"
        "    os.write(2, f'{os.getppid()} {os.getpid()}\\n'.encode())\n"
        "    time.sleep(600)\n"
        "threading.Thread(target=elsewhere, args=(hang,), daemon=True).start()\n"
        "time.sleep(600)\n"
    )
    if how != "kill":
        code = (
            "import os, sys\n"
            "from attacklab.processes.fresh import elsewhere\n"
            "os.write(2, b'%d\\n' % elsewhere(os.getppid))\n"
            f"{how}(0)"
        )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as parent:  # noqa: S603
        assert parent.stderr is not None
        pids = [int(pid) for pid in parent.stderr.readline().split()]
        if how == "kill":
            parent.kill()
        rest = parent.stderr.read()
    assert pids
    assert all(_is_gone(pid) for pid in pids)
    assert rest == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_zygote_and_its_call_quietly(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LabFault, match=r"^the process for calls elsewhere does not answer"):
        _call(lambda: (os.kill(os.getppid(), number), time.sleep(600)))
    assert capfd.readouterr().err == ""
    assert elsewhere(sum, [1, 2]) == 3


def test_a_warm_call_is_fast() -> None:
    elsewhere(LawError, "warm")
    times = []
    for _ in range(9):
        start = time.monotonic()
        elsewhere(LawError, "warm")
        times.append(time.monotonic() - start)
    assert min(times) < 0.03


class TestWithoutFork:
    @pytest.fixture(autouse=True)
    def _no_fork(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(os, "fork")

    def test_calls_are_answered(self, from_file: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
        assert elsewhere(hash, "a string") != hash("a string")
        assert _call(lambda: print("printed") or from_file.Colour.RED) is from_file.Colour.RED
        assert capfd.readouterr() == ("", "printed\n")

    def test_calls_that_fail_are_told(self) -> None:
        with pytest.raises(NoAnswer, match="exit status 7"):
            _call(os._exit, 7)
        with pytest.raises(NoAnswer, match="did not end within 1 s"):
            _call(time.sleep, 600, seconds=1)
        with pytest.raises(LabFault, match="ZeroDivisionError"):
            _call(lambda: 1 // 0)


def _python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options)  # noqa: S603


def _is_gone(pid: int) -> bool:
    """Whether a process has ended within 5 s; one that nobody has waited for yet counts only if it is not ours."""
    for _ in range(500):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text() if Path("/proc/self").exists() else None
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        if stat is not None:
            state, parent = stat.rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) != os.getpid():
                return True
        time.sleep(0.01)
    return False
