"""Files of targets: what they do when they are imported, what they do when they are called, and what they return."""

# ruff: noqa: E501 - programs and values, one a line

from __future__ import annotations

import json
from random import Random

from tests.attacklab.cli.fuzz.cases import ANY, FAILED, NEVER_PASSED, NEVER_REFUTED, REFUTED, Case

IMPORTS = """
import asyncio, atexit, builtins, collections, dataclasses, datetime, decimal, enum, fractions, gc, itertools, math, os
import random, signal, sys, threading, time, types, warnings
import numpy as np
"""

SOUND = """
def values(answer, trials, rng):
    stop = -math.expm1(-1.0)
    noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
    return [int(answer) + int(one) for one in noise]
"""
"""Two-sided geometric noise, which keeps ε = 1 on integers."""

HARMLESS = {
    "nothing": "",
    "prints": "print('loading ' * 50)",
    "prints bytes": "os.write(1, b'\\xff\\xfe{}\\n')",
    "prints at the end": "atexit.register(print, 'goodbye')",
    "goes to the root": "os.chdir('/')",
    "numpy's errors raise": "np.seterr(all='raise')",
    "numpy calls back": "np.seterr(all='call'); np.seterrcall(lambda *_: 1 / 0)",
    "warnings are errors": "warnings.simplefilter('error')",
    "a decimal context traps": "decimal.getcontext().prec = 1; decimal.getcontext().traps[decimal.Inexact] = True",
    "closes its output": "sys.stdout.close()",
    "has no output": "sys.stdout = None",
    "closes its error output": "sys.stderr = open(os.devnull, 'w')",
    "has no arguments": "sys.argv.clear()",
    "has no environment": "os.environ.clear()",
    "has no path": "sys.path.clear()",
    "ignores Ctrl-C": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "prints three digits": "np.set_printoptions(precision=3, threshold=1)",
    "has a daemon": "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
    "has a thread": "threading.Thread(target=time.sleep, args=(0.3,)).start()",
    "collects nothing": "gc.disable()",
    "seeds all": "random.seed(0); np.random.seed(0)",
    "overrides print": "builtins.print = None",
    "is traced": "sys.settrace(lambda *_: None)",
    "hides hooks": "sys.excepthook = None; sys.unraisablehook = None",
    "loads modules of our names": "sys.modules['cases'] = sys.modules['codec'] = sys.modules['wire'] = types.ModuleType('x')",
    "has a name of ours": "sys.modules['targets'] = types.ModuleType('targets')",
    "is Unicode": "größe = 'ε ≥ 1 \\N{GRINNING FACE}'; print(größe)",
    "has few digits": "sys.set_int_max_str_digits(640)",
    "recurses little": "sys.setrecursionlimit(400)",
}
"""Module-level code after which a target works as before."""

UNLOADABLE = {
    "is not Python": "def release(:",
    "is indented": "  x = 1\n y = 2",
    "has a zero byte": "x = '\0'",
    "raises": "raise ValueError('no')",
    "raises nothing in words": "raise Exception",
    "raises escapes": "raise RuntimeError('\\x1b[31mred\\n::error::gone\\u202e')",
    "exits with 0": "sys.exit(0)",
    "exits with 1": "sys.exit(1)",
    "exits in words": "sys.exit('goodbye')",
    "leaves": "os._exit(0)",
    "leaves with 1": "os._exit(1)",
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV)",
    "kills itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "imports what is not there": "import nothing_of_this_name",
    "imports itself": "from target import release",
    "asserts": "assert False, 'no'",
    "panics": "raise type('PanicException', (BaseException,), {})('index out of bounds')",
    "is cancelled": "raise asyncio.CancelledError",
    "is a closed generator": "raise GeneratorExit",
    "recurses": "def f(): f()\nf()",
    "has no memory": "raise MemoryError",
    "raises what has no text": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "raises what returns no text": "class E(Exception):\n    def __str__(self): return 3\nraise E",
    "raises a group": "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
    "stops an iteration": "raise StopIteration",
    "has no release": "del values",
    "has a number for a release": "release = 3",
    "has a text for a release": "release = 'x'",
    "has nothing for a release": "release = None",
    "has a module for a release": "release = math",
    "has a module that looks things up badly": "def __getattr__(name): raise RuntimeError(name)",
}
"""Module-level code after which there is no target: the status is 2, whatever else holds."""

