"""The pytest plugin, by pytest inside pytest: verdicts, messages, options, files, workers, and what it loads."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from attacklab.auditing.clock import STEPS
from attacklab.model.claims import Renyi
from attacklab.model.findings import Verdict, read_record
from attacklab.pytest_plugin.hooks import CLAIM_ARGUMENTS
from attacklab.pytest_plugin.options import OPTIONS

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[4]
FEW = "--dp-trials=3000"

MECHANISMS = """
import math

import numpy as np
import pytest
from attacklab import NeighbouringPair, Relation, Target, one_by_one

def leaking(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

def sound(answer, trials, rng):
    stop = -np.expm1(-1.0)
    return math.floor(answer) + rng.geometric(stop, trials) - rng.geometric(stop, trials)

def broken_down(answer, trials, rng):
    raise RuntimeError("no entropy left")
"""

BOTH = (
    MECHANISMS
    + """
@pytest.mark.parametrize("release", [leaking, sound])
def test_it(dp_audit, release):
    dp_audit(Target.noise(release, epsilon=1.0))
"""
)


def written(pytester: pytest.Pytester, body: str) -> None:
    pytester.makepyfile(test_it=MECHANISMS + body)


def found(path: Path) -> list[dict[str, Any]]:
    """The findings of a record, without how long they took."""
    return [{**finding.to_json(), "seconds": 0.0} for finding in read_record(path)["findings"]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """What pytest prints of the two mechanisms, and the folder where it writes all files that it can."""
    folder = tmp_path_factory.mktemp("both")
    (folder / "test_it.py").write_text(BOTH)
    options = [FEW, "--dp-json=deep/record.json", "--dp-sarif=scan.sarif", "--junit-xml=junit.xml"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - our own
    assert done.stderr == ""
    return done.stdout.splitlines(), folder


def test_a_leaking_mechanism_fails_with_pair_event_counts_and_bound(both: tuple[list[str], Path]) -> None:
    pytest.LineMatcher(both[0]).fnmatch_lines(
        [
            "FAIL  leaking   test_it.py::test_it[[]leaking[]]   claims ε = 1.0, shown:*",
            "  AL04 low bits * of * : 0 of *",
            "Fix        exactdp.laplace(epsilon=1.0, sensitivity=1.0, step=2[*][*]-10)(answer)",
            "Run again  pytest 'test_it.py::test_it[[]leaking[]]' *",
        ]
    )
    assert not any("Traceback" in line for line in both[0])


def test_a_sound_mechanism_passes_and_the_summary_states_the_power(both: tuple[list[str], Path]) -> None:
    pytest.LineMatcher(both[0]).fnmatch_lines(
        [
            "*= differential-privacy audits =*",
            "PASS (no proof)  sound   test_it.py::test_it[[]sound[]]   claims ε = 1.0",
            "α = 1e-06 for the run; nothing detected is not a proof",
            "*1 failed, 1 passed*",
        ]
    )


def test_the_record_says_which_findings_are_whose(both: tuple[list[str], Path]) -> None:
    record = read_record(both[1] / "deep" / "record.json")
    verdicts = {}
    for test in record["tests"]:
        verdicts[test["test"]] = test["verdict"]
        names = {record["findings"][number].target for number in test["findings"]}
        assert names == {"leaking" if "leaking" in test["test"] else "sound"}
    assert verdicts == {"test_it.py::test_it[leaking]": "violated", "test_it.py::test_it[sound]": "not detected"}
    assert sum(len(test["findings"]) for test in record["tests"]) == len(record["findings"])


def test_the_sarif_log_places_the_flaw_at_the_test(both: tuple[list[str], Path]) -> None:
    (run,) = json.loads((both[1] / "scan.sarif").read_text("utf-8"))["runs"]
    line = BOTH.splitlines().index('@pytest.mark.parametrize("release", [leaking, sound])') + 1
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "test_it.py"
        assert place["region"]["startLine"] == line
    assert {result["ruleId"] for result in run["results"]} == {"AL04"}
    assert {result["properties"]["target"] for result in run["results"]} == {"leaking"}


def test_what_the_alignment_finds_stands_first_and_leaves_the_sampled_verdict(both: tuple[list[str], Path]) -> None:
    findings: dict[str, list[dict[str, Any]]] = {"leaking": [], "sound": []}
    for finding in found(both[1] / "deep" / "record.json"):
        findings[finding["target"]].append(finding)
    for of_target in findings.values():
        aligned = [finding["attack"] == "alignment" for finding in of_target]
        assert aligned == [True, *[False] * (len(of_target) - 1)]
        assert of_target[0]["verdict"] == Verdict.NOT_DETECTED
        assert "costs ε = 1 of ε = 1.0" in of_target[0]["reason"] or "no witness: " in of_target[0]["reason"]
        assert of_target[0]["replay"].startswith("pytest 'test_it.py::test_it[")


def test_junit_properties_say_what_was_found(both: tuple[list[str], Path]) -> None:
    cases = ET.parse(both[1] / "junit.xml").iter("testcase")  # noqa: S314 - our own file
    said = {
        str(case.get("name")): {one.get("name"): one.get("value") for one in case.iter("property")} for case in cases
    }
    assert said["test_it[leaking]"]["dp_verdict"] == "violated"
    assert str(said["test_it[leaking]"]["dp_summary"]).startswith("FAIL  leaking ")
    sound = said["test_it[sound]"]
    assert (sound["dp_verdict"], sound["dp_trials"], sound["dp_seed"]) == ("not detected", "3000", "0")
    assert float(str(sound["dp_alpha"])) == 5e-7


def test_two_workers_find_what_one_process_finds(both: tuple[list[str], Path], pytester: pytest.Pytester) -> None:
    (pytester.path / "test_it.py").write_text(BOTH)
    result = pytester.runpytest_subprocess(FEW, "--dp-json=two.json", "-n", "2")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*differential-privacy audits*", "FAIL  leaking*", "PASS (no proof)  sound*"])
    alone, two = both[1] / "deep" / "record.json", pytester.path / "two.json"
    assert found(alone) == found(two)
    assert json.loads(alone.read_text("utf-8"))["tests"] == json.loads(two.read_text("utf-8"))["tests"]


OWN_CLAIM = "Target.noise(sound, epsilon=1.0)"
FAILING = [
    ("", "dp_audit(Target.noise(broken_down, epsilon=1.0))", "RuntimeError: no entropy left"),
    ("epsilon=1.0", "dp_audit(lambda answer: None)", "times of 16,384 on both inputs: is this the function you mean?"),
    ("", "dp_audit(Target.dataset(sound, epsilon=1.0))", "does not say which datasets it takes"),
    ("", f"dp_audit({OWN_CLAIM}, attacks=[])", "UsageError: dp_audit was given no attacks; leave attacks= out"),
    ("", "dp_audit(sound)", "TypeError: a function needs a claim; mark the test dp_claim(epsilon=...), or"),
    ("", "dp_audit(3)", "TypeError: dp_audit takes a Target or a release function, not 3"),
    ("", f"[dp_audit({OWN_CLAIM}) for _ in range(2)]", "a test audits or proves one target, and only once"),
    ("epsilon=1.0", f"dp_audit({OWN_CLAIM})", "gives epsilon, but sound has its own claim; leave one out"),
    ("rdp=(2, 1)", "dp_audit(sound)", "rdp must be {alpha: epsilon} or pairs (alpha, epsilon), not (2, 1)"),
    ("claim=0.5", "dp_audit(sound)", "claim must be a claim, such as PrivacyClaim(1.0), not 0.5"),
    ("epsilon=1.0, kind='summ'", "dp_audit(sound)", "kind must be one of noise, selection, "),
    ("epsilon=1.0, kind='sum', bounds=(0, 1), relation='edge'", "dp_audit(sound)", "must be add-remove or substitute"),
    (
        "relation='substitute'",
        "dp_audit(Target.dataset(sound, epsilon=1.0, relation='add-remove'))",
        "gives substitute, but sound claims for add-remove neighbours",
    ),
]  # fmt: skip
"""The claim of a marker, what a test does, and the message that it fails with."""


def test_what_decides_nothing_or_contradicts_itself_fails_in_words(pytester: pytest.Pytester) -> None:
    body = ""
    for number, (marker, call, _) in enumerate(FAILING):
        body += f"\n@pytest.mark.dp_claim({marker})" if marker else ""
        body += f"\ndef test_{number}_(dp_audit):\n    {call}\n"
    written(pytester, f"{body}\ndef test_late(request):\n    request.getfixturevalue('dp_audit')\n")
    result = pytester.runpytest_inprocess("--dp-trials=300")
    result.assert_outcomes(failed=len(FAILING) + 1)
    sections = re.split(r"(?m)^_+ test_(\w+) _+$", result.stdout.str().partition("short test summary")[0])
    told = dict(zip(sections[1::2], sections[2::2], strict=True))
    for number, (marker, call, message) in enumerate(FAILING):
        assert message in " ".join(told[f"{number}_"].split()), (marker, call)
    assert "make dp_audit an argument of the test" in told["late"]
    assert "in _claimed" not in result.stdout.str()


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("1.0", "dp_claim takes only the keyword arguments *; remove 1.0"),
        (
            "epsilon=1.0, rho=0.5",
            "dp_claim takes one claim: epsilon (and delta), rho, mu, rdp or claim, not epsilon and rho together",
        ),
        ("mu=1.0, delta=1e-6", "dp_claim takes one claim: *, not mu and delta together"),
        (
            "epsilom=1.0",
            "dp_claim takes only the keyword arguments epsilon, delta, rho, mu, rdp, claim, sensitivity, "
            "bounds, kind, relation, domain, pairs; remove epsilom",
        ),
    ],
)
def test_a_wrong_marker_stops_the_collection(pytester: pytest.Pytester, marker: str, message: str) -> None:
    written(pytester, f"@pytest.mark.dp_claim({marker})\ndef test_it(dp_audit):\n    dp_audit(sound)\n")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*test_it.py::test_it: {message}*"])


def test_a_relation_keeps_the_pairs_to_it(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        "def coarse(records, trials, rng):\n    return np.round(np.mean(records) + rng.laplace(0, 20, trials))\n"
        "@pytest.mark.dp_claim(relation='substitute')\n"
        "def test_it(dp_audit):\n    dp_audit(Target.mean(coarse, bounds=(0.0, 1.0), epsilon=1.0))\n",
    )
    pytester.runpytest_inprocess("--dp-trials=100", "--dp-attacks=black_box,missing_clip", "--dp-json=record.json")
    pairs = [finding.pair for finding in read_record(pytester.path / "record.json")["findings"] if finding.pair]
    assert {pair["relation"] for pair in pairs} == {"substitute"}


def test_code_around_the_noise_that_leaks_fails_with_its_line(
    pytester: pytest.Pytester,
) -> None:
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

def too_much_in_all(ages):  # a quotient of AGES loses 0.999 by numerical integration, and one of WORST 1.65
    return by_a_noisy_count(ages, scale=1.0)

@pytest.mark.parametrize("function", [by_the_count, by_a_noisy_count, too_much_in_all])
@pytest.mark.dp_claim(epsilon=1.0, kind="dataset", pairs=[AGES, WORST])
def test_it(dp_audit, function):
    dp_audit(one_by_one(function), ideal_noise=True)
""",
    )
    result = pytester.runpytest_inprocess("--dp-trials=30000", "--dp-json=record.json")
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["FAIL  by_the_count *", "Run again  pytest *by_the_count*"])
    result.stdout.fnmatch_lines(["FAIL  too_much_in_all *", "  AL23 frozen noise *"])
    verdicts = [test["verdict"] for test in read_record(pytester.path / "record.json")["tests"]]
    assert verdicts == [Verdict.NOT_DETECTED, Verdict.VIOLATED, Verdict.VIOLATED]


