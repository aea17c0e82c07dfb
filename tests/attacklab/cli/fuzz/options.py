"""Values of options at the edges and beyond, on a small sound target and a leaking one; also of other commands."""

from __future__ import annotations

from random import Random

from tests.attacklab.cli.fuzz.cases import ANY, FAILED, OK, Case

TARGETS = """
import math

def sound(answer, trials, rng):
    stop = -math.expm1(-1.0)
    noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
    return [int(answer) + int(one) for one in noise]

def leaking(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

def coin(input_, bits):
    return bits.take(1)

def tell(input_, bits):
    return int(input_)

def scale(epsilon, sensitivity=1.0):
    return sensitivity / epsilon

class Mechanism:
    def randomise(self, value):
        import random
        return value + random.choice((-1, 1))

mechanism = Mechanism()
"""

FILES = {
    "targets.py": TARGETS,
    "notes.txt": "mine\n",
    "mine.json": '{"mine": 1}\n',
    "list.json": "[1, 2]\n",
    "broken.json": '{"schema": "attacklab/1", "findings": [',
    "record.json": '{"schema": "attacklab/1", "findings": []}\n',
    "locked.json": '{"schema": "attacklab/1", "findings": []}\n',
    "pairs.json": '[{"first": 0, "second": 1, "relation": null}]\n',
    "folder/inside.txt": "mine\n",
}

LINKS = {"link.json": "record.json", "dangling.json": "nowhere.json", "loop.json": "loop.json", "out": "folder"}

# fmt: off
NUMBERS = (
    "0", "-0", "1", "-1", "0.5", "1e-300", "5e-324", "1e308", "1e309", "inf", "-inf", "nan", "", " ", "x", "0x1p-3",
    "1_0", "१", "1e", "--", "1,5", "9" * 400, "1e-400", "true", "None", "2.5", "100", "65537", "\t3",
)

INTEGERS = (
    "0", "-1", "1", "2", "3", "1.0", "1e3", "", "x", "9" * 30, str(2**63), str(2**64), str(10**23), "nan", "٣",
    "0x10",
)

FILES_NAMED = (
    "", "-", ".", "..", "folder", "folder/", "notes.txt", "mine.json", "list.json", "broken.json", "record.json",
    "locked.json", "link.json", "dangling.json", "loop.json", "targets.py", "/dev/null", "/dev/full", "/dev/stdout",
    "/dev/stderr", "notes.txt/x", "new/deep/x.json", "größe.json", "a b.json", "x" * 300, "out/y.json",
    "/proc/self/x", "/dev/stdin", "~", "*.json", "new.json\n", "/", "pipe",
)

READ = (
    "", "-", "nowhere.json", "folder", "notes.txt", "mine.json", "list.json", "broken.json", "record.json",
    "pairs.json", "/dev/null", "/dev/zero", "loop.json", "targets.py",
)

DOMAINS = (
    "integers", "floats", "finite", "special", "0..1", "1..0", "integers,0..1", "", ",", "nonsense", "0..", "..",
    "nan..1", "inf..inf", "0..1e400", "{}", "[]", "null", '{"integers": true}', '{"low": 1}', "non-negative",
    "integers,integers", "[" * 5000, "-5..5,finite", '{"shape": {}}', "5..5", "0.5..0.5,integers",
)

INPUTS = (
    "0", "1", "0,1", "nan", "inf", "", "[", "[" * 9000, "{}", '"x"', "null", "[1,[2]]", "1e400", "true", "9" * 5000,
    "up to 2 of 0..1", "up to 0 of 0,1", "up to 99 of 0..99", "0..9999999999", "0..3", "3..0", "up to 2 of", "0,0",
)

