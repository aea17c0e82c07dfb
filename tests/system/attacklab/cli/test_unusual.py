"""Targets, answers and options that nobody would write: no command may crash, mislead or destroy a file."""

# ruff: noqa: E501 - programs and values, one a line

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from attacklab.cli import supervised
from tests.system.attacklab.cli.forked import Done, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks there")

OK, REFUTED, FAILED = 0, 1, 2
PASSES = {"not detected", "proved", "proved with slack"}
LAWS = {"exact_law", "certificate"}


def status_of(record: bytes) -> int:
    """The status that the findings of a record call for, by the words of the README."""
    findings = json.loads(record, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))["findings"]
    verdicts = {finding["verdict"] for finding in findings}
    if any(finding["verdict"] == "violated" and finding["severity"] == "claim" for finding in findings):
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


BEFORE = """
import asyncio, atexit, builtins, collections, datetime, decimal, fractions, gc, itertools, math, os, random, signal
import sys, threading, time, types, warnings
import numpy as np

def values(answer, trials, rng):
    '''Two-sided geometric noise, which keeps ε = 1 on integers.'''
    stop = -math.expm1(-1.0)
    noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
    return [int(answer) + int(one) for one in noise]

"""
CALLED = "return values(answer, trials, rng)"

HARMLESS = (
    "print('loading ' * 50)", "os.write(1, b'\\xff\\xfe{}\\n')", "atexit.register(print, 'goodbye')", "os.chdir('/')",
    "np.seterr(all='raise')", "warnings.simplefilter('error')", "np.seterr(all='call'); np.seterrcall(lambda *_: 1 / 0)",
    "decimal.getcontext().prec = 1; decimal.getcontext().traps[decimal.Inexact] = True",
    "sys.stdout.close()", "sys.stdout = None", "sys.argv.clear()", "os.environ.clear()", "sys.path.clear()",
    "signal.signal(signal.SIGINT, signal.SIG_IGN)", "np.set_printoptions(precision=3, threshold=1)",
    "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", "gc.disable()", "builtins.print = None",
    "sys.settrace(lambda *_: None)", "sys.excepthook = None; sys.unraisablehook = None", "sys.set_int_max_str_digits(640)",
    "sys.modules['codec'] = sys.modules['wire'] = sys.modules['targets'] = types.ModuleType('x')",
    "größe = 'ε ≥ 1'; print(größe)", "sys.setrecursionlimit(400)",
)  # fmt: skip
"""Module-level code after which a target works as before."""

UNLOADABLE = (
    "def release(:", "  x = 1\n y = 2", "x = '\0'", "raise Exception", "raise RuntimeError('\\x1b[31mred\\n::error::gone\\u202e')",
    "sys.exit(0)", "sys.exit(1)", "sys.exit('goodbye')", "os._exit(0)", "os._exit(1)", "os.kill(os.getpid(), signal.SIGKILL)",
    "import nothing_of_this_name", "from target import release", "raise type('PanicException', (BaseException,), {})('out of bounds')",
    "raise asyncio.CancelledError", "raise GeneratorExit", "def f(): f()\nf()", "raise MemoryError", "raise StopIteration",
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "raise ExceptionGroup('many', [ValueError(1)])",
    "release = 3", "release = None", "release = math", "def __getattr__(name): raise RuntimeError(name)", "def release(): return 1",
    "def release(answer, trials, rng, more): return [answer] * trials", "def release(*, answer): return 1", "class release: pass",
)  # fmt: skip
"""Modules without a target that could be loaded."""

