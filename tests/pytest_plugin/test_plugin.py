"""The pytest plugin, by pytest inside pytest: one table of tests with their ends; options, files, workers, imports."""

import json
import re
import shlex
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from attacklab.model.findings import Verdict, read_record
from attacklab.pytest_plugin.hooks import CLAIM_ARGUMENTS
from attacklab.pytest_plugin.options import OPTIONS
from tests import samplers
from tests.running import ROOT, run

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

FEW = "--dp-trials=3000"

MECHANISMS = f"""
import math
import random
import numpy as np
import pytest
from attacklab import Domain, NeighbouringPair, Records, Relation, Target, one_by_one
{samplers.SOURCE}
def leaking(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

def sound(answer, trials, rng, *, epsilon=1.0):
    stop = -np.expm1(-epsilon)
    return math.floor(answer) + rng.geometric(stop, trials) - rng.geometric(stop, trials)

def raising(answer, trials, rng):
    raise RuntimeError("no entropy left")

class Mechanism:
    def randomise(self, value):
        return value + random.expovariate(1.0) - random.expovariate(1.0)

def from_two(answer, bits):
    return response(answer, bits) if answer < 2 else 2

def failing(answer, bits):
    raise RuntimeError("no entropy left")

def step(first):
    return NeighbouringPair.answers(first, first + 1, sensitivity=1.0)

PAIRED = Target.noise(leaking, epsilon=0.7, pairs=[step(0), step(1)], name="paired").exact(from_two)
OWN = Target.noise(sound, epsilon=1.0)
FEW_BITS = Domain(shape=Records(most=3), bounds=(0, 1), integers=True)
STAGE, KEPT = (Target.stage(len, stability=most, domain=FEW_BITS, name="counted") for most in (0.5, 1))
BY_OTHERS = Target.dataset(sound, epsilon=1.0, relation="add-remove")

@pytest.fixture
def checked(dp_audit):
    dp_audit(Target.noise(leaking, epsilon=1.0))
"""

PASSED, FAILED, SKIPPED = "PASSED", "FAILED", "SKIPPED"
AUDITS = [
    ("epsilon=1.0", "dp_audit(leaking)", FAILED, "FAIL  leaking   test_it.py::test_0_   claims ε = 1.0, shown: "),
    ("", "dp_audit(Target.noise(sound, epsilon=1.0))", PASSED, "PASS (no proof)  sound "),
    ("epsilon=0.5, delta=1e-9, sensitivity=0.25, kind='noise'", "dp_audit(leaking)", FAILED, "claims ε = 0.5, δ = 1e"),
    ("rdp=[(2.0, 0.25), (4, 0.5)]", "dp_audit(leaking)", FAILED, "(α, ε)-RDP at (2.0, 0.25), (4, 0.5), shown: δ"),
    ("epsilon=1.0", "dp_audit(Mechanism().randomise)", FAILED, "Run again  not exactly: your function makes its own"),
    ("", "dp_audit(Target.noise(sound, epsilon=20.0))", SKIPPED, "no fewer than "),
    ("", "dp_audit(Target.noise(raising, epsilon=1.0))", FAILED, "RuntimeError: no entropy left"),
    ("epsilon=1.0", "dp_audit(lambda answer: None)", FAILED, "<lambda> returned None 16,384 times of 16,384"),
    ("", "dp_audit(Target.dataset(sound, epsilon=1.0))", FAILED, "UNDECIDED  sound "),
    ("", "dp_audit(OWN, attacks=[])", FAILED, "dp_audit was given no attacks"),
    ("", "dp_audit(sound)", FAILED, "a function needs a claim; mark the test dp_claim(epsilon=...)"),
    ("", "dp_audit(3)", FAILED, "dp_audit takes a Target or a release function, not 3"),
    ("", "[dp_audit(OWN) for _ in range(2)]", FAILED, "a test audits or proves one target, and only once"),
    ("epsilon=1.0", "dp_audit(OWN)", FAILED, "gives epsilon, but sound has its own claim"),
    ("relation='substitute'", "dp_audit(BY_OTHERS)", FAILED, "gives substitute, but sound claims for add-remove"),
    ("rdp=(2, 1)", "dp_audit(sound)", FAILED, "rdp must be {alpha: epsilon} or pairs (alpha, epsilon), not (2, 1)"),
    ("claim=0.5", "dp_audit(sound)", FAILED, "claim must be a claim"),
    ("epsilon=1.0, rho=0.5", "dp_audit(sound)", FAILED, "a noise target takes no rho"),
    ("mu=1.0, delta=1e-6", "dp_audit(sound)", FAILED, "give an epsilon (and delta) or a claim, not both"),
    ("epsilom=1.0", "dp_audit(sound)", FAILED, "a function needs a claim; mark the test dp_claim(epsilon=...)"),
    ("epsilon=1.0, sensitivty=2.0", "dp_audit(sound)", FAILED, "a noise target takes no sensitivty"),
    ("", "dp_audit(STAGE)", FAILED, "1 apart, claimed are at most 0.5"),
    ("relation='add-remove'", "dp_audit(KEPT)", PASSED, "PROVED  counted "),
    ("epsilon=1.0", "dp_audit(STAGE)", FAILED, "gives epsilon, but counted has its own claim"),
    ("epsilon=1.0, kind='summ'", "dp_audit(sound)", FAILED, "kind must be one of noise, selection, "),
    ("", "pass", FAILED, "nothing was tested: make dp_audit or dp_prove an argument"),
    ("", "pytest.skip('no reason')", SKIPPED, "no reason"),
]
PROOFS = [
    ("epsilon=0.7", "dp_prove(response)", PASSED, "PROVED  response   test_it.py::test_0_   claims ε = 0.7, for this"),
    ("epsilon=0.6", "dp_prove(response)", FAILED, "claims ε = 0.6, shown: ε ≥ 0.693"),
    ("epsilon=0.7", "dp_prove(response, inputs=[0, 1, 0.5])", PASSED, "pair of neighbours among 3 inputs (3 pairs)"),
    ("", "dp_prove(PAIRED)", FAILED, "inputs: 1.0 and 2.0"),
    ("pairs=[step(0)]", "dp_prove(PAIRED)", PASSED, "PROVED  paired "),
    ("epsilon=0.7, pairs=[step(0)]", "dp_prove(from_two)", PASSED, "PROVED  from_two "),
    ("epsilon=0.7, domain='integers'", "dp_prove(count)", PASSED, "PROVED  count "),
    ("rdp={2: 0.5}, sensitivity=1.0", "dp_prove(response)", PASSED, "claims (α, ε)-RDP at (2, 0.5)"),
    ("epsilon=0.7", "dp_prove(failing)", FAILED, "ERROR  failing "),
    ("epsilon=0.7", "dp_prove(endless, seconds=1.0)", FAILED, "NOT PROVED  endless "),
    ("", "dp_prove(response)", FAILED, "a function needs a claim"),
    ("epsilon=0.7", "dp_prove(leaking)", FAILED, "leaking has no sampler"),
    ("epsilon=0.7", "dp_prove(PAIRED)", FAILED, "paired has its own claim"),
    ("", "dp_prove(STAGE)", FAILED, "counted is a stage, which draws nothing, so it has no law; give it to dp_audit"),
    ("epsilon=0.7, kind='dataset'", "dp_prove(response)", FAILED, "there is no default pair for a dataset target"),
    ("", "pass", FAILED, "nothing was tested: make dp_audit or dp_prove an argument"),
]
"""The claim of a marker, what a test does, how it ends, and what is told of it."""

