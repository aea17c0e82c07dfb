"""Targets, answers and options that nobody would write: no command may crash, mislead or destroy a file."""

# ruff: noqa: E501 - programs and values, one a line

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.system.attacklab.cli.forked import Done, run
from tests.system.attacklab.processes.looking import numbers, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks there")

OK, REFUTED, FAILED = 0, 1, 2
PASSES = {"not detected", "proved", "proved with slack"}
LAWS = {"exact_law", "certificate"}


def status_of(record: bytes) -> int:
    """The status that the findings of a record call for, by the words of the README."""
    findings = json.loads(record, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))["findings"]
    verdicts = {finding["verdict"] for finding in findings}
    if any(finding["verdict"] == "violated" for finding in findings):
        return REFUTED
    unproved = any(finding["attack"] in LAWS and finding["verdict"] == "inconclusive" for finding in findings)
    return FAILED if "error" in verdicts or unproved or not verdicts & (PASSES | {"violated"}) else OK


def faults(done: Done, statuses: Sequence[int], *, record: bool) -> Iterator[str]:
    """What is wrong with the end of a command whose record goes to standard output, or nowhere."""
    if done.returncode not in statuses:
        yield f"it ends in {done.returncode}, not in one of {statuses}"
    if b"Traceback (most recent call last)" in done.stderr + done.stdout:
        yield "it ends in a traceback"
    if re.search(rb"/attacklab/.*Warning: ", done.stderr):
        yield "a warning of Python's is shown"
    if re.search(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]", done.stderr):
        yield "standard error has control characters"
    if done.returncode == FAILED and not (done.stderr + done.stdout).strip():
        yield "it fails and says nothing"
    if record and done.stdout and (right := status_of(done.stdout)) != done.returncode:
        yield f"it ends in {done.returncode}, but its record says {right}"
    if record and not done.stdout and done.returncode in (OK, REFUTED):
        yield "it has no record"


def left_running(folder: Path) -> list[str]:
    """The processes that still run in a folder 5 s after a command there."""

    def running() -> list[str]:
        return [pid for pid in numbers("/proc") if _place(pid) == str(folder)]

    return [] if wait_until(lambda: not running(), 5.0) else running()


def _place(pid: str) -> str:
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/{pid}/cwd").readlink())
    return ""


BEFORE = """
import asyncio, decimal, math, os, random, signal, subprocess, sys, threading, types, warnings
import numpy as np

def values(answer, trials, rng):
    '''Two-sided geometric noise, which keeps ε = 1 on integers.'''
    stop = -math.expm1(-1.0)
    noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
    return [int(answer) + int(step) for step in noise]

"""
NOISE = "--kind noise --epsilon 1.0 --domain integers,-1000..1000"
CALLED = "return values(answer, trials, rng)"


def release(body: str) -> str:
    return f"def release(answer, trials, rng):\n    {body}\n"


TARGETS: dict[str, tuple[Sequence[str], Sequence[int]]] = {
    "one that works after odd code in its module": (
        [f"{code}\n{release(CALLED)}" for code in (
            "os.write(1, b'\\xff\\xfe{}\\n'); sys.stdout.close(); sys.argv.clear(); os.environ.clear()",
            "np.seterr(all='raise'); sys.setrecursionlimit(400); sys.excepthook = None; sys.unraisablehook = None",
            "sys.modules['codec'] = sys.modules['wire'] = types.ModuleType('x'); decimal.getcontext().prec = 1",
            "warnings.simplefilter('error'); random.seed(0); sys.set_int_max_str_digits(640); sys.stdout = None",
        )] + [release(f"{done}; {CALLED}") for done in (
            "os.chdir('/'); np.seterr(all='raise'); subprocess.run(['true'], check=True); sys.stdin.read()",
        )],
        (OK,),
    ),
    "one that cannot be loaded": (
        (
            "x = '\0'", "raise RuntimeError('\\x1b[31mred\\n::error::gone\\u202e')", "os._exit(0)",
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "release = 3",
            "raise MemoryError", "def release(answer, trials): return [answer] * trials", "def f(): f()\nf()",
            "def release(): return {'kind': 'noise', 'release': values, 'epsilon': 1.0, 'delta': ''}",
        ),
        (FAILED,),
    ),
    "one without outputs": (
        [release(body) for body in (
            "raise type('PanicException', (BaseException,), {})('\\x1b[2J')", "os._exit(1)",
            "os.kill(os.getpid(), signal.SIGSEGV)", "return [1.0] * (trials + 1)",
            "raise type('Silent', (Exception,), {'__str__': lambda self: 1 / 0})", "return None", "return (sys.exit(0) for _ in range(trials))",
        )],
        (FAILED,),
    ),
    "one with outputs of another form, or that finds no more modules": (
        [f"sys.path.clear()\n{release(CALLED)}"] + [release(f"return [{form} for v in values(answer, trials, rng)]") for form in (
            "{'a': {'b': [v, None]}, (1, 2): v}", "[v, float(v), True, None][v % 4]", "np.array([v, 2])", "frozenset([v])",
        )],
        (OK, FAILED),
    ),
    "one without noise": (
        [release(f"return [{form} for v in [int(answer)] * trials]") for form in ("{v, -1}", "math.nan if v % 2 else float(v)")],
        (REFUTED,),
    ),
    "one whose outputs depend on nothing": (
        [release(f"return [{made} for _ in range(trials)]") for made in (
            "type('T', (), {'__eq__': lambda *_: 1 / 0, '__hash__': None})()", "(lambda row: row.append(row) or row)([])",
            "threading.Lock()",
        )],
        (OK, FAILED),
    ),
}  # fmt: skip
"""Modules of targets, and the statuses that are right for each of them."""