FAILING = (
    *(f"raise {error}" for error in (
        "Exception", "KeyError(())", "MemoryError", "RecursionError", "StopIteration(3)", "SystemExit(0)", "GeneratorExit",
        "asyncio.CancelledError", "OSError(28, 'full', 'x' * 300)", "ExceptionGroup('many', [ValueError(1)])", "BrokenPipeError",
        "type('PanicException', (BaseException,), {})('\\x1b[2J')", "AssertionError('\\n::error::gone')", "EOFError",
        "type('Silent', (Exception,), {'__str__': lambda self: 1 / 0})",
    )),
    "os._exit(0)", "os._exit(1)", "os._exit(130)", "os.kill(os.getpid(), signal.SIGSEGV)", "os.abort()",
    "return None", "return 1.0", "return 'x' * trials", "return dict.fromkeys(range(trials), 1.0)", "return set(range(trials))",
    "return [1.0] * (trials - 1) if trials > 1 else []", "return [1.0] * (trials + 1)", "return np.zeros((0, 5))",
    "return itertools.count()", "return (1 / 0 for _ in range(trials))", "return np.array(1.0)", "return release",
    "return np.ma.masked_array(np.zeros(trials), np.ones(trials))", "return (sys.exit(0) for _ in range(trials))",
    "return type('T', (), {'__array__': lambda *_, **__: np.zeros(trials + 1)})()",
)  # fmt: skip
"""Bodies of releases that give no outputs on any input: always an error."""

FORMS = (
    "float(v)", "np.float32(v)", "f'count {v}'", "'\\N{GRINNING FACE}' + chr(0x370 + v % 50)", "str(v).encode()", "(v, 0.0)",
    "[[v], [[v]]]", "[v] * (v % 3)", "{v, -1}", "frozenset([v])", "{'a': {'b': [v, None]}}", "{v: 1, 'x': None, (1, 2): v}",
    "complex(v, 1)", "fractions.Fraction(v, 7)", "decimal.Decimal(v)", "np.array([v, 2])", "np.zeros(v % 2)",
    "collections.namedtuple('Row', 'n')(v)", "types.SimpleNamespace(n=v)", "None if v > 0 else True", "10**500 + v", "range(v % 5)",
    "datetime.date(2000, 1, 1 + v % 20)", "np.datetime64(v, 'D')", "np.array([(v, 1.0)], dtype='i8,f8')[0]",
    "[v, float(v), True, None][v % 4]", "math.nan if v % 2 else float(v)", "-0.0 if v % 2 else 0.0", "5e-324 * (v % 4)",
)  # fmt: skip
"""Forms of an output, made of an integer `v`; each tells v apart modulo 2 at least."""

CONTAINERS = ("list({})", "tuple({})", "(one for one in {})", "np.fromiter({}, dtype=object, count=trials)")

BLUNT = (
    "object()", "lambda: None", "iter([1])", "None", "math", "type('T', (), {'__eq__': lambda *_: 1 / 0, '__hash__': None})()",
    "type('T', (), {'__repr__': lambda self: 1 / 0})()", "type('T', (), {'__array__': lambda *_, **__: 1 / 0})()",
    "type('T', (), {'__class__': property(lambda self: int)})()", "type('T', (), {'__getattr__': lambda self, name: self})()",
    "(lambda one: one.append(one) or one)([])", "threading.Lock()", "ValueError('no')", "...", "'\\ud800'", "np.ma.masked",
)  # fmt: skip
"""Outputs that depend on nothing, so no claim is broken, whether or not they are understood."""

DATASETS = (
    ("sum", "return [float(sum(answer))] * trials", (REFUTED,)),
    ("mean", "return [list(answer[:9])] * trials", (REFUTED,)),
    ("sum", "answer[:] = 0 * np.asarray(answer)\n    return rng.normal(size=trials)", (OK, FAILED)),
    ("selection", "return [None] * trials", (OK, FAILED)),
    ("selection", "return [int(np.argmax(answer))] * trials", (REFUTED,)),
    ("selection", "return [10**30] * trials", (OK, FAILED)),
)


def release(body: str) -> str:
    return f"def release(answer, trials, rng):\n    {body}\n"


def formed(noise: str) -> list[str]:
    bodies = []
    for place, form in enumerate(FORMS):
        made = CONTAINERS[place % len(CONTAINERS)].format(f"[{form} for v in {noise}]")
        bodies.append(release(f"return {made}"))
    return bodies