NAMES = (
    "", ":", "targets.py", "targets.py:", ":sound", "targets.py:nothing", "nowhere.py:x", "folder:x", "targets.txt:x",
    "notes.txt:x", "os:path", "math:sin", "sys:exit", "builtins:exit", "os:_exit", "targets.py:mechanism.randomise",
    "targets.py:mechanism.nothing", "targets.py:Mechanism", "targets.py:Mechanism.randomise", "targets.py:math.pi",
    "targets.py:..", "opendp:laplace", "nolib:x", "targets:sound", "\x00", "-", "targets.py:größe",
    "targets.py:sound:sound", "a" * 5000, "/dev/null:x", "folder.py:x", "\udcff.py:x",
)

COMMANDS = (
    "", "true", "false", "'", "nowhere", "./targets.py", "folder", "sh -c 'exit 3'", "cat", "yes", "sleep 60",
    "echo {}", "sh -c 'kill -9 $$'", "\x1b[2J",
)

VALUES = {
    "--epsilon": NUMBERS, "--delta": NUMBERS, "--rho": NUMBERS, "--mu": NUMBERS, "--sensitivity": NUMBERS,
    "--lower": NUMBERS, "--upper": NUMBERS, "--alpha": NUMBERS, "--seconds": NUMBERS,
    "--rdp": ("2,1", "1,1", "2", "2,", ",", "nan,1", "2,inf", "2,-1", "inf,1", "2,1,3", "x,y", ""),
    "--trials": INTEGERS, "--seed": INTEGERS, "--memory": INTEGERS, "--workers": ("0", "-1", "1", "x", "", "1.5"),
    "--kind": ("noise", "selection", "sum", "mean", "dataset", "", "Noise", "x", "noise "),
    "--relation": ("add-remove", "substitute", "node", "edge", "", "x"),
    "--domain": DOMAINS, "--pairs": READ, "--json": FILES_NAMED, "--sarif": FILES_NAMED, "--resume": FILES_NAMED,
    "--attack": ("precision", "", "x", "Precision", "black_box", "truncated_addition", "\u202e"),
    "--in-env": ("", "nowhere", "folder", "/bin/true", "/bin/cat", "python3", "/dev/null"),
    "--scheduler": ("", "x", "tcp://127.0.0.1:1", "http://127.0.0.1:1"), "--exec": COMMANDS,
}

PROVING = ("--kind", "--epsilon", "--delta", "--rho", "--sensitivity", "--domain", "--pairs", "--seconds")

FLAGS = (
    "--isolate", "--spend-all", "--maximise-epsilon", "--help", "--nonsense", "--json", "--", "-h", "--version",
)
# fmt: on


def option_case(random: Random) -> Case:
    """A command with one to three odd options."""
    return random.choices((_audit, _prove, _other), weights=(8, 3, 3))[0](random)


def _case(
    name: str, words: tuple[str, ...], statuses: tuple[int, ...], record: str | None, changes: tuple[str, ...]
) -> Case:
    return Case(
        name=name[:300],
        words=tuple(word.replace("\0", "␀") for word in words),
        statuses=statuses,
        files=FILES,
        links=LINKS,
        read_only=("locked.json",),
        record=record,
        changes=changes,
    )


def _written(odd: dict[str, str | None]) -> tuple[str | None, tuple[str, ...]]:
    """Where the record is, and the files that options name; a link is followed."""
    behind = {"link.json": "record.json", "dangling.json": "nowhere.json", "out/y.json": "folder/y.json"}
    named = [value for name, value in odd.items() if name in ("--json", "--sarif", "--resume") and value]
    ours = {"record.json", "locked.json", *behind, "größe.json", "a b.json", "new.json\n", "*.json", "~", "/dev/null"}
    changes = [behind.get(name, name) for name in named if name in ours]
    changes += ["new", "new/deep", "new/deep/x.json"] if "new/deep/x.json" in named else []
    json = odd.get("--json", "-")
    if json in ("-", "/dev/stdout"):
        return "-", tuple(changes)
    return (behind.get(json, json) if json in ours or json == "new/deep/x.json" else None), tuple(changes)