OTHERS = """
def test_late(request):
    request.getfixturevalue("dp_audit")

def test_checked(checked):
    pass

@pytest.mark.dp_claim(epsilon=1.0)
def test_without_fixture():
    pass

@pytest.mark.dp_claim(epsilon=1.0)
class TestOthers:
    def test_of_something_else(self):
        pass

@pytest.mark.xfail(strict=True)
def test_expected(dp_audit):
    assert False
"""


def module_of(rows: list[tuple[str, str, str, str]], fixture: str, others: str = "") -> str:
    """A module of the tests of a table."""
    body = MECHANISMS
    for number, (marker, call, *_) in enumerate(rows):
        body += f"\n@pytest.mark.dp_claim({marker})" if marker else ""
        body += f"\ndef test_{number}_({fixture}):\n    {call}\n"
    return body + others


def found(path: Path) -> list[dict[str, Any]]:
    """The findings of a record, without how long they took."""
    return [{**finding.to_json(), "seconds": 0.0} for finding in read_record(path)["findings"]]


def written(pytester: pytest.Pytester, body: str) -> None:
    pytester.makepyfile(test_it=MECHANISMS + body)


FILES = ("--dp-json=deep/record.json", "--dp-sarif=scan.sarif", "--junit-xml=junit.xml")


def ran(folder: Path, *options: str) -> str:
    """What pytest prints in a folder."""
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--dp-attacks=precision", FEW, *FILES]
    done = run([*command, *options], folder, COLUMNS="400")
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What pytest prints of the audits, and the folder where it writes all files that it can."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "test_it.py").write_text(module_of(AUDITS, "dp_audit", OTHERS), "utf-8")
    return ran(folder), folder