DATASETS = (
    ("sum", "answer[:] = 0 * np.asarray(answer)\n    return rng.normal(size=trials)", (OK, FAILED)),
    ("selection", "return [None] * trials", (OK, FAILED)),
    ("selection", "return [int(np.argmax(answer))] * trials", (REFUTED,)),
)


def judged(folder: Path, code: str, options: str, statuses: Sequence[int], name: str = "target.py") -> list[str]:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(BEFORE + code, "utf-8", errors="surrogateescape")
    (folder / "temporary").mkdir(exist_ok=True)
    files = sorted(folder.rglob("[!.]*.*"))
    words = f"audit {options} --trials 200 --json - -- '{name}:release'"
    done = run(folder, *shlex.split(words), env={"TMPDIR": str(folder / "temporary")})
    told = [*faults(done, statuses, record=True), *map(str, (folder / "temporary").iterdir())]
    told += [f"process {pid} is left" for pid in left_running(folder)]
    told += [f"{path} is new" for path in folder.rglob("[!.]*.*") if path not in files and path.suffix != ".pyc"]
    return [f"{code}: {fault}\n{done.stderr.decode('utf-8', 'replace')[-2000:]}" for fault in told]


ENDING = re.compile(r"os\._exit|SIGSEGV")
"""Whoever ends the process of a command ends the command; so these run in one of their own."""


@pytest.mark.parametrize("family", TARGETS)
def test_an_unusual_target_ends_in_the_status_of_what_was_found(family: str, tmp_path: Path) -> None:
    codes, statuses = TARGETS[family]
    attack = "black_box" if family == "one without noise" else "precision"
    names = itertools.cycle(("target.py", "größe.py", "a b/c.py", "types.py", "-x.py"))
    told = [
        fault
        for isolated in ("", "--isolate --seconds 10")
        for code in codes
        if isolated or not ENDING.search(code)
        for fault in judged(tmp_path, code, f"{NOISE} --attack {attack} {isolated}", statuses, next(names))
    ]
    assert not told, "\n".join(told)


def test_an_unusual_target_of_another_kind_does_too(tmp_path: Path) -> None:
    told = []
    for kind, body, statuses in DATASETS:
        bounds = "" if kind == "selection" else "--lower 0 --upper 1"
        told += judged(tmp_path, release(body), f"--kind {kind} --epsilon 1 {bounds} --attack black_box", statuses)
    assert not told, "\n".join(told)


TARGETS_OF_OPTIONS = """
import math

def sound(answer, trials, rng):
    stop = -math.expm1(-1.0)
    noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
    return [int(answer) + int(step) for step in noise]

def coin(input_, bits):
    return bits.take(1)

class Mechanism:
    def randomise(self, value):
        import random
        return value + random.choice((-1, 1))

mechanism = Mechanism()
"""
FILES = {
    "targets.py": TARGETS_OF_OPTIONS, "notes.txt": "mine\n", "mine.json": '{"mine": 1}\n', "list.json": "[1, 2]\n",
    "broken.json": '{"schema": "attacklab/1", "findings": [', "record.json": '{"schema": "attacklab/1", "findings": []}\n',
    "pairs.json": '[{"first": 0, "second": 1, "relation": null}]\n', "folder/inside.txt": "mine\n",
}  # fmt: skip
RELEASE = "audit targets.py:sound --trials 100 --attack generator_seed"
AUDIT = f"{RELEASE} --kind noise --domain integers,-9..9"
PROVE = "prove targets.py:coin --kind noise --epsilon 1 --seconds 3"
LINES = (
    f"{RELEASE} --kind sum --epsilon 1 --lower '' --upper 1", f"{RELEASE} --kind noise --epsilon 1 --domain nan..1",
    f"{RELEASE} --kind noise --epsilon 1 --domain '{{\"shape\": {{}}}}'", "audit --exec '\x1b[2J' --kind noise --epsilon 1",
    *(f"{AUDIT} --mu {value}" for value in ("9" * 400, "-inf", "5e-324", "१")),
    *(f"{AUDIT} --epsilon 1 {option}" for option in (
        "--html broken.json", "--html loop.json", "--html /dev/stdin", f"--sarif {'x' * 300}", "--sarif /proc/self/x",
        "--sarif mine.json", "--pairs folder", "--isolate --seconds ''", "--isolate --seconds nan",
        "--sensitivity '' --pairs /dev/null", "--isolate --seconds ٣", "--rho 1_0 --pairs list.json",
    )),
    *(f"{PROVE} {inputs}" for inputs in (
        "--inputs '\"x\"'", "--inputs 3..0", "--first 'up to 99 of 0..99' --second 1", "--first nan --second 1",
        "--domain 0.5..0.5,integers --inputs 99 --second 1",
    )),
)  # fmt: skip
"""Commands with one odd value each, and what it needs to be reached."""
OTHERS = (
    "challenge check",
    "audti",
    "vectors write nowhere.json --exec '' --seconds 1",
    "audit builtins:exit --kind noise",
)


def test_an_unusual_option_is_told_and_destroys_no_file(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "loop.json").symlink_to("loop.json")
    told = []
    for line in (*(f"{line} --json -" for line in LINES), *OTHERS):
        done = run(tmp_path, *shlex.split(line))
        told += [
            f"{line[:400]}: {fault}\n{done.stderr!r}"
            for fault in faults(done, (OK, REFUTED, FAILED), record="--json" in line)
        ]
        told += [
            f"{line[:400]}: {name} was changed"
            for name, text in FILES.items()
            if (tmp_path / name).read_text() != text and name != "record.json"
        ]
    assert not told, "\n".join(told)
