"""The fixture `dp_prove`, by pytest inside pytest: what passes, what fails and how, and what is told of it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from attacklab.model.findings import Verdict, read_record

pytest_plugins = ["pytester"]

SAMPLERS = """
import pytest
from attacklab import Domain, NeighbouringPair, REJECTED, Target

def third(bits):
    drawn = bits.take(2)
    return REJECTED if drawn == 3 else int(drawn)

def response(answer, bits):
    return int(bool(answer) ^ (bits.repeat(third) == 0))

def geometric(bits):
    heads = 0
    while bits.take(1):
        heads += 1
    return heads

def signed(bits):
    sign, size = bits.take(1), bits.call(geometric)
    if sign and size == 0:
        return REJECTED
    return -size if sign else size

def count(answer, bits):
    return int(answer) + bits.repeat(signed)

def from_two(answer, bits):
    return response(answer, bits) if answer < 2 else 2

def failing(answer, bits):
    raise RuntimeError("no entropy left")

def endless(answer, bits):
    while True:
        pass

def release(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

def step(first):
    return NeighbouringPair.answers(first, first + 1, sensitivity=1.0)

PAIRED = Target.noise(release, epsilon=0.7, pairs=[step(0), step(1)], name="paired").exact(from_two)
"""


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=SAMPLERS + body)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)


def one(call: str, marker: str = "epsilon=0.7") -> str:
    return f"""
@pytest.mark.dp_claim({marker})
def test_it(dp_prove):
    {call}
"""


def test_a_proved_sampler_passes_and_returns_its_findings(pytester: pytest.Pytester) -> None:
    result = run(
        pytester, one("(found,) = dp_prove(response); assert found.verdict == 'proved' and found.claim.epsilon == 0.7")
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*= differential-privacy audits =*",
            "PROVED  response   test_it.py::test_it   claims ε = 0.7, for this pair",
            "a proof is for the pairs or inputs that it was given, and no others",
        ]
    )
    assert "α = " not in result.stdout.str()


def test_a_refuted_claim_fails_with_the_pair_the_event_and_the_bound(pytester: pytest.Pytester) -> None:
    result = run(pytester, one("dp_prove(response)", "epsilon=0.6"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL  response   test_it.py::test_it   claims ε = 0.6, shown: ε ≥ 0.693",
            "* exact law *exact laws",
            "  inputs: 0.0 and 1.0",
            "Run again  pytest test_it.py::test_it",
        ]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("call", "first", "reason"),
    [
        ("dp_prove(failing)", "ERROR  failing *", "*RuntimeError*no entropy left*"),
        (
            "dp_prove(endless, seconds=2.0)",
            "NOT PROVED  endless *",
            "  2 s were not enough*",
        ),
    ],
)
def test_a_proof_that_was_not_found_is_not_a_pass(
    call: str, first: str, reason: str, pytester: pytest.Pytester
) -> None:
    result = run(pytester, one(call))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([first, reason])


def test_every_pair_that_the_target_declares_must_be_proved(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_it(dp_prove):\n    dp_prove(PAIRED)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL  paired *", "  inputs: 1.0 and 2.0"])


PROVED = [
    ("", "dp_prove(PAIRED, pairs=[step(0)])"),
    ("epsilon=0.7", "dp_prove(from_two, pairs=(step(0),))"),
    ("epsilon=0.7, pairs=[step(0)]", "dp_prove(from_two)"),
    ("epsilon=0.7, domain='integers'", "dp_prove(count)"),
    ("rdp={2: 0.5}, sensitivity=1.0", "dp_prove(response)"),
]
REFUSED = [
    ("", "dp_prove(response)", "a function needs a claim; mark the test dp_claim("),
    ("epsilon=0.7", "dp_prove(release)", "release has no sampler, so its law cannot be found; write a sampler("),
    ("epsilon=0.7", "dp_prove(PAIRED)", "but paired has its own claim; leave one out"),
    ("epsilon=0.7", "dp_prove(response, pairs=[])", "dp_prove was given no pairs; leave pairs= out"),
    ("epsilon=0.7", "dp_prove(response, pairs=step(0))", "pairs must be neighbouring pairs in a tuple, not a Neighb"),
    ("epsilon=0.7", "dp_prove(response, pairs=[(0, 1)])", "pair 0 must be a NeighbouringPair, not a tuple"),
    ("epsilon=0.7", "dp_prove(response, pairs=[step(0)], inputs=[0, 1])", "dp_prove takes pairs or inputs; leave one"),
    ("epsilon=0.7, kind='dataset'", "dp_prove(response)", "a dataset target needs a pair of its own; give"),
    ("epsilon=0.7", "dp_prove(response); dp_prove(response)", "a test audits or proves one target, and only once"),
]
"""The claim of a marker, what a test does, and the message that it fails with."""


def test_pairs_and_claims_come_from_the_call_or_the_marker_and_what_cannot_be_proved_fails_in_words(
    pytester: pytest.Pytester,
) -> None:
    body = ""
    for number, (marker, call, *_) in enumerate([*REFUSED, *PROVED]):
        body += f"\n@pytest.mark.dp_claim({marker})" if marker else ""
        body += f"\ndef test_{number}_(dp_prove, dp_audit):\n    {call}\n"
    result = run(pytester, body)
    result.assert_outcomes(failed=len(REFUSED), passed=len(PROVED))
    sections = re.split(r"(?m)^_+ test_(\d+)_ _+$", result.stdout.str().partition("short test summary")[0])
    told = dict(zip(sections[1::2], sections[2::2], strict=True))
    for number, (marker, call, message) in enumerate(REFUSED):
        assert message in told[str(number)], (marker, call)
    for inside in ("proof.py:", "loading.py:", "targets.py:"):
        assert inside not in result.stdout.str()


def test_proofs_take_no_part_of_alpha(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.dp_claim(epsilon=0.7)
def test_proof(dp_prove):
    dp_prove(response)

def test_audit(dp_audit):
    dp_audit(Target.noise(lambda answer, trials, rng: [0] * trials, epsilon=1.0, name="constant"))
"""
    result = run(pytester, body, "--dp-trials=100", "--dp-json=all.json", "--dp-attacks=precision")
    record = json.loads((pytester.path / "all.json").read_text("utf-8"))
    assert {test["test"]: test["alpha"] for test in record["tests"]} == {
        "test_it.py::test_audit": 1e-6,
        "test_it.py::test_proof": None,
    }
    result.stdout.fnmatch_lines(["α = 1e-06 for the run; *", "a proof is for the pairs or inputs that it was given, *"])


def test_the_files_hold_the_findings_of_proofs(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.dp_claim(epsilon=0.7)
@pytest.mark.parametrize("sampler", [response, count, failing])
def test_it(dp_prove, sampler):
    dp_prove(sampler)
"""
    run(pytester, body, "--dp-json=all.json", "--dp-sarif=all.sarif", "--junit-xml=junit.xml").assert_outcomes(
        passed=2, failed=1
    )
    findings = read_record(pytester.path / "all.json")["findings"]
    verdicts = {finding.target: finding.verdict for finding in findings}
    assert verdicts == {"response": Verdict.PROVED, "count": Verdict.PROVED_WITH_SLACK, "failing": Verdict.ERROR}
    (sarif,) = json.loads((pytester.path / "all.sarif").read_text("utf-8"))["runs"]
    told: list[dict[str, Any]] = sarif["invocations"][0]["toolExecutionNotifications"]
    assert sorted(one["level"] for one in told) == ["error", "note"]
    cases = ET.parse(pytester.path / "junit.xml").iter("testcase")  # noqa: S314 - our own file
    names = [{one.get("name") for one in case.iter("property")} for case in cases]
    assert names == [{"dp_verdict", "dp_summary"}] * 3


def test_nothing_heavy_is_imported_before_something_is_proved(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="import sys\n\ndef test_it(dp_prove):\n    assert 'attacklab.laws.proof' not in sys.modules\n"
        "    with __import__('pytest').raises(Exception):\n        dp_prove(None)\n"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "0").assert_outcomes(passed=1)


PAGE = Path(__file__).parents[4] / "docs" / "how_to" / "pytest.md"


def test_the_page_on_pytest_says_which_verdicts_pass() -> None:
    table = PAGE.read_text("utf-8").partition("## What fails a test")[2]
    for verdict in {*Verdict} - {Verdict.NOT_APPLICABLE}:
        assert f"| {verdict} | " in table


def test_every_pair_among_inputs_is_proved_and_the_summary_says_how_many(pytester: pytest.Pytester) -> None:
    result = run(pytester, one("dp_prove(response, inputs=[0, 1, 0.5])"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PROVED  response *, for every pair of neighbours among 3 inputs (3 pairs)"])