def test_the_replay_line_gives_the_same_findings(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=BOTH)
    options = ("--dp-alpha=1e-5", "--dp-seed=7", "--dp-attacks=precision,integer_cast")
    pytester.runpytest_inprocess(FEW, *options, "--dp-json=first.json")
    (line,) = {one["replay"] for one in found(pytester.path / "first.json") if one["verdict"] == "violated"}
    again = pytester.runpytest_inprocess(*shlex.split(line)[1:], "--dp-json=again.json")
    again.assert_outcomes(failed=1)
    leaking = [finding for finding in found(pytester.path / "first.json") if finding["target"] == "leaking"]
    assert leaking == found(pytester.path / "again.json")
    assert {finding["attack"] for finding in leaking} == {"precision"}


def test_alpha_is_split_over_the_tests_that_audit_and_were_selected(pytester: pytest.Pytester) -> None:
    body = "def test_nothing():\n    pass\n"
    pytester.makepyfile(test_it=BOTH + body)
    for selected, share in (("it", 5e-7), ("sound or nothing", 1e-6)):
        pytester.runpytest_inprocess(FEW, "-k", selected, "--dp-json=record.json")
        record = read_record(pytester.path / "record.json")
        assert {test["alpha"] for test in record["tests"]} == {share}
        for test in record["tests"]:
            findings = [record["findings"][number] for number in test["findings"]]
            spent = sum(finding.alpha for finding in findings if finding.alpha is not None)
            # Of one round of two; attacks that apply and find nothing to try have their part too.
            assert 0 < spent < share / 2
            assert test["verdict"] == "violated" or spent > share / 4