SIGNATURES = {
    "takes nothing": "def release(): return 1",
    "takes two": "def release(answer, trials): return [answer] * trials",
    "takes four": "def release(answer, trials, rng, more): return [answer] * trials",
    "takes names": "def release(*, answer): return 1",
    "is a coroutine of four": "async def release(a, b, c, d): return 1",
    "is a class of none": "class release: pass",
}
"""Functions that can be called neither as a release nor with one value."""

EXCEPTIONS = (
    *("ValueError('no')", "Exception", "KeyError(())", "MemoryError", "RecursionError", "StopIteration(3)"),
    *("SystemExit(0)", "SystemExit(1)", "GeneratorExit", "asyncio.CancelledError", "OSError(28, 'full', 'x' * 300)"),
    *("type('PanicException', (BaseException,), {})('\\x1b[2J')", "ExceptionGroup('many', [ValueError(1)])"),
    *("BrokenPipeError", "UnicodeDecodeError('utf-8', b'x', 0, 1, 'no')", "np.exceptions.AxisError(1)", "TimeoutError"),
    *("AssertionError('\\n::error::gone')", "NotImplementedError", "FloatingPointError", "ModuleNotFoundError('x')"),
    *("type('Silent', (Exception,), {'__str__': lambda self: 1 / 0})", "Warning('x')", "EOFError", "NameError"),
)

ENDINGS = {
    "leaves": "os._exit(0)",
    "leaves with 1": "os._exit(1)",
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV)",
    "aborts": "os.abort()",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "leaves with 130": "os._exit(130)",
    "is alarmed": "signal.alarm(1); time.sleep(30)",
}

FORMS = {
    "a float": "float(v)",
    "a short float": "np.float32(v)",
    "an object of numpy's": "np.int16(v)",
    "a text": "f'count {v}'",
    "a text of another alphabet": "'\\N{GRINNING FACE}' + chr(0x370 + v % 50)",
    "bytes": "str(v).encode()",
    "a tuple": "(v, 0.0)",
    "a list": "[v, 0.0]",
    "a list in lists": "[[v], [[v]]]",
    "a ragged list": "[v] * (v % 3)",
    "a set": "{v, -1}",
    "a frozen set": "frozenset([v])",
    "a dict": "{'count': v}",
    "a dict in dicts": "{'a': {'b': [v, None]}}",
    "a dict of mixed keys": "{v: 1, 'x': None, (1, 2): v}",
    "a complex number": "complex(v, 1)",
    "a fraction": "fractions.Fraction(v, 7)",
    "a decimal number": "decimal.Decimal(v)",
    "an array": "np.array([v, 2])",
    "an empty array or one": "np.zeros(v % 2)",
    "a named tuple": "collections.namedtuple('Row', 'n')(v)",
    "a record": "types.SimpleNamespace(n=v)",
    "a truth": "v > 0",
    "a truth or nothing": "None if v > 0 else True",
    "a large integer": "10**40 + v",
    "a very large integer": "10**500 + v",
    "a range": "range(v % 5)",
    "a date": "datetime.date(2000, 1, 1 + v % 20)",
    "a date of numpy's": "np.datetime64(v, 'D')",
    "a structure": "np.array([(v, 1.0)], dtype='i8,f8')[0]",
    "numbers of several types": "[v, float(v), True, None][v % 4]",
    "an array of objects": "np.array([v, 'x', None], dtype=object)",
    "a deep list": "__import__('functools').reduce(lambda one, _: [one], range(60), v)",
    "a NaN or a number": "math.nan if v % 2 else float(v)",
    "an infinite number or none": "math.inf if v % 2 else float(v)",
    "a negative zero": "-0.0 if v % 2 else 0.0",
    "a subnormal number": "5e-324 * (v % 4)",
    "a long text": "'x' * (2_000 + v % 7)",
}
"""Forms that an output may have, made of an integer `v`; those that tell v apart modulo 2 at least."""

