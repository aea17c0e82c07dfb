"""SARIF logs: refuted claims are results, what could not be decided is said, and nothing reads as a pass."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from attacklab.auditing.flaws import catalogue
from attacklab.model.claims import PrivacyClaim, ZeroConcentrated
from attacklab.model.findings import FAILURE, Counts, Finding, Verdict, to_text
from attacklab.reporting.sarif import Place, sarif_log
from tests.system.sarif_logs import require_valid

VIOLATED = Finding(
    target="my_laplace",
    target_version="1.2",
    attack="precision",
    verdict=Verdict.VIOLATED,
    reason="P[E] in [0.4, 0.6] and Q[E] in [0, 0.1] need ε ≥ 2",
    claim=PrivacyClaim(1.0),
    pair={"relation": None, "first": {"hex": ["0x0.0p+0"]}, "second": {"hex": ["0x1.0p+0"]}},
    event="an even number",
    counts=Counts(50, 0, 100),
    epsilon_lower=math.inf,
)
PLACE = Place("tests/test_noise.py", 12)


def test_a_refuted_claim_is_an_error_at_its_place_under_the_rule_of_its_attack() -> None:
    (run,) = sarif_log([(VIOLATED, PLACE)])["runs"]
    (result,) = run["results"]
    assert result["level"] == "error"
    assert "my_laplace does not keep its claim (ε = 1.0)" in result["message"]["text"]
    assert "an even number" in result["message"]["text"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "precision"
    assert rule["shortDescription"]["text"] == "some floats cannot be the sum of a true answer and any noise"
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "tests/test_noise.py"
    assert location["physicalLocation"]["region"] == {"startLine": 12}


def test_a_claim_of_another_kind_is_said_with_the_point_at_which_it_was_judged() -> None:
    judged = replace(VIOLATED, claim=ZeroConcentrated(0.5), judged_at=PrivacyClaim(0.464, 0.05891))
    (result,) = sarif_log([(judged, PLACE)])["runs"][0]["results"]
    assert result["message"]["text"].startswith(
        "my_laplace does not keep its claim (ρ-zCDP with ρ = 0.5) on the event 'an even number', "
        "judged at ε = 0.464, δ = 0.059: P[E] in"
    )
    assert result["properties"]["claim"] == {"kind": "zcdp", "rho": 0.5}
    assert result["properties"]["judged_at"] == {"epsilon": 0.464, "delta": 0.05891}


def test_a_flaw_that_the_attack_did_not_look_for_is_a_rule_of_its_own() -> None:
    flaw = "some floats cannot be the sum of a true answer and any noise"
    looked_for, failing = (replace(VIOLATED, flaw=shown) for shown in (flaw, FAILURE))
    (run,) = sarif_log([(looked_for, PLACE), (failing, PLACE), (VIOLATED, PLACE)])["runs"]
    rules = [(rule["id"], rule["shortDescription"]["text"]) for rule in run["tool"]["driver"]["rules"]]
    assert rules == [("precision", flaw), ("precision/fails", FAILURE)]
    assert [(result["ruleId"], result["ruleIndex"]) for result in run["results"]] == [
        ("precision", 0),
        ("precision/fails", 1),
        ("precision", 0),
    ]


def test_what_was_not_detected_or_did_not_apply_is_neither_a_result_nor_a_pass() -> None:
    quiet = [replace(VIOLATED, verdict=verdict) for verdict in (Verdict.NOT_DETECTED, Verdict.NOT_APPLICABLE)]
    (run,) = sarif_log([(finding, PLACE) for finding in quiet])["runs"]
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert "pass" not in json.dumps(run)


def test_an_error_makes_the_run_unsuccessful_and_too_few_trials_a_warning() -> None:
    error = replace(VIOLATED, verdict=Verdict.ERROR, reason="it raised ValueError")
    few = replace(VIOLATED, verdict=Verdict.INCONCLUSIVE, reason="too few")
    beyond = replace(VIOLATED, verdict=Verdict.UNTESTABLE, reason="ten to the twelve")
    (invocation,) = sarif_log([(beyond, PLACE)])["runs"][0]["invocations"]
    assert [one["level"] for one in invocation["toolExecutionNotifications"]] == ["warning"]
    (invocation,) = sarif_log([(few, PLACE)])["runs"][0]["invocations"]
    assert invocation["executionSuccessful"]
    assert [one["level"] for one in invocation["toolExecutionNotifications"]] == ["warning"]
    (invocation,) = sarif_log([(error, PLACE), (few, None)])["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert [one["level"] for one in invocation["toolExecutionNotifications"]] == ["error", "warning"]
    assert "it raised ValueError" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_a_flaw_keeps_its_fingerprint_when_its_counts_change_and_not_when_its_pair_does() -> None:
    def fingerprint(finding: Finding) -> str:
        return str(sarif_log([(finding, PLACE)])["runs"][0]["results"][0]["partialFingerprints"]["finding/v1"])

    assert fingerprint(VIOLATED) == fingerprint(replace(VIOLATED, counts=Counts(60, 1, 100), seconds=3.0))
    assert fingerprint(VIOLATED) != fingerprint(replace(VIOLATED, pair=None))
    assert fingerprint(VIOLATED) != fingerprint(replace(VIOLATED, attack="integer_cast"))


def test_a_place_is_written_as_a_uri() -> None:
    (result,) = sarif_log([(VIOLATED, Place("my tests/test_ε.py"))])["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20tests/test_%CE%B5.py"


def test_a_log_is_json_without_a_place_and_with_an_infinite_epsilon() -> None:
    log = json.loads(to_text(sarif_log([(VIOLATED, None)])))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (result,) = log["runs"][0]["results"]
    assert "physicalLocation" not in result["locations"][0]
    assert result["properties"]["epsilon_lower"] == "infinite"


def test_a_proof_with_slack_is_told_and_a_proof_is_not() -> None:
    slack = replace(VIOLATED, attack="exact_law", verdict=Verdict.PROVED_WITH_SLACK, event="", reason="laws")
    (run,) = sarif_log([(slack, PLACE), (replace(slack, verdict=Verdict.PROVED), PLACE)])["runs"]
    assert run["results"] == []
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["level"] == "note"
    assert told["message"]["text"] == "exact_law on my_laplace: proved with slack: laws"
    assert run["invocations"][0]["executionSuccessful"] is True


def test_a_rule_says_what_the_flaw_is_how_it_is_repaired_and_where_to_read() -> None:
    failing, own = replace(VIOLATED, flaw=FAILURE), replace(VIOLATED, attack="an_attack_of_ones_own", flaw="odd")
    (run,) = sarif_log([(VIOLATED, PLACE), (failing, PLACE), (own, PLACE)])["runs"]
    precision, fails, unknown = run["tool"]["driver"]["rules"]
    for rule, name in ((precision, "precision"), (fails, "fails")):
        flaw = catalogue()[name]
        assert rule["helpUri"] == flaw.read[0].url
        for text in rule["help"].values():
            assert flaw.what in text
            assert flaw.example in text
            assert flaw.repair[1:] in text
        assert f"```python\n{flaw.example}\n```" in rule["help"]["markdown"]
    assert set(unknown) == {"id", "shortDescription"}


def test_a_rule_points_to_its_weakness() -> None:
    failing, own = replace(VIOLATED, flaw=FAILURE), replace(VIOLATED, attack="an_attack_of_ones_own", flaw="odd")
    log = sarif_log([(VIOLATED, PLACE), (failing, PLACE), (own, PLACE), (replace(VIOLATED, pair=None), PLACE)])
    require_valid(log)
    (run,) = log["runs"]
    precision, fails, unknown = run["tool"]["driver"]["rules"]
    (taxonomy,) = run["taxonomies"]
    assert (taxonomy["name"], taxonomy["organization"]) == ("CWE", "MITRE")
    assert [(taxon["id"], taxon["name"]) for taxon in taxonomy["taxa"]] == [
        ("1339", "Insufficient Precision or Accuracy of a Real Number"),
        ("703", "Improper Check or Handling of Exceptional Conditions"),
    ]
    for rule, number in ((precision, "1339"), (fails, "703")):
        assert [relation["target"]["id"] for relation in rule["relationships"]] == [number]
        assert f"external/cwe/cwe-{number}" in rule["properties"]["tags"]
    assert "relationships" not in unknown


def test_what_a_target_says_does_not_steer_whoever_shows_the_log() -> None:
    text = "\x1b[2J\n::error::hacked"
    steering = replace(VIOLATED, target=text, event=text, reason=text)
    for finding in (steering, replace(steering, verdict=Verdict.ERROR)):
        (run,) = sarif_log([(finding, PLACE)])["runs"]
        shown = run["results"] or run["invocations"][0]["toolExecutionNotifications"]
        for told in (shown[0]["message"]["text"], shown[0]["locations"][0]["logicalLocations"][0]["name"]):
            assert told.isprintable()
            assert " ::" not in told