NOISE = "--kind noise --epsilon 1.0 --domain integers,-1000..1000"
TARGETS: dict[str, tuple[list[str], Sequence[int]]] = {
    "harmless": ([f"{code}\n{release(CALLED)}" for code in HARMLESS], (OK,)),
    "unloadable": ([f"{code}\n" for code in UNLOADABLE], (FAILED,)),
    "failing": ([release(body) for body in FAILING], (FAILED,)),
    "formed": (formed("values(answer, trials, rng)"), (OK, FAILED)),
    "noiseless": (formed("[int(answer)] * trials"), (REFUTED,)),
    "blunt": ([release(f"return [{made} for _ in range(trials)]") for made in BLUNT], (OK, FAILED)),
}
"""Modules of targets, and the statuses that are right for each of them."""


def judged(folder: Path, code: str, options: str, statuses: Sequence[int]) -> list[str]:
    (folder / "target.py").write_text(BEFORE + code, "utf-8", errors="surrogateescape")
    (folder / "temporary").mkdir(exist_ok=True)
    words = f"audit target.py:release {options} --trials 200 --attack precision --attack integer_cast --json -"
    done = run(folder, *shlex.split(words), env={"TMPDIR": str(folder / "temporary")}, main=supervised.main)
    told = [*faults(done, statuses, record=True), *map(str, (folder / "temporary").iterdir())]
    return [f"{code}: {one}\n{done.stderr.decode('utf-8', 'replace')[-2000:]}" for one in told]


def spread(items: Sequence[object], part: int) -> list[object]:
    """A third of a table: its rows in turn go to the parts 0, 1 and 2."""
    return list(items[part::3])


@pytest.mark.few(3)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("family", TARGETS)
def test_an_unusual_target_ends_in_the_status_of_what_was_found(family: str, part: int, tmp_path: Path) -> None:
    codes, statuses = TARGETS[family]
    attacks = "--attack black_box" if family == "noiseless" else ""
    found = [one for code in spread(codes, part) for one in judged(tmp_path, str(code), f"{NOISE} {attacks}", statuses)]
    assert not found, "\n".join(found)


@pytest.mark.ci
def test_an_unusual_target_of_another_kind_does_too(tmp_path: Path) -> None:
    found = []
    for kind, body, statuses in DATASETS:
        bounds = "" if kind == "selection" else "--lower 0 --upper 1"
        found += judged(tmp_path, release(body), f"--kind {kind} --epsilon 1 {bounds} --attack black_box", statuses)
    assert not found, "\n".join(found)


PROGRAM = """
import json, os, random, signal, sys, time
out = sys.stdout.buffer

def text(outputs):
    return json.dumps({"outputs": outputs}).encode() + b"\\n"

for line in sys.stdin:
    request = json.loads(line)
    n, drawn = request["trials"], random.Random(request["seed"])
    noise = [int(drawn.random() < 0.5) for _ in range(n)]
    answer = text(noise)
    BODY
    out.write(answer)
    out.flush()
"""

GARBAGE = (
    "answer = b'\\n'", "answer = b'hello\\n'", "answer = bytes(range(256)) + b'\\n'", "answer = b'\\xef\\xbb\\xbf' + answer",
    "answer = b'[1, 2]\\n'", "answer = b'{}\\n'", "answer = text(noise[1:])", "answer = text(noise + [1])", "answer = answer[:-9] + b'\\n'",
    "answer = text([float('nan')] * n)", "answer = text([0.5] * n)", "answer = b'{\"outputs\": ' + b'[' * 200_000 + b']' * 200_000 + b'}\\n'",
    "answer = text([{}] * n)", "answer = text(['0.5'] * n)", "answer = text(['\\u0663'] * n)", "answer = answer * 2",
    "answer = b'{\"binary\": \"f8\", \"count\": 1000000000000000000}\\n'", "answer = b'{\"error\": \"\\\\u001b[31mno\\\\n::error::gone\"}\\n'",
    "answer = json.dumps({'values': [{'text': 'x', 'set': []}] * n}).encode() + b'\\n'", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGSEGV)",
    "out.write(answer[:5]); out.flush(); os._exit(1)", "os.killpg(0, signal.SIGKILL)", "time.sleep(60)", "os.kill(os.getpid(), signal.SIGSTOP)",
)  # fmt: skip
"""Answers that are none, to any request: always an error."""

