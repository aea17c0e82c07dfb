"""The commands: declared once, imported when used, and ending in a status that says what happened."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attacklab.cli import COMMANDS, Command, command_of
from tests.running import ROOT, run

pytestmark = pytest.mark.slow

MAIN = [sys.executable, "-c", "from attacklab.cli import main; main()"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_is_summed_up_by_its_first_line_and_each_option_says_what_it_sets(command: Command) -> None:
    module = importlib.import_module(f"attacklab.cli.{command.module}")
    assert (inspect.getdoc(getattr(module, command.function)) or "").splitlines()[0] == command.summary
    parsed = command_of(command)
    assert all(getattr(parameter, "help", "") for parameter in parsed.get_params(parsed.context_class(parsed)))


COMPUTING = ["attacklab.attacks", "attacklab.auditing.referee", "scipy.special", "rich", "matplotlib", "distributed"]


@pytest.mark.parametrize(
    ("line", "status", "told", "others"),
    [
        ("--help", 0, "audit", ["numpy", "scipy", "gmpy2", "attacklab.cli.audit"]),
        ("audit __init__.py:typo --kind noise --epsilon 1", 2, "__init__.py has no 'typo'", ["hypothesis", "asyncio"]),
    ],
)
def test_what_must_answer_at_once_imports_nothing_that_computes(
    line: str, status: int, told: str, others: list[str]
) -> None:
    code = f"""
import sys
from attacklab.cli import main
sys.argv = {["attacklab", *line.split()]}
try:
    main()
finally:
    print([name for name in {COMPUTING + others} if name in sys.modules], file=sys.stderr)
"""
    done = run([sys.executable, "-c", code], Path(__file__).parent)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (status, "[]")
    assert told in done.stdout + done.stderr


def test_an_audit_does_not_import_what_only_others_need_or_what_takes_long() -> None:
    """SciPy's modules are imported where they are first used: every worker and child process would import them."""
    others = ["matplotlib", "distributed", "experiments", "scipy.linalg", "scipy.special", "scipy.stats"]
    code = f"import sys, attacklab.cli.audit, attacklab.cli.prove; print({{*{others}}} & sys.modules.keys())"
    done = run([sys.executable, "-c", code])
    assert (done.returncode, done.stdout.strip()) == (0, "set()")


def test_output_that_nobody_reads_changes_no_status(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603 - our own code
        [*MAIN, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (0, b"")


LISTED = """
import random
from attacklab import Target

def noisy(value: float):
    return value + random.gauss(0, 1)

def mean(data, rng):
    return sum(data) / len(data) + rng.laplace(0, 1)

def plain(value):
    return 2 * value

def _noise(value):
    return random.random()

class Laplace:
    def randomise(self, x):
        return x + random.expovariate(1.0)

class Held:
    def released(self, x, rng):
        return x + rng.laplace()

held = Held()
target = Target.noise(lambda answer, trials, rng: [0] * trials, epsilon=1.0)
"""


def test_a_file_without_a_name_lists_what_looks_like_a_mechanism_and_runs_nothing(attacklab: Any) -> None:
    Path("listed.py").write_text(f"{LISTED}\nraise SystemExit\n")
    status, out, err = attacklab("audit listed.py")
    assert (status, err.count("\n")) == (2, 1)
    assert "name a mechanism of listed.py, as in listed.py:NAME; these look like one" in err
    assert out.splitlines() == [
        "attacklab audit listed.py:noisy --kind noise --epsilon EPSILON",
        "attacklab audit listed.py:mean --kind dataset --pairs PAIRS.json --epsilon EPSILON",
        "attacklab audit listed.py:Laplace.randomise --kind noise --epsilon EPSILON",
        "attacklab audit listed.py:held.released --kind noise --epsilon EPSILON",
        "attacklab audit listed.py:target",
    ]
    Path("empty.py").write_text("x = 1\n")
    assert "name a mechanism of empty.py, as in empty.py:NAME; nothing looks" in attacklab("audit empty.py")[2]


def test_a_function_of_one_number_needs_no_kind_and_another_does(attacklab: Any) -> None:
    Path("listed.py").write_text(LISTED)
    status, out, err = attacklab("audit listed.py:noisy --epsilon 1 --trials 5 --attack integer_cast -q")
    assert "noisy   listed.py:5   claims ε = 1.0" in out, err
    assert len(out.splitlines()) == 1
    status, _, err = attacklab("audit listed.py:mean --epsilon 1")
    assert (status, "add --kind" in err) == (2, True)