BLUNT = {
    "an object": "object()",
    "a function": "lambda: None",
    "an iterator": "iter([1])",
    "nothing": "None",
    "a type": "int",
    "a module": "math",
    "what compares badly": "type('T', (), {'__eq__': lambda *_: 1 / 0, '__hash__': None})()",
    "what prints badly": "type('T', (), {'__repr__': lambda self: 1 / 0})()",
    "what has a bad array": "type('T', (), {'__array__': lambda *_, **__: 1 / 0})()",
    "what has a bad length": "type('T', (), {'__len__': lambda *_: -1})()",
    "what lies about its class": "type('T', (), {'__class__': property(lambda self: int)})()",
    "what has all attributes": "type('T', (), {'__getattr__': lambda self, name: self})()",
    "a list that holds itself": "(lambda one: one.append(one) or one)([])",
    "a very deep list": "__import__('functools').reduce(lambda one, _: [one], range(5_000), 1)",
    "a lock": "threading.Lock()",
    "a constant": "0.0",
    "an exception": "ValueError('no')",
    "a not implemented": "NotImplemented",
    "an ellipsis": "...",
    "a generator": "(one for one in [1])",
    "a weak text": "'\\ud800'",
    "a masked number": "np.ma.masked",
}
"""Outputs that depend on nothing, so no claim is broken, whether or not they are understood."""

CONTAINERS = {
    "a list": "list({})",
    "a tuple": "tuple({})",
    "a generator": "(one for one in {})",
    "a map": "map(lambda one: one, {})",
    "an object array": "np.fromiter({}, dtype=object, count=trials)",
}

WRONG = {
    "returns nothing": "return None",
    "returns a number": "return 1.0",
    "returns a text": "return 'x' * trials",
    "returns a dict": "return dict.fromkeys(range(trials), 1.0)",
    "returns a set": "return set(range(trials))",
    "returns too few": "return [1.0] * (trials - 1) if trials > 1 else []",
    "returns too many": "return [1.0] * (trials + 1)",
    "returns no outputs": "return np.zeros((0, 5))",
    "returns without an end": "return itertools.count()",
    "returns a generator that raises": "return (1 / 0 for _ in range(trials))",
    "returns an array of no dimension": "return np.array(1.0)",
    "returns a masked array": "return np.ma.masked_array(np.zeros(trials), np.ones(trials))",
    "returns itself": "return release",
    "returns what has a bad array": "return type('T', (), {'__array__': lambda *_, **__: 1 / 0})()",
    "returns what has a short array": "return type('T', (), {'__array__': lambda *_, **__: np.zeros(trials + 1)})()",
    "yields an exit": "return (sys.exit(0) for _ in range(trials))",
}
"""Results that are not one output a trial, on any input: always an error."""

SIDE_EFFECTS = {
    "counts its calls": "global calls; calls = globals().get('calls', 0) + 1",
    "prints": "print('x' * 500)",
    "prints bytes": "os.write(1, b'\\xff\\n')",
    "prints a command": "print('::error::not ours')",
    "goes away": "os.chdir('/')",
    "lets numpy raise": "np.seterr(all='raise')",
    "makes warnings errors": "warnings.simplefilter('error')",
    "warns": "warnings.warn('a warning')",
    "is slow": "time.sleep(0.003)",
    "sends itself a signal": "signal.signal(signal.SIGUSR2, lambda *_: None); os.kill(os.getpid(), signal.SIGUSR2)",
    "collects": "gc.collect()",
    "starts a thread": "threading.Thread(target=time.sleep, args=(0.01,)).start()",
    "starts a process": "__import__('subprocess').run(['true'], check=True)",
    "forks": "child = os.fork()\n    if not child: os._exit(0)\n    os.waitpid(child, 0)",
    "closes its output": "sys.stdout = None",
    "reads its input": "sys.stdin.read()",
    "draws elsewhere": "random.random(); np.random.random()",
    "overflows": "np.float64(1e308) * 10 if np.geterr()['over'] != 'raise' else 0",
}
"""What a release may do besides; its outputs have the same law."""