def require_table(rows: list[tuple[str, str, str, str]], out: str) -> None:
    """The tests of a table ended as it says, and the printed text tells it in each one's part or headline."""
    sections = re.split(r"(?m)^_+ test_(\d+)_ _+$", out.partition("short test summary")[0])
    told = dict(zip(sections[1::2], sections[2::2], strict=True))
    for number, (marker, call, end, message) in enumerate(rows):
        assert re.search(rf"(?m)^{end} .*test_it\.py(:\d+|::test_{number}_)(:| |$)", out), (marker, call, out)
        headline = "".join(re.findall(rf"(?m)^.*test_it\.py::test_{number}_ .*$", out))
        assert message in (out if end == SKIPPED else told.get(str(number), "") + headline), (marker, call)


def test_an_audit_passes_fails_or_skips_its_test_in_words(audited: tuple[str, Path]) -> None:
    out = audited[0]
    require_table(AUDITS, out)
    pytest.LineMatcher(out.splitlines()).fnmatch_lines(
        [
            "*make dp_audit an argument of the test*",
            "*= differential-privacy audits =*",
            "α = 1e-06 for the run; nothing detected is not a proof",
            "FAILED *test_late*",
        ]
    )
    for name, end in (("checked", "ERROR"), ("without_fixture", FAILED), ("expected", "XFAIL")):
        assert f"\n{end} test_it.py::test_{name}" in out
    assert "\nPASSED test_it.py::TestOthers" in out
    assert not any(inside in out for inside in ("Traceback", "in _claimed", "loading.py:"))