def test_files_are_written_where_nothing_was_audited(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_nothing():\n    pass\n")
    result = pytester.runpytest_inprocess("--dp-json=record.json", "--dp-sarif=scan.sarif")
    assert read_record(pytester.path / "record.json")["findings"] == []
    assert json.loads((pytester.path / "scan.sarif").read_text("utf-8"))["runs"][0]["results"] == []
    assert "differential-privacy audits" not in result.stdout.str()


def test_an_audit_in_a_fixture_counts_like_one_in_a_test(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        "@pytest.fixture\ndef checked(dp_audit):\n    dp_audit(Target.noise(leaking, epsilon=1.0))\n"
        "def test_it(checked):\n    pass\n",
    )
    result = pytester.runpytest_inprocess(FEW, "--dp-json=record.json")
    result.assert_outcomes(errors=1)
    (test,) = read_record(pytester.path / "record.json")["tests"]
    assert (test["verdict"], test["alpha"]) == (Verdict.VIOLATED, 1e-6)


def test_the_marker_gives_a_release_function_its_claim(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        "@pytest.mark.dp_claim(epsilon=0.5, delta=1e-9, sensitivity=0.25, kind='noise')\n"
        "def test_it(dp_audit):\n    dp_audit(leaking)\n",
    )
    pytester.runpytest_inprocess("--strict-markers", FEW, "--dp-json=record.json").assert_outcomes(failed=1)
    finding = read_record(pytester.path / "record.json")["findings"][0]
    assert (finding.claim.epsilon, finding.claim.delta, finding.target) == (0.5, 1e-9, "leaking")


def test_a_claim_of_another_kind_is_told_in_words_with_the_point_where_it_was_judged(pytester: pytest.Pytester) -> None:
    words = "(α, ε)-RDP at (2.0, 0.25), (4, 0.5)"
    written(
        pytester, "@pytest.mark.dp_claim(rdp=[(2.0, 0.25), (4, 0.5)])\ndef test_it(dp_audit):\n    dp_audit(leaking)\n"
    )
    options = (FEW, "--dp-json=record.json", "--dp-sarif=scan.sarif", "--dp-attacks=black_box")
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(failed=1)
    lines = result.outlines
    assert any(line.startswith(f"FAIL  leaking   test_it.py::test_it   claims {words[:9]}") for line in lines)
    findings = read_record(pytester.path / "record.json")["findings"]
    (refuted,) = [finding for finding in findings if finding.verdict is Verdict.VIOLATED]
    assert refuted.claim == Renyi((2.0, 4), (0.25, 0.5))
    (one,) = json.loads((pytester.path / "scan.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert f"does not keep its claim ({words})" in one["message"]["text"]
    shown = re.search(r"judged at ε = (\S+), δ = ([^\s:]+)", one["message"]["text"])
    assert shown is not None
    epsilon, delta = map(float, shown.groups())
    assert refuted.judged_at.epsilon <= epsilon <= 1.001 * refuted.judged_at.epsilon
    assert refuted.judged_at.delta <= delta <= 1.01 * refuted.judged_at.delta


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


def test_a_method_of_one_value_is_audited_under_the_claim_of_the_marker(pytester: pytest.Pytester) -> None:
    method = """
        import random

        class Mechanism:
            def randomise(self, value):
                return value + random.expovariate(1.0) - random.expovariate(1.0)

        @pytest.mark.dp_claim(epsilon=1.0)
        def test_it(dp_audit):
            random.seed(1)
            dp_audit(Mechanism().randomise)
    """
    written(pytester, textwrap.dedent(method))
    result = pytester.runpytest_inprocess(FEW, "--dp-attacks=precision")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL *randomise *", "Fix        exactdp.laplace(*"])


def test_a_test_that_goes_elsewhere_takes_no_file_with_it(pytester: pytest.Pytester) -> None:
    going = "def test_it(dp_audit, tmp_path):\n    os.chdir(tmp_path)\n    dp_audit(Target.noise(sound, epsilon=1.0))\n"
    written(pytester, f"import os\n{going}")
    here = Path.cwd()
    try:
        pytester.runpytest_inprocess(FEW, "--dp-json=record.json", "--dp-attacks=precision")
    finally:
        os.chdir(here)
    assert read_record(pytester.path / "record.json")["tests"]


def test_settings_are_read_from_the_ini_file_and_options_go_before_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=BOTH)
    pytester.makeini(
        "[pytest]\ndp_alpha = 1e-4\ndp_trials = 2000\ndp_seed = 5\ndp_attacks = precision\ndp_json = record.json\n"
    )
    pytester.runpytest_inprocess("--strict-config", "-k", "sound", "--dp-seed=6")
    record = read_record(pytester.path / "record.json")
    (test,) = record["tests"]
    assert (test["alpha"], test["trials"], test["seed"]) == (1e-4, 2000, 6)
    assert {finding.attack for finding in record["findings"]} == {"precision"}
    pytester.makeini("[pytest]\ndp_trials = few\n")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini setting dp_trials: must be a whole number of at least 1, not 'few'*"])


def test_help_and_markers_are_listed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--help")
    result.stdout.fnmatch_lines(["differential-privacy audits:", "*--dp-alpha=P*", "*--dp-sarif=PATH*"])
    assert len(set(re.findall(r"--dp-[a-z]+", result.stdout.str()))) == 7
    pytester.runpytest_inprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.dp_claim(epsilon=, *"])
    pytester.runpytest_inprocess("--fixtures").stdout.fnmatch_lines(["dp_audit*"])


def test_without_a_number_of_trials_the_summary_says_how_many_fitted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=BOTH)
    result = pytester.runpytest_inprocess("-k", "sound", "--dp-seconds=6", "--dp-json=record.json")
    result.assert_outcomes(passed=1, deselected=1)
    (test,) = read_record(pytester.path / "record.json")["tests"]
    assert test["trials"] in STEPS


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "gmpy2", "attacklab.model.targets", "attacklab.model.findings")
    code = (
        f"import sys, pytest, attacklab.pytest_plugin; sys.exit(str([name for name in {heavy} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)  # noqa: S603 - our own code
    assert done.stderr.strip() == "[]"


def test_the_sample_project_fails_for_its_broken_mechanism_alone(pytester: pytest.Pytester) -> None:
    pytester.copy_example(str(ROOT / "tests" / "sample_project"))
    result = pytester.runpytest_subprocess(FEW, "-n", "0")
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["PASS *geometric_count*", "FAIL *laplace_count*", "α = 1e-07*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


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
    assert all(f"`{name}`" in text for name in CLAIM_ARGUMENTS)


def test_the_example_attack_runs_as_it_stands_and_fails_a_test_that_it_is_handed(pytester: pytest.Pytester) -> None:
    text = (ROOT / "docs" / "how_to" / "writing_an_attack.md").read_text("utf-8")
    files = dict(re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", text, flags=re.DOTALL))
    assert set(files) == {"fraction.py", "test_fraction.py"}
    assert len(files["fraction.py"].splitlines()) <= 60
    for name, code in files.items():  # in a project of its own the attack is a module of that project
        (pytester.path / name).write_text(code.replace("attacklab.attacks.fraction", "fraction"), encoding="utf-8")
    own = "def test_own(dp_audit):\n    dp_audit(Target.noise(kept, epsilon=1.0), attacks=[FRACTION])\n"
    (pytester.path / "test_own.py").write_text(f"from test_fraction import FRACTION, Target, kept\n{own}", "utf-8")
    pytester.syspathinsert()
    pytester.runpytest_inprocess("test_fraction.py").assert_outcomes(passed=2)
    result = pytester.runpytest_inprocess("test_own.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*fraction*"])


def test_a_claim_that_no_sample_can_refute_skips_its_test_and_says_why(pytester: pytest.Pytester) -> None:
    written(pytester, "def test_it(dp_audit):\n    dp_audit(Target.noise(sound, epsilon=20.0))\n")
    result = pytester.runpytest_inprocess(FEW, "-rs", "--dp-json=found.json")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * UNDECIDED  sound *: no fewer than * trials could refute ε = 20.0*"])
    verdicts = {finding["verdict"] for finding in found(pytester.path / "found.json")}
    assert verdicts == {"untestable", "not applicable"}


def test_a_test_that_takes_a_fixture_and_never_calls_it_fails(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        """
def test_nothing(dp_audit):
    pass

def test_no_proof(dp_prove):
    pass

def test_skipped(dp_audit):
    pytest.skip("no reason")

def test_refused(dp_audit):
    with pytest.raises(TypeError):
        dp_audit(leaking)

@pytest.mark.xfail(strict=True)
def test_expected(dp_audit):
    assert False
""",
    )
    result = pytester.runpytest("-n0")
    result.assert_outcomes(failed=2, skipped=1, passed=1, xfailed=1)
    result.stdout.fnmatch_lines(["*test_nothing takes dp_audit and never calls it, so nothing was tested; call it"])
    result.stdout.fnmatch_lines(["*test_no_proof takes dp_prove and never calls it, so nothing was tested; call it"])


def test_a_marker_on_a_test_without_a_fixture_fails_it(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        """
@pytest.mark.dp_claim(epsilon=1.0)
def test_nothing():
    pass

@pytest.mark.dp_claim(epsilon=1.0)
def test_asks_for_it(request):
    request.getfixturevalue("dp_prove")

@pytest.mark.dp_claim(epsilon=1.0)
def test_fails():
    assert False

@pytest.mark.dp_claim(epsilon=1.0)
class TestOthers:
    def test_of_something_else(self):
        pass
""",
    )
    result = pytester.runpytest("-n0")
    result.assert_outcomes(failed=3, passed=1)
    told = (
        "*has the marker dp_claim and takes no fixture that tests it, so nothing was tested; make dp_audit or dp_prove"
    )
    result.stdout.fnmatch_lines([f"*test_nothing {told[1:]} an argument of the test, and call it with the target"])


def test_a_target_that_no_seed_replays_has_no_replay_line(pytester: pytest.Pytester) -> None:
    written(
        pytester,
        """
import random

def legacy(answer, trials, rng):
    return [answer + random.expovariate(1.0) - random.expovariate(1.0) for _ in range(trials)]

def test_legacy(dp_audit):
    dp_audit(Target.noise(legacy, epsilon=1.0))
""",
    )
    result = pytester.runpytest("-n0", "--dp-attacks=low_bit_laplace", FEW)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Run again  not exactly: your function makes its own random numbers"])