ODD_ANSWERS = (
    "sys.stderr.write('x' * 300_000)", "sys.stderr.buffer.write(b'\\xff\\xfe\\x1b[31m')", "answer = b'  ' + answer.replace(b',', b' ,  ')",
    "answer = answer[:-1] + b'\\r\\n'", "answer = text([None if one else 0 for one in noise])", "answer = text([[one] * (one + 1) for one in noise])",
    "answer = json.dumps({'values': [10**40 + one for one in noise]}).encode() + b'\\n'", "answer = text([float(one).hex() for one in noise])",
    "import array; answer = b'{\"binary\": \"f8\", \"count\": %d}\\n' % n + array.array('d', noise).tobytes()",
    "out.write(answer); out.flush(); sys.exit(0)",
)  # fmt: skip
"""Unusual answers whose outputs depend on nothing but noise, if they are understood."""


@pytest.mark.few(1)
@pytest.mark.parametrize("part", range(3))
def test_an_unusual_program_ends_in_the_status_of_what_was_found(part: int, tmp_path: Path) -> None:
    found = []
    rows = [(body, (FAILED,)) for body in GARBAGE] + [(body, (OK, FAILED)) for body in ODD_ANSWERS]
    words = "audit --exec 'python3 -S -E program.py' --kind noise --epsilon 1.0 --domain integers,-50..50 --trials 200"
    for body, statuses in rows[part::3]:
        (tmp_path / "program.py").write_text(PROGRAM.replace("BODY", body), "utf-8")
        done = run(tmp_path, *shlex.split(f"{words} --seconds 1.5 --attack precision --json -"))
        found += [f"{body}: {one}\n{done.stderr!r}" for one in faults(done, statuses, record=True)]
    assert not found, "\n".join(found)