SELECTIONS = {
    "selects at random": ("return rng.integers(0, len(answer), trials)", NEVER_REFUTED),
    "selects none": ("return [None] * trials", NEVER_REFUTED),
    "selects the best": ("return [int(np.argmax(answer))] * trials", (REFUTED,)),
    "selects beyond the end": ("return [10**30] * trials", NEVER_REFUTED),
    "selects by a text": ("return [f'c{one}' for one in rng.integers(0, len(answer), trials)]", NEVER_REFUTED),
}

SUMS = {
    "returns no noise": ("return [float(sum(answer))] * trials", (REFUTED,)),
    "returns the records": ("return [list(answer[:9])] * trials", (REFUTED,)),
    "returns nothing of them": ("return [0.0] * trials", NEVER_REFUTED),
    "alters the records": ("answer[:] = 0 * np.asarray(answer)\n    return rng.normal(size=trials)", NEVER_REFUTED),
    "returns their number": ("return [len(answer)] * trials", NEVER_PASSED),
}

NOISE = ("--kind", "noise", "--epsilon", "1.0", "--domain", "integers,-1000..1000")
QUICK = ("precision", "special_values", "generator_seed", "repeated_noise", "black_box", "integer_cast")


def target_case(random: Random) -> Case:
    """A generated file of a target, and an audit of it."""
    return random.choices(
        (_unloadable, _odd_signature, _raising, _ending, _formed, _noiseless, _blunt, _wrong, _busy, _listed, _made),
        weights=(5, 2, 4, 2, 6, 4, 3, 3, 4, 2, 4),
    )[0](random)


def _case(random: Random, name: str, code: str, options: tuple[str, ...], statuses: tuple[int, ...]) -> Case:
    file = random.choice(("target.py", "target.py", "größe.py", "a b/c.py", "numpy.py", "types.py", "-x.py"))
    record = random.choice(("-", "-", "out.json", "deep/er/out.json"))
    isolated = random.random() < 0.25
    words = ("audit", *options, "--seed", str(random.randrange(1_000)), "--json", record)
    words += ("--isolate", "--seconds", "10") if isolated else ()
    words += ("--", f"{file}:release")
    return Case(
        name=f"{name}, in {file}{', isolated' if isolated else ''}",
        words=words,
        statuses=statuses,
        files={file: IMPORTS + SOUND + code + "\n"},
        record=record,
        changes=() if record == "-" else ("deep", "deep/er", record),
    )


def _some_attacks(random: Random) -> tuple[str, ...]:
    return tuple(word for attack in random.sample(QUICK, 2) for word in ("--attack", attack))


def _release(body: str, *before: str) -> str:
    lines = "".join(f"    {line}\n" for line in (*before, body))
    return f"def release(answer, trials, rng):\n{lines}"


def _harmless(random: Random) -> tuple[str, str]:
    name = random.choice(list(HARMLESS))
    return f"; {name}", f"{HARMLESS[name]}\n"


def _unloadable(random: Random) -> Case:
    name = random.choice(list(UNLOADABLE))
    after = "" if name.startswith("has ") else _release("return values(answer, trials, rng)")
    return _case(random, f"it {name}", f"{UNLOADABLE[name]}\n{after}", (*NOISE, "--trials", "100"), (FAILED,))


def _odd_signature(random: Random) -> Case:
    name = random.choice(list(SIGNATURES))
    return _case(random, f"release {name}", SIGNATURES[name], (*NOISE, "--trials", "100"), (FAILED,))


def _raising(random: Random) -> Case:
    error = random.choice(EXCEPTIONS)
    when, statuses = random.choice(
        (("", (FAILED,)), ("if answer > 0: ", ANY), ("if rng.random() < 0.5: ", NEVER_REFUTED))
    )
    also, before = _harmless(random)
    code = before + _release("return values(answer, trials, rng)", f"{when}raise {error}")
    name = f"raises {error} {when or 'always'}{also}"
    return _case(random, name, code, (*NOISE, "--trials", "200", *_some_attacks(random)), statuses)


def _ending(random: Random) -> Case:
    name = random.choice(list(ENDINGS))
    code = _release("return values(answer, trials, rng)", ENDINGS[name])
    return _case(random, name, code, (*NOISE, "--trials", "200", "--attack", "precision"), (FAILED,))


