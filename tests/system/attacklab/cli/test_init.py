"""`attacklab init`: what it finds in a module, what it guesses, and that the written tests run and catch leaks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attacklab.auditing.candidates import Candidate, Rejected, candidates
from attacklab.reporting.first_test import first_test

HEAD = (
    "import os, random, secrets\nimport numpy as np\nfrom numpy.random import laplace\nfrom attacklab import Target\n"
)
LEAKY = """
import numpy as np

def laplace_mechanism(value, sensitivity, epsilon):
    return value + np.random.laplace(0, sensitivity / epsilon)
"""
SOUND = """
import numpy as np

def geometric_mechanism(count: int, sensitivity, epsilon, rng):
    stop = -np.expm1(-epsilon / sensitivity / 1.05)
    return int(count) + int(rng.geometric(stop)) - int(rng.geometric(stop))
"""
UNKNOWN = {"release": "", "epsilon": "", "pairs": ""}
FOUND: list[tuple[str, dict[str, Any]]] = [
    (
        "def f(value, sensitivity, epsilon): return value + np.random.laplace(0, sensitivity / epsilon)",
        {"kind": "noise", "claim": {"epsilon": "1.0", "sensitivity": "1.0"}, "drew": "numpy.random.laplace"},
    ),
    (
        "def f(x, eps=0.5): return x + laplace(0, 1 / eps)",
        {"kind": "noise", "claim": {"epsilon": "0.5", "sensitivity": ""}, "drew": "numpy.random.laplace"},
    ),
    (
        "def f(answer, trials, rng): return answer + rng.laplace(0, 1, trials)",
        {"kind": "noise", "claim": {"epsilon": "", "sensitivity": ""}, "drew": "Generator.laplace", "many": True},
    ),
    (
        "def f(answer, sigma): return answer + np.random.default_rng().normal(0, sigma)",
        {"kind": "noise", "claim": {"claim": "GaussianDP(1.0)", "sensitivity": "1.0"}, "drew": "Generator.normal"},
    ),
    (
        "def f(answer, scale=2): return answer + np.random.RandomState().laplace(0, scale)",
        {"kind": "noise", "claim": {"epsilon": "0.5", "sensitivity": "1.0"}, "drew": "RandomState.laplace"},
    ),
    (
        "def f(value, rho): return value + random.Random().gauss(0, 1 / rho)",
        {"kind": "noise", "claim": {"claim": "ZeroConcentrated(0.5)", "sensitivity": ""}, "drew": "Random.gauss"},
    ),
    (
        "def f(count: int, epsilon): return count + secrets.randbelow(9)",
        {
            "kind": "noise",
            "claim": {"epsilon": "1.0", "sensitivity": "", "domain": "Domain(integers=True)"},
            "drew": "SystemRandom.getrandbits",
        },
    ),
    (
        "def f(value, epsilon): return value + int.from_bytes(os.urandom(1), 'big')",
        {"kind": "noise", "claim": {"epsilon": "1.0", "sensitivity": ""}, "drew": "os.urandom"},
    ),
    (
        "def noisy_sum(records, lower, upper, epsilon): return float(sum(records)) + random.random()",
        {"kind": "sum", "claim": {"epsilon": "1.0", "bounds": "(0.0, 1.0)", "relation": ""}, "drew": "random.random"},
    ),
    (
        "def private_mean(data, epsilon, delta): return float(sum(data)) + random.random()",
        {
            "kind": "mean",
            "claim": {"epsilon": "1.0", "delta": "1e-05", "bounds": "", "relation": ""},
            "drew": "random.random",
        },
    ),
    (
        "def f(records, epsilon): return float(sum(records)) + random.random()",
        {"kind": "dataset", "claim": {"epsilon": "1.0", "pairs": ""}, "drew": "random.random"},
    ),
    (
        "def f(utilities, sensitivity, epsilon): return random.randrange(len(utilities))",
        {"kind": "selection", "claim": {"epsilon": "1.0", "sensitivity": "1.0"}, "drew": "random.randrange"},
    ),
    (
        "def f(records, epsilon): return {'n': len(records) + random.random()}",
        {"kind": "dataset", "claim": {"epsilon": "1.0", "pairs": ""}, "drew": "random.random"},
    ),
    (
        "class Laplace:\n    def __init__(self, epsilon): self.scale = 1 / epsilon\n"
        "    def randomise(self, value): return value + random.gauss(0, self.scale)",
        {"kind": "noise", "claim": {"epsilon": "1.0", "sensitivity": ""}, "drew": "random.gauss"},
    ),
    ("target = Target.noise(lambda value, trials, rng: rng.normal(value, 1, trials), epsilon=1.0)", {"claim": {}}),
    (
        "def private_count(value, epsilon): raise KeyError('no table')",
        {"kind": "dataset", "claim": UNKNOWN, "drew": "raised KeyError: 'no table'"},
    ),
    ("def f(table, column, epsilon): return 1.0", {"claim": UNKNOWN, "drew": "nothing says what to pass for table"}),
    ("def dp_count(value, epsilon): os._exit(0)", {"claim": UNKNOWN, "drew": "ended its process"}),
]
REJECTED = [
    ("def f(value): return 2 * value", "drew no noise, and gave the same output every time"),
    ("def f(value): random.random()", "returns nothing"),
    ("def f(scale): return laplace(0, scale)", "takes no input"),
    ("def f(value, bits): return value + bits.take(1)", "it can be proved"),
    ("def f(path): raise SystemExit", "path may be anything"),
    ("def f(host, port): return random.random()", "nothing says what to pass for host and port"),
    ("async def f(value): return value + laplace()", "a coroutine or a generator"),
    ("def f(value): yield value + laplace()", "a coroutine or a generator"),
]


def _looked(folder: Path, source: str) -> list[Candidate | Rejected]:
    (folder / "looked_at.py").write_text(HEAD + source + "\n", "utf-8")
    return candidates("looked_at", str(folder))


@pytest.mark.parametrize(("source", "expected"), FOUND, ids=[source[:70] for source, _ in FOUND])
def test_a_mechanism_is_found_by_its_signature_and_its_noise(
    tmp_path: Path, source: str, expected: dict[str, Any]
) -> None:
    (found,) = [one for one in _looked(tmp_path, source) if isinstance(one, Candidate)]
    expected = {"kind": found.kind, "many": False, "drew": "", **expected}
    assert (found.kind, found.claim, found.many) == (expected["kind"], expected["claim"], expected["many"])
    assert expected["drew"] in found.seen
    is_by_name = found.claim == UNKNOWN
    assert ("by its names alone" in " ".join(found.guesses)) is is_by_name
    assert (f"kind {found.kind}, because" in " ".join(found.guesses)) is not (is_by_name or not found.claim)


@pytest.mark.parametrize(("source", "reason"), REJECTED)
def test_what_is_not_a_mechanism_is_left_out_with_the_reason(tmp_path: Path, source: str, reason: str) -> None:
    (rejected,) = _looked(tmp_path, source)
    assert isinstance(rejected, Rejected)
    assert reason in rejected.reason


def test_names_that_are_private_or_imported_are_not_looked_at(tmp_path: Path) -> None:
    assert _looked(tmp_path, "from random import gauss, choice\ndef _noise(value): return random.random()") == []


@pytest.mark.parametrize("place", ["counting.py", "counting", "src/nested/counting.py", "package/__init__.py"])
def test_the_written_tests_run_and_catch_the_leak_alone(attacklab: Any, tmp_path: Path, place: str) -> None:
    """An alarm on the sound one has a probability of at most 1e-9; the seed is fixed."""
    path = tmp_path / (place if place.endswith(".py") else f"{place}.py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LEAKY + SOUND, "utf-8")
    if "nested" in place:
        (path.parent / "__init__.py").touch()
    status, out, err = attacklab(f"init {place}")
    assert (status, err) == (0, "")
    assert "laplace_mechanism looks like a mechanism\n    seen: on 3.0 it gave " in out
    assert "    guess: it is passed sensitivity=1.0, epsilon=1.0\n    guess: it claims that epsilon\n" in out
    assert "written: tests/test_privacy.py, 2 tests\n" in out
    done = _tested(tmp_path, "tests/test_privacy.py", "--dp-trials=3000", "--dp-alpha=1e-9")
    assert "1 failed, 1 passed" in done
    assert "laplace_mechanism does not keep its claim (ε = 1.0)" in done


def test_what_could_not_be_told_fails_with_its_question_until_it_is_filled_in(attacklab: Any, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(SOUND.replace("sensitivity, ", "").replace(" / sensitivity", ""), "utf-8")
    status, out, _ = attacklab("init counting.py --output checks/test_counting.py")
    assert (status, "    to fill in: sensitivity\n" in out) == (0, True)
    assert "checks/test_counting.py, 1 test, of which 1 fail until the lines marked TODO are filled in" in out
    written = tmp_path / "checks" / "test_counting.py"
    text = written.read_text("utf-8")
    (todo,) = re.findall(r"(?m)^ +sensitivity = (pytest\.fail\(.*\))  # TODO: a number, such as 1\.0$", text)
    options = ("--dp-trials=3000", "--dp-alpha=1e-9")
    assert "how far may the answer of geometric_mechanism move between neighbours?" in _tested(
        tmp_path, str(written), *options
    )
    written.write_text(text.replace(todo, "1.0"), "utf-8")
    assert "1 passed" in _tested(tmp_path, str(written), *options)


def test_every_sort_of_candidate_makes_a_test_that_pytest_can_run(attacklab: Any, tmp_path: Path) -> None:
    sources = [re.sub(r"\bdef (f|\w+)\((?!self)", f"def {name}_{number}(", source) for number, (source, given) in
               enumerate(FOUND) for name in [given.get("kind", "other")]]  # fmt: skip
    (tmp_path / "many.py").write_text(HEAD + "\n".join(sources), "utf-8")
    status, _, err = attacklab("init many.py")
    assert (status, err) == (0, "")
    done = _tested(tmp_path, "tests/test_privacy.py", "--dp-trials=1000")
    assert re.search(r"\d+ failed", done)
    assert "error" not in done.splitlines()[-1]
    asked = len(re.findall("(?m)^    .*# TODO: ", (tmp_path / "tests" / "test_privacy.py").read_text("utf-8")))
    assert asked > 10
    assert "NameError" not in done
    assert "TypeError" not in done


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("init nowhere.py", "there is no file nowhere.py; check the path"),
        ("init nowhere", "there is no module nowhere here or installed"),
        ("init my-noise.py", "my-noise is not the name of a Python module"),
        ("init broken.py", "module broken cannot be imported: ZeroDivisionError"),
        ("init ending.py", "module ending cannot be imported: "),
        ("init random.py", "random is another module here"),
        ("init empty.py", "nothing in empty.py looks like a mechanism (it defines no public function)"),
        ("init plain.py", "nothing in plain.py looks like a mechanism (double: drew no noise"),
        ("init noise.py --output tests", "tests is not the name of a Python file"),
        ("init noise.py --output kept.py", "kept.py is there already, so it is kept"),
    ],
)
def test_bad_inputs_end_with_2_in_one_line_and_write_nothing(
    attacklab: Any, tmp_path: Path, line: str, said: str
) -> None:
    files = {"my-noise": "", "broken": "1 / 0", "ending": "import os; os._exit(0)", "random": "", "empty": ""}
    files |= {"plain": "def double(value): return 2 * value", "noise": LEAKY, "kept": "# mine"}
    for name, source in files.items():
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
    (tmp_path / "tests").mkdir()
    status, out, err = attacklab(line)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert list((tmp_path / "tests").iterdir()) == []
    assert (tmp_path / "kept.py").read_text("utf-8") == "# mine"


def test_a_file_is_replaced_where_that_is_asked_for(attacklab: Any, tmp_path: Path) -> None:
    (tmp_path / "noise.py").write_text(LEAKY, "utf-8")
    (tmp_path / "test_noise.py").write_text("# mine", "utf-8")
    assert attacklab("init noise.py --output test_noise.py --force")[0] == 0
    assert "dp_audit" in (tmp_path / "test_noise.py").read_text("utf-8")


def _tested(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    return done.stdout


def test_two_functions_whose_names_differ_in_a_capital_have_two_tests(tmp_path: Path) -> None:
    looked = _looked(tmp_path, "def fA(value): return value + laplace()\ndef f_a(value): return value + laplace()")
    text = first_test("looked_at", "", [one for one in looked if isinstance(one, Candidate)])
    assert set(re.findall(r"def (test_\w+)", text)) == {"test_f_a_keeps_its_claim", "test_f_a_2_keeps_its_claim"}