TARGETS_OF_OPTIONS = """
import math

def sound(answer, trials, rng):
    stop = -math.expm1(-1.0)
    noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
    return [int(answer) + int(one) for one in noise]

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
NUMBERS = ("0", "-1", "5e-324", "1e308", "1e309", "-inf", "nan", "", "0x1p-3", "१", "--", "1,5", "9" * 400)
INTEGERS = ("0", "-1", "2", "1.0", "1e3", "", "x", "9" * 30, str(2**63), str(2**64), "nan", "٣")
WRITTEN = (
    "", ".", "folder", "folder/", "notes.txt", "mine.json", "list.json", "broken.json", "loop.json", "targets.py", "/dev/null",
    "/dev/full", "/dev/stderr", "notes.txt/x", "x" * 300, "/proc/self/x", "/dev/stdin", "/",
)  # fmt: skip
READ = (
    "",
    "-",
    "nowhere.json",
    "folder",
    "notes.txt",
    "mine.json",
    "broken.json",
    "record.json",
    "pairs.json",
    "/dev/null",
    "loop.json",
)
VALUES: dict[str, Sequence[str]] = {
    **dict.fromkeys(("--epsilon", "--delta", "--rho", "--mu", "--sensitivity", "--lower", "--upper", "--alpha", "--seconds"), NUMBERS),
    **dict.fromkeys(("--trials", "--seed", "--memory"), INTEGERS),
    **dict.fromkeys(("--sarif", "--html", "--resume"), WRITTEN),
    "--rdp": ("2,1", "1,1", "2", "2,", ",", "nan,1", "2,inf", "2,-1", "inf,1", "2,1,3", "x,y", ""),
    "--workers": ("0", "-1", "x", "", "1.5"), "--kind": ("sum", "mean", "dataset", "", "Noise", "x"), "--relation": ("node", "", "x"),
    "--domain": (
        "floats", "1..0", "", ",", "nonsense", "0..", "..", "nan..1", "inf..inf", "0..1e400", "{}", "null", '{"integers": true}',
        "[" * 5000, "-5..5,finite", '{"shape": {}}', "5..5",
    ),
    "--pairs": READ, "--attack": ("", "x", "Precision", "\u202e"), "--in-env": ("", "nowhere", "folder", "/bin/true", "/dev/null"),
    "--exec": ("", "true", "false", "'", "nowhere", "./targets.py", "folder", "cat", "echo {}", "\x1b[2J"),
}  # fmt: skip
NAMES = (
    "", ":", "targets.py", "targets.py:", ":sound", "targets.py:nothing", "nowhere.py:x", "folder:x", "notes.txt:x", "os:path",
    "sys:exit", "os:_exit", "targets.py:mechanism.nothing", "targets.py:Mechanism", "targets.py:math.pi", "targets.py:..",
    "nolib:x", "targets:sound", "targets.py:größe", "targets.py:sound:sound", "a" * 5000, "/dev/null:x",
)  # fmt: skip
INPUTS = (
    "nan",
    "",
    "[",
    "[" * 9000,
    "{}",
    '"x"',
    "null",
    "[1,[2]]",
    "9" * 5000,
    "up to 99 of 0..99",
    "0..9999999999",
    "3..0",
    "up to 2 of",
    "0,0",
)
OTHERS = (
    "explain ''", "explain ../x", "list x", "run x", "run --seed -1", "calibrate x", "calibrate laplace_scale os:path",
    "calibrate laplace_scale --exec cat --seconds nan", "vectors check mine.json --exec cat", "vectors x", "audti", "-x", "ε", "''",
    "poc mine.json", "poc folder", "reports", "demo x", "challenge check", "audit --help targets.py:sound",
)  # fmt: skip


def option_lines() -> list[list[str]]:
    """Commands with one odd value each, and what it needs to be reached."""
    usual = {
        "--kind": "noise",
        "--epsilon": "1",
        "--trials": "100",
        "--attack": "generator_seed",
        "--domain": "integers,-9..9",
    }
    lines = []
    for option, values in VALUES.items():
        fitted = {
            name: value
            for name, value in usual.items()
            if not (name == "--epsilon" and option in ("--rho", "--mu", "--rdp"))
        }
        if option in ("--lower", "--upper"):
            fitted = {**fitted, "--kind": "sum", "--lower": "0", "--upper": "1"}
            del fitted["--domain"]
        isolated = ["--isolate"] if option in ("--seconds", "--memory") else []
        target = [] if option == "--exec" else ["targets.py:sound"]
        for value in values:
            words = [word for pair in {**fitted, option: value}.items() for word in pair]
            lines.append(["audit", *target, *words, *isolated, "--json", "-"])
    claimed = ["--kind", "noise", "--epsilon", "1"]
    lines += [["audit", name, *claimed, "--trials", "100", "--attack", "precision", "--json", "-"] for name in NAMES]
    lines += [
        ["prove", "targets.py:coin", *claimed, "--seconds", "3", "--inputs", value, "--json", "-"] for value in INPUTS
    ]
    lines += [
        ["prove", "targets.py:coin", *claimed, "--first", value, "--second", "1", "--json", "-"] for value in INPUTS
    ]
    return lines + [shlex.split(line) for line in OTHERS]


@pytest.mark.few(1)
@pytest.mark.parametrize("part", range(16))
def test_an_unusual_option_is_told_and_destroys_no_file(part: int, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "loop.json").symlink_to("loop.json")
    found = []
    lines = option_lines()
    Random(5).shuffle(lines)
    for words in lines[part::16]:
        done = run(tmp_path, *words)
        record = "--json" in words
        found += [
            f"{shlex.join(words)[:400]}: {one}\n{done.stderr!r}"
            for one in faults(done, (OK, REFUTED, FAILED), record=record)
        ]
        for name, text in FILES.items():
            if (tmp_path / name).read_text() != text and name != "record.json":
                found.append(f"{shlex.join(words)[:400]}: {name} was changed")
    assert not found, "\n".join(found)
