"""`attacklab prove`: verdicts and statuses, samplers by name, pairs, time, and what a sampler does wrong."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

SAMPLERS = """
import os
import random
import time
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target

def release(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

def exact(sampler):
    return Target.noise(release, epsilon=1.0).exact(sampler)

blind = exact(lambda answer, bits: bits.take(2))
telling = exact(lambda answer, bits: answer)

def asked(rho: float):
    raise RuntimeError(f"asked for {rho!r}")

def _raising(answer, bits):
    raise RuntimeError("disk\\non fire")

def _leaving(answer, bits):
    raise SystemExit(0)

def _endless(answer, bits):
    while True:
        bits.take(1)

raising, leaving, endless = exact(_raising), exact(_leaving), exact(_endless)
stateful = exact(lambda answer, bits: bits.take(1) + random.random())
listing = exact(lambda answer, bits: [bits.take(1)])
huge = exact(lambda answer, bits: 1 << 100_000)
wide = exact(lambda answer, bits: bits.take(100_000))
forking = exact(lambda answer, bits: bits.take(1) + os.fork())
timed = exact(lambda answer, bits: bits.take(1) + int(time.time() < 0))

def _chattering(answer, bits):
    print("secret", answer)
    return int(bits.take(1))

chattering = exact(_chattering)

def third(bits):
    drawn = bits.take(2)
    return None if drawn == 3 else int(drawn)

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
        return None
    return -size if sign else size

def count(answer, bits):
    return int(answer) + bits.repeat(signed)

def from_two(answer, bits):
    return response(answer, bits) if answer < 2 else 2

def looping(answer, bits):
    while True:
        try:
            pass
        except Exception:
            pass

def ends_in(records, bits):
    return int(("x" in records) ^ (bits.repeat(third) == 0))

def turned(record, bits):
    return int(bool(record) ^ (bits.take(2) == 0))

def third_of(record, bits):
    return int(bool(record) ^ (bits.repeat(third) == 0))

def sized(record, bits):
    return int(bool(record) ^ (bits.repeat(third) == 0))

def counted(records, bits):
    return sized(len(records) % 2, bits)

def too_many(answer, scale, bits):
    return 0

def bits_first(bits, answer):
    return 0

RESPONSES = [response]

paired = Target.noise(
    release, epsilon=0.7, pairs=[NeighbouringPair.answers(n, n + 1, sensitivity=1.0) for n in (0.0, 1.0)]
).exact(from_two)
"""

RESPONSE = "prove samplers.py:response --kind noise"


@pytest.fixture(autouse=True)
def samplers(tmp_path: Path) -> None:
    (tmp_path / "samplers.py").write_text(SAMPLERS)


@pytest.mark.parametrize(("name", "verdict", "status"), [("blind", "proved", 0), ("telling", "violated", 1)])
def test_the_status_tells_a_proved_claim_from_a_refuted_one(
    name: str, verdict: str, status: int, attacklab: Any
) -> None:
    ended, out, err = attacklab(f"prove samplers.py:{name} --json -")
    assert (ended, err) == (status, "")
    (finding,) = json.loads(out)["findings"]
    assert (finding["attack"], finding["verdict"]) == ("exact_law", verdict)
    assert finding["replay"] == f"attacklab prove samplers.py:{name}"


def test_a_function_that_makes_a_target_is_asked_for_the_claim(attacklab: Any) -> None:
    status, out, err = attacklab("prove samplers.py:asked --rho 0.25")
    assert (status, out, err) == (2, "", "attacklab: samplers.py:asked raised RuntimeError: asked for 0.25\n")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raising", "on the first input, _raising raised RuntimeError('disk\\non fire') on the draws []"),
        ("leaving", "_leaving raised SystemExit(0) on the draws []"),
        ("endless", "_endless gave no outcome in 1,000 runs"),
        ("stateful", "draws from elsewhere (random.random)"),
        ("listing", "an outcome must be made of numbers, strings, bytes, None and tuples, not of list"),
        ("huge", "an outcome of type int is too long to be written"),
        ("forking", " of samplers.py) asks the system (os.fork)"),
        ("timed", " of samplers.py) reads the clock (time.time)"),
        ("wide", "an outcome is an integer uniform over 2^100000 or more values, and a law lists at most 1,000,000; "),
    ],
)
def test_what_a_sampler_does_wrong_is_an_error_finding(name: str, reason: str, attacklab: Any, tmp_path: Path) -> None:
    line = f"prove samplers.py:{name} --first 0 --second 1 --runs 1000 --json found.json"
    status, out, err = attacklab(line)
    assert (status, err) == (2, "")
    (finding,) = json.loads((tmp_path / "found.json").read_text("utf-8"))["findings"]
    assert (finding["attack"], finding["verdict"], finding["target"]) == ("exact_law", "error", "release")
    assert reason in finding["reason"]
    assert finding["replay"] == f"attacklab prove samplers.py:{name} --first 0 --second 1"
    assert [pair["readable"] for pair in (finding["pair"]["first"], finding["pair"]["second"])] == [["0.0"], ["1.0"]]
    assert out.startswith("ERROR  release   samplers.py:")
    assert finding["reason"] in " ".join(out.split())


def findings_of(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["findings"]
    return found


@pytest.mark.parametrize(
    ("line", "verdict", "status"),
    [
        (f"{RESPONSE} --epsilon 0.7", "proved", 0),
        (f"{RESPONSE} --epsilon 0.69", "violated", 1),
        (f"{RESPONSE} --epsilon 0.5 --delta 0.2", "proved", 0),
        (f"{RESPONSE} --rho 0.25", "proved", 0),
        (f"{RESPONSE} --mu 1.0", "proved", 0),
        (f"{RESPONSE} --rdp 2,0.5", "proved", 0),
        ("prove samplers.py:count --kind noise --epsilon 0.7", "proved with slack", 0),
        ("prove samplers.py:count --kind noise --epsilon 0.7 --domain integers", "proved with slack", 0),
        ("prove samplers.py:count --kind noise --epsilon 0.7 --runs 8", "inconclusive", 2),
    ],
)
def test_a_sampler_is_named_with_its_claim_as_a_release_function_is(
    line: str, verdict: str, status: int, attacklab: Any
) -> None:
    ended, out, err = attacklab(f"{line} --json -")
    assert (ended, err) == (status, "")
    (finding,) = findings_of(out)
    assert finding["verdict"] == verdict
    assert finding["target"] in ("response", "count")
    assert finding["replay"] == f"attacklab {line}".replace(" --runs 8", "")


def test_the_line_of_a_finding_replays_it(attacklab: Any) -> None:
    _, out, _ = attacklab(
        "prove samplers.py:ends_in --kind dataset --epsilon 0.7 --relation add-remove "
        """--first '["x", "y"]' --second '["y"]' --json -"""
    )
    _, again, _ = attacklab(findings_of(out)[0]["replay"].removeprefix("attacklab ") + " --json -")
    first, second = findings_of(out), findings_of(again)
    assert first[0]["verdict"] == "proved"
    assert [{**finding, "seconds": 0} for finding in first] == [{**finding, "seconds": 0} for finding in second]


def test_a_proof_shows_no_event_and_a_refutation_shows_one(attacklab: Any) -> None:
    assert "event" not in attacklab(f"{RESPONSE} --epsilon 0.7 -v")[1]
    assert "event: first input likelier than allowed: 0" in attacklab(f"{RESPONSE} --epsilon 0.6 -v")[1]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("--kind noise --first 0 --second 1", "pair: 0.0 and 1.0"),
        ("--kind noise --domain integers --first 1 --second 0", "pair: 1 and 0"),
        ("--kind sum --lower 0 --upper 1 --first 0,1 --second 0", "pair (add-remove): [0.0, 1.0] and [0.0]"),
        ("--kind mean --lower 0 --upper 1 --first [0] --second [1]", "pair (substitute): [0.0] and [1.0]"),
        ("--kind dataset --first '\"some\"' --second '\"\"'", "pair: some and "),
        ("--kind dataset --first '{\"a\": 1}' --second '{}'", "pair: {'a': 1} and {}"),
        ("--kind dataset --first true --second false", "pair: True and False"),
        ("--kind dataset --first '[\"a\"]' --second []", "pair: [a] and []"),
    ],
)
def test_a_pair_is_numbers_or_json_of_any_kind(options: str, shown: str, attacklab: Any) -> None:
    counted = any(kind in options for kind in ("sum", "mean", "[]"))
    wanted = "response" if "noise" in options else "counted" if counted else "sized"
    status, out, err = attacklab(f"prove samplers.py:{wanted} --epsilon 0.7 {options} -v")
    assert (status, err) == (0, "")
    assert shown.strip() in [line.strip() for line in out.splitlines()]


def test_every_declared_pair_is_proved_and_one_that_fails_refutes_the_claim(attacklab: Any) -> None:
    status, out, _ = attacklab("prove samplers.py:paired --json -")
    assert [finding["verdict"] for finding in findings_of(out)] == ["proved", "violated"]
    assert status == 1
    status, out, _ = attacklab("prove samplers.py:paired --first 0 --second 1 --json -")
    assert ([finding["verdict"] for finding in findings_of(out)], status) == (["proved"], 0)


def test_pairs_come_from_a_file_too(attacklab: Any, tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text('[{"first": 0, "second": 1}, {"first": 1, "second": 0}]')
    status, out, _ = attacklab(f"{RESPONSE} --epsilon 0.7 --pairs pairs.json -v")
    assert status == 0
    assert out.count("exact_law  proved") == 2
    assert "pair: 0 and 1" in out
    assert "pair: 1 and 0" in out


def test_a_sampler_that_never_ends_is_told_in_one_line_when_the_time_is_up(attacklab: Any) -> None:
    began = time.monotonic()
    status, out, err = attacklab("prove samplers.py:looping --kind noise --epsilon 1 --seconds 1 --json -")
    assert time.monotonic() - began < 20
    assert (status, err) == (2, "")
    (finding,) = findings_of(out)
    assert finding["verdict"] == "inconclusive"
    assert finding["reason"].startswith("1 s were not enough (reached: the law of the first input); the sampler was ")
    assert "samplers.py:" in finding["reason"]


def test_what_a_sampler_prints_does_not_stand_among_the_findings(attacklab: Any) -> None:
    status, out, _ = attacklab("prove samplers.py:chattering --json -")
    (finding,) = findings_of(out)
    assert (status, finding["verdict"]) == (2, "error")
    assert " of samplers.py) prints, and a proof runs it many thousand times (print)" in finding["reason"]
    assert "secret" not in out


def test_a_proof_with_slack_is_a_note_of_the_tool_in_sarif(attacklab: Any, tmp_path: Path) -> None:
    attacklab("prove samplers.py:count --kind noise --epsilon 0.7 --sarif log.sarif")
    (run,) = json.loads((tmp_path / "log.sarif").read_text("utf-8"))["runs"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (run["results"], told["level"]) == ([], "note")
    assert told["message"]["text"].startswith("exact_law on count: proved with slack for this pair: laws of ")
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "samplers.py"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("prove samplers.py:response", "samplers.py:response looks like a sampler; add --kind and --epsilon"),
        (RESPONSE, "which needs a claim; add --epsilon, --rho, --mu or --rdp"),
        ("prove samplers.py:release --kind noise --epsilon 1", "release has no sampler, so its law cannot be found; "),
        (
            "prove samplers.py:too_many --kind noise --epsilon 1",
            "too_many takes (answer, scale, bits), but a sampler is ",
        ),
        ("prove samplers.py:bits_first --kind noise --epsilon 1", "bits_first takes (bits, answer), but a sampler is "),
        (
            "prove samplers.py:sized --kind dataset --epsilon 1",
            "a dataset target needs a pair of its own; give --first",
        ),
        ("prove samplers.py:sized --kind sum --epsilon 1", "a sum target needs bounds"),
        (f"{RESPONSE} --epsilon 1 --first 0", "--first and --second go together; give both or neither"),
        (
            f"{RESPONSE} --epsilon 1 --first x --second 1",
            "--first must be JSON, or numbers separated by commas, not 'x'",
        ),
        (f"{RESPONSE} --epsilon 1 --first [0] --second 1", "a noise target takes a number for each of --first and "),
        (f"{RESPONSE} --epsilon 1 --first true --second 0", "a noise target takes a number for each of --first and "),
        (f"{RESPONSE} --epsilon 1 --first 0 --second 2", "not neighbouring: answers 0.0 and 2.0"),
        (f"{RESPONSE} --epsilon 1 --domain integers --first 0.5 --second 1", "integers of a pair must be integers"),
        (f"{RESPONSE} --epsilon 1 --domain 0..1 --first 2 --second 3", "claims nothing of this pair"),
        (f"{RESPONSE} --epsilon 1 --seconds 0", "--seconds"),
        (
            f"{RESPONSE} --epsilon 1 --first {'[' * 60_000} --second 1",
            "--first is nested too deep; give a flatter input",
        ),
        (
            "prove samplers.py:RESPONSES --kind noise --epsilon 1",
            "samplers.py:RESPONSES is a list, not a function; name a sampler or a release function",
        ),
        (
            "prove diffprivlib:laplace --kind noise --epsilon 1",
            "diffprivlib:laplace draws its random numbers in another process, where a proof cannot replace them; ",
        ),
        ("prove samplers.py:sized --kind dataset --epsilon 1 --first null --second 1", "the pair has the input null"),
        (
            "prove samplers.py:sized --kind dataset --epsilon 1 --relation substitute --first [1] --second [1,2]",
            "not neighbouring by substitute",
        ),
    ],
)
def test_what_cannot_be_proved_is_told_in_one_line(line: str, said: str, attacklab: Any) -> None:
    status, out, err = attacklab(line)
    assert (status, out) == (2, "")
    assert said in err
    if err.startswith("attacklab: "):
        assert len(err.splitlines()) == 1
