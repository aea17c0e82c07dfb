"""`attacklab prove`: proved, refuted, and what a sampler does wrong as an ERROR finding."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from attacklab import cli

SAMPLERS = """
import random
from decimal import Decimal
from attacklab.targets import Target

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
decimal = exact(lambda answer, bits: Decimal(bits.take(1)))
huge = exact(lambda answer, bits: 1 << 100_000)
wide = exact(lambda answer, bits: bits.take(100_000))
"""


@pytest.fixture
def attacklab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    (tmp_path / "samplers.py").write_text(SAMPLERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attacklab", *line.split()])
        with pytest.raises(SystemExit) as raised:
            cli.main()
        out, err = capsys.readouterr()
        return int(raised.value.code or 0), out, err

    return run


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
        ("raising", "_raising raised RuntimeError('disk\\non fire') on the draws []"),
        ("leaving", "_leaving raised SystemExit(0) on the draws []"),
        ("endless", "_endless gave no outcome in 1000 runs"),
        ("stateful", "gave another outcome when run again on the same bits"),
        ("listing", "an outcome must be hashable"),
        ("decimal", "an outcome of type Decimal cannot be written as JSON"),
        ("huge", "an outcome of 100001 bits cannot be written as JSON"),
        ("wide", "an outcome is an integer uniform over 2^100000 or more values"),
    ],
)
def test_what_a_sampler_does_wrong_is_an_error_finding(
    name: str, reason: str, attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # so that no line is wrapped
    line = f"prove samplers.py:{name} --first 0 --second 1 --runs 1000 --json found.json"
    status, out, err = attacklab(line)
    assert (status, err) == (2, "")
    (finding,) = json.loads((tmp_path / "found.json").read_text("utf-8"))["findings"]
    assert (finding["attack"], finding["verdict"], finding["target"]) == ("exact_law", "error", "release")
    assert reason in finding["reason"]
    assert finding["replay"] == f"attacklab prove samplers.py:{name} --first 0 --second 1"
    assert [pair["readable"] for pair in (finding["pair"]["first"], finding["pair"]["second"])] == [["0.0"], ["1.0"]]
    assert out.splitlines()[0] == "release claims ε = 1.0"
    assert out.splitlines()[2].split() == ["exact_law", "error"]
    assert out.splitlines()[3].startswith("    ")
    assert finding["reason"] in out