def _odd(random: Random, names: tuple[str, ...], most: int) -> dict[str, str | None]:
    odd: dict[str, str | None] = {}
    for name in random.sample(names, 1 if random.random() < 0.6 else random.randrange(1, most + 1)):
        odd[name] = random.choice(VALUES[name])
    if random.random() < 0.2:
        odd[random.choice(FLAGS)] = None
    return odd


def _words(odd: dict[str, str | None], usual: dict[str, str]) -> tuple[str, ...]:
    both = {**{name: value for name, value in usual.items() if name not in odd}, **odd}
    return tuple(
        word
        for name, value in both.items()
        for word in ([name] if value is None or name == "--isolate" else [name, value])
    )


def _audit(random: Random) -> Case:
    odd = _odd(random, tuple(VALUES), 3)
    usual = {"--kind": "noise", "--epsilon": "1", "--trials": "100", "--attack": "generator_seed", "--json": "-"}
    if random.random() < 0.5 and "--exec" not in odd:
        usual["--domain"] = "integers,-9..9"
    if random.random() < 0.8:
        _fit(odd, usual)
    ours = random.random() < 0.85
    target = random.choice(("targets.py:sound", "targets.py:leaking") if ours else NAMES)
    named = () if "--exec" in odd and random.random() < 0.8 else (target,)
    record, changes = _written(odd)
    words = ("audit", *named, *_words(odd, usual))
    return _case(" ".join(words), words, ANY, None if "--help" in odd else record, changes)


def _fit(odd: dict[str, str | None], usual: dict[str, str]) -> None:
    """Add what the odd options need, and leave out what they exclude, so that they are reached."""
    if set(odd) & {"--rho", "--mu", "--rdp"}:
        del usual["--epsilon"]
    if set(odd) & {"--seconds", "--memory"} and "--exec" not in odd:
        usual["--isolate"] = ""
    if set(odd) & {"--lower", "--upper"}:
        usual |= {"--kind": "sum", "--lower": "0", "--upper": "1"}
        usual.pop("--domain", None)


def _prove(random: Random) -> Case:
    names = (*PROVING, "--json", "--sarif", "--exec")
    odd = _odd(random, names, 2)
    for option in ("--first", "--second", "--inputs"):
        if random.random() < 0.3:
            odd[option] = random.choice(INPUTS)
    usual = {"--kind": "noise", "--epsilon": "1", "--seconds": "3", "--json": "-", "--runs": "2000"}
    target = random.choice(("targets.py:coin", "targets.py:tell", "targets.py:sound", random.choice(NAMES)))
    record, changes = _written(odd)
    words = ("prove", *(() if "--exec" in odd else (target,)), *_words(odd, usual))
    return _case(" ".join(words), words, ANY, None if "--help" in odd else record, changes)


def _other(random: Random) -> Case:
    words = random.choice(
        (
            ("explain", random.choice(("precision", "fails", "", "x", "\x1b[2J", "../x", "black_box"))),
            ("list", *random.choice(((), ("x",), ("--json",), ("targets",)))),
            ("run", *random.choice(((), ("x",), ("--output", "folder"), ("--output", "notes.txt"), ("--seed", "-1")))),
            ("calibrate", random.choice(("list", "x", "", "gaussian_sigma")), random.choice(NAMES)),
            (
                "calibrate",
                random.choice(("list", "laplace_scale")),
                "--exec",
                random.choice(COMMANDS),
                "--seconds",
                random.choice(("1", "nan")),
            ),
            (
                "vectors",
                random.choice(("check", "write", "x")),
                random.choice(READ),
                "--exec",
                random.choice(COMMANDS),
                "--seconds",
                "1",
            ),
            (random.choice(("", "audti", "-x", "--version", "--help", "\x1b[31m", "ε")), random.choice(NAMES)),
        )
    )
    return _case(" ".join(words), words, (OK, FAILED), None, ())