def _formed(random: Random) -> Case:
    form, container = random.choice(list(FORMS)), random.choice(list(CONTAINERS))
    also, before = _harmless(random)
    made = CONTAINERS[container].format(f"[{FORMS[form]} for v in values(answer, trials, rng)]")
    code = before + _release(f"return {made}")
    attacks = () if random.random() < 0.3 else _some_attacks(random)
    return _case(
        random, f"returns {form} in {container}{also}", code, (*NOISE, "--trials", "250", *attacks), NEVER_REFUTED
    )


def _noiseless(random: Random) -> Case:
    form, container = random.choice(list(FORMS)), random.choice(list(CONTAINERS))
    also, before = _harmless(random)
    made = CONTAINERS[container].format(f"[{FORMS[form]} for v in [int(answer)] * trials]")
    code = before + _release(f"return {made}")
    return _case(
        random, f"returns {form} in {container} without noise{also}", code, (*NOISE, "--trials", "250"), (REFUTED,)
    )


def _blunt(random: Random) -> Case:
    form = random.choice(list(BLUNT))
    also, before = _harmless(random)
    code = before + _release(f"return [{BLUNT[form]} for _ in range(trials)]")
    return _case(
        random, f"returns {form}{also}", code, (*NOISE, "--trials", "200", *_some_attacks(random)), NEVER_REFUTED
    )


def _wrong(random: Random) -> Case:
    name = random.choice(list(WRONG))
    also, before = _harmless(random)
    code = before + _release(WRONG[name])
    return _case(random, f"{name}{also}", code, (*NOISE, "--trials", "200", *_some_attacks(random)), (FAILED,))


def _busy(random: Random) -> Case:
    names = random.sample(list(SIDE_EFFECTS), 2)
    also, before = _harmless(random)
    code = before + _release("return values(answer, trials, rng)", *(SIDE_EFFECTS[name] for name in names))
    name = f"{' and '.join(names)}{also}"
    return _case(random, name, code, (*NOISE, "--trials", "200", *_some_attacks(random)), NEVER_REFUTED)


def _listed(random: Random) -> Case:
    kind, bodies = random.choice((("selection", SELECTIONS), ("sum", SUMS), ("mean", SUMS)))
    name = random.choice(list(bodies))
    body, statuses = bodies[name]
    also, before = _harmless(random)
    bounds = () if kind == "selection" else ("--lower", "0", "--upper", "1")
    options = ("--kind", kind, "--epsilon", "1.0", *bounds, "--trials", "250")
    return _case(random, f"{kind} that {name}{also}", before + _release(body), options, statuses)


ODD = (
    *("None", "0", "-1", "1e400", "float('nan')", "'x'", "''", "[]", "{}", "(1, 2)", "(2, 1)", "True", "10**400"),
    *("object()", "np.float64(1)", "np.zeros(3)", "b'x'", "lambda *_: 1", "'noise'", "'add-remove'", "{'epsilon': 1}"),
    *("{'kind': 'zcdp', 'rho': 1.0}", "{'kind': 'rdp'}", "1e-320", "1e300", "float('inf')", "{'epsilon': '1'}"),
)


def _made(random: Random) -> Case:
    """A function that describes its target by odd values."""
    described = {"kind": "'noise'", "release": "draw", "epsilon": "1.0"}
    names = (
        "kind",
        "release",
        "epsilon",
        "delta",
        "claim",
        "sensitivity",
        "bounds",
        "domain",
        "noise_scale",
        "relation",
        "more",
    )
    for name in random.sample(names, random.randrange(1, 3)):
        described[name] = random.choice(ODD)
    if random.random() < 0.3:
        del described[random.choice(list(described))]
    entries = ", ".join(f"{json.dumps(name)}: {value}" for name, value in described.items())
    draw = "def draw(answer, trials, rng):\n    return values(answer, trials, rng)\n"
    code = f"{draw}def release(): return {{{entries}}}\n"
    options = ("--trials", "100", "--attack", "generator_seed", "--attack", "repeated_noise")
    return _case(random, f"describes itself as {entries}", code, options, ANY)