def test_the_files_say_which_findings_are_whose_and_alpha_is_split_over_the_tests(audited: tuple[str, Path]) -> None:
    folder = audited[1]
    record = read_record(folder / "deep" / "record.json")
    takes_part = len(AUDITS) + 2
    verdicts = {}
    for test in record["tests"]:
        is_stage = test["verdict"] == "proved" or "apart, claimed" in record["findings"][test["findings"][0]].reason
        assert test["alpha"] == (None if is_stage else 1e-6 / takes_part)
        findings = [record["findings"][number] for number in test["findings"]]
        assert sum(finding.alpha or 0 for finding in findings) <= (test["alpha"] or 0)
        verdicts[test["test"].removeprefix("test_it.py::test_")] = test["verdict"]
    assert [verdicts[name] for name in ("0_", "1_", "checked")] == ["violated", "not detected", "violated"]
    assert sum(len(test["findings"]) for test in record["tests"]) == len(record["findings"])
    (run,) = json.loads((folder / "scan.sarif").read_text("utf-8"))["runs"]
    line = (folder / "test_it.py").read_text("utf-8").splitlines().index("@pytest.mark.dp_claim(epsilon=1.0)") + 1
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("test_it.py", line)
    cases = ET.parse(folder / "junit.xml").iter("testcase")  # noqa: S314 - our own file
    said = {case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")} for case in cases}
    assert said["test_0_"]["dp_verdict"] == "violated"
    assert (said["test_1_"]["dp_trials"], said["test_1_"]["dp_seed"]) == ("3000", "0")


def test_two_workers_find_what_one_process_finds_and_a_replay_line_finds_it_again(
    audited: tuple[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text((audited[1] / "test_it.py").read_text("utf-8"), "utf-8")
    ran(tmp_path, "-n", "2")
    alone, two = found(audited[1] / "deep" / "record.json"), found(tmp_path / "deep" / "record.json")
    seeded = [[one for one in each if one["target"] != "randomise"] for each in (alone, two)]
    assert seeded[0] == seeded[1]
    first = [one for one in alone if "test_0_" in one.get("replay", "")]
    (line,) = {one["replay"] for one in first if one["verdict"] == "violated"}
    ran(tmp_path, *shlex.split(line)[1:])
    assert [one for one in found(tmp_path / "deep" / "record.json") if one["attack"] == "precision"] == [
        one for one in first if one["attack"] == "precision"
    ]


def test_a_proof_passes_its_test_only_if_every_pair_is_proved_and_takes_no_part_of_alpha(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(module_of(PROOFS, "dp_prove"), "utf-8")
    out = ran(tmp_path)
    require_table(PROOFS, out)
    assert "\na proof is for the pairs or inputs that it was given, and no others\n" in out
    assert not any(inside in out for inside in ("α = 1e-06", "Traceback", "proof.py:", "targets.py:"))
    record = read_record(tmp_path / "deep" / "record.json")
    assert {test["alpha"] for test in record["tests"]} == {None}
    verdicts = {finding.target: finding.verdict for finding in record["findings"]}
    assert (verdicts["count"], verdicts["failing"]) == (Verdict.PROVED, Verdict.ERROR)


def test_code_around_the_noise_that_leaks_fails_with_its_line(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        """
AGES = NeighbouringPair(np.array([31.0, 64.0, 22.0]), np.array([31.0, 64.0]), Relation.ADD_REMOVE)
WORST = NeighbouringPair(np.array([100.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(4), Relation.ADD_REMOVE)

def by_the_count(ages):
    return np.clip(ages, 0, 100).sum() / len(ages) + np.random.laplace(0, 100 / len(ages))

def by_a_noisy_count(ages, scale=2.0):
    total = np.clip(ages, 0, 100).sum() + np.random.laplace(0, 100 * scale)
    return total / (len(ages) + np.random.laplace(0, scale))

@pytest.mark.parametrize("function", [by_the_count, by_a_noisy_count])
@pytest.mark.dp_claim(epsilon=1.0, kind="dataset", pairs=[AGES, WORST])
def test_it(dp_audit, function):
    dp_audit(one_by_one(function), ideal_noise=True)
""",
    )
    result = pytester.runpytest_inprocess("--dp-trials=3000", "--dp-json=record.json")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["FAIL  by_the_count *", "Run again  pytest *by_the_count*"])
    verdicts = [test["verdict"] for test in read_record(pytester.path / "record.json")["tests"]]
    assert verdicts == [Verdict.NOT_DETECTED, Verdict.VIOLATED]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--dp-alpha=1.5", "--dp-alpha: must be a number between 0 and 1, not '1.5'"),
        ("--dp-trials=0", "--dp-trials: must be a whole number of at least 1, not '0'"),
        ("--dp-seconds=nan", "--dp-seconds: must be a number greater than 0, not 'nan'"),
        ("--dp-attacks=precise", "--dp-attacks: unknown precise; choose from *"),
        ("--dp-json=.", "--dp-json: cannot write to .: it is a folder"),
        ("--dp-sarif=/dev/null/log.sarif", "--dp-sarif: cannot write to /dev/null: "),
        ("--dp-json=test_ours.py", "--dp-json: test_ours.py was not written by attacklab, so it is kept"),
    ],
)
def test_a_wrong_option_is_a_usage_error(pytester: pytest.Pytester, option: str, message: str) -> None:
    pytester.makepyfile(test_ours="def test_it(): pass")
    result = pytester.runpytest_inprocess(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_file_that_cannot_be_written_costs_neither_the_other_nor_the_summary(pytester: pytest.Pytester) -> None:
    written(pytester, "def test_it(dp_audit):\n    dp_audit(Target.noise(sound, epsilon=1.0))\n")
    result = pytester.runpytest_inprocess(FEW, "--dp-json=/dev/full", "--dp-sarif=scan.sarif", "--dp-attacks=precision")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["cannot write to /dev/full: No space left on device", "PASS *"])
    assert (pytester.path / "scan.sarif").is_file()


def test_settings_are_read_from_the_ini_file_and_options_go_before_them(pytester: pytest.Pytester) -> None:
    written(pytester, "def test_it(dp_audit):\n    dp_audit(OWN)\n")
    ini = "[pytest]\ndp_alpha = 1e-4\ndp_trials = 2000\ndp_seed = 5\ndp_attacks = precision\ndp_json = record.json\n"
    pytester.makeini(f"{ini}filterwarnings = error\n")
    result = pytester.runpytest_subprocess("--strict-config", "--strict-markers", "-n", "0", "--dp-seed=6")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["α = 0.0001*"])
    record = read_record(pytester.path / "record.json")
    (test,) = record["tests"]
    assert (test["alpha"], test["trials"], test["seed"]) == (1e-4, 2000, 6)
    assert {finding.attack for finding in record["findings"]} == {"precision"}
    pytester.makeini("[pytest]\ndp_trials = few\n")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini setting dp_trials: must be a whole number of at least 1, not 'few'*"])


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "gmpy2", "attacklab.model.targets", "attacklab.model.findings")
    code = (
        f"import sys, pytest, attacklab.pytest_plugin; sys.exit(str([name for name in {heavy} if name in sys.modules]))"
    )
    done = run([sys.executable, "-c", code])
    assert done.stderr.strip() == "[]"


def test_the_how_to_runs_as_it_stands(pytester: pytest.Pytester) -> None:
    text = (ROOT / "docs" / "how_to" / "pytest.md").read_text("utf-8")
    examples = re.findall(r"<!-- (test_\w+\.py): (.*?) -->\n```python\n(.*?)```", text, flags=re.DOTALL)
    assert [name for name, _, _ in examples] == ["test_privacy.py", "test_noise.py", "test_claim.py", "test_weights.py"]
    for name, outcome, code in examples:
        (pytester.path / name).write_text(code, encoding="utf-8")
        expected = {word.rstrip(","): int(number) for number, word in re.findall(r"(\d+) (\w+)", outcome)}
        pytester.runpytest_inprocess(FEW, name).assert_outcomes(**expected)


def test_the_how_to_names_every_option() -> None:
    text = (ROOT / "docs" / "how_to" / "pytest.md").read_text("utf-8")
    for option in OPTIONS:
        assert f"| `{option.flag} " in text
    assert all(f"`{name}`" in text for name in re.findall(r"\w+", CLAIM_ARGUMENTS))
