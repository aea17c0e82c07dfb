"""Reading certificates: what is malformed, unknown or not of these sources is refused with its reason."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacklab.certificates import certificate, encoded
from checker.check import check, main
from checker.core.certificate import Refused, decoded, load, rational
from experiments.certificates import DRAFTS
from mechanisms.grid import Grid


@pytest.fixture
def written() -> dict[str, Any]:
    return certificate("exact_randomized_response", DRAFTS["exact_randomized_response"]())


def load_text(folder: Path, text: str) -> Any:
    path = folder / "certificate.json"
    path.write_text(text, "utf-8")
    return load(path)


def test_what_is_encoded_is_decoded() -> None:
    parameters = {"a": Fraction(-3, 7), "b": 0.1, "c": Grid(-2), "d": [1, None, True, "x", (2.5,)]}
    assert {name: decoded(value) for name, value in encoded(parameters).items()} == {
        "a": Fraction(-3, 7),
        "b": 0.1,
        "c": Grid(-2),
        "d": (1, None, True, "x", (2.5,)),
    }
    with pytest.raises(TypeError, match="no form for a parameter of type set"):
        encoded({1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a certificate"),
        ("[]", "must be of type dict, not list"),
        ('{"schema": "other/1"}', "the schema is 'other/1'"),
        ('{"schema": "attacklab-certificate/1"}', "the fields are"),
        ('{"schema": "a", "schema": "a"}', "a key is there twice"),
    ],
)
def test_what_is_not_a_certificate_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        load_text(tmp_path, text)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("theorem", "no_such_theorem", "no theorem is called"),
        ("theorem", 3, "theorem must be of type str"),
        ("evidence", [], "evidence must be of type dict"),
        ("functions", {"reference": "os:system"}, "would run functions of os"),
        ("functions", {"reference": "mechanisms.grid:nothing"}, "cannot be imported"),
        ("functions", {"reference": "mechanisms.grid:GREATEST_EXPONENT"}, "is not a function"),
        ("functions", {}, "not of one package"),
        ("parameters", {"epsilon": 1.5}, "a parameter is 1.5"),
        ("parameters", {"epsilon": {"rational": "1/0"}}, "a number"),
        ("parameters", {"epsilon": {"of": "builtins:exec"}}, "is not of the form"),
        ("claim", {"kind": "pure"}, "about pure differential privacy"),
        ("claim", {"kind": "pure", "epsilon": True}, "must be a rational number"),
        ("neighbours", "whoever", "neighbours are 'whoever'"),
    ],
)
def test_a_changed_field_is_refused(
    tmp_path: Path, written: dict[str, Any], field: str, value: object, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        check(load_text(tmp_path, json.dumps(written | {field: value})), sources=field == "functions" and not value)


def test_sources_that_differ_are_refused(tmp_path: Path, written: dict[str, Any]) -> None:
    sources = written["sources"]
    check(load_text(tmp_path, json.dumps(written)))
    fewer = {path: digest for path, digest in sources.items() if path != "mechanisms/coins.py"}
    for changed, message in (
        (fewer, "sources named differ.*mechanisms/coins.py"),
        (sources | {"mechanisms/coins.py": "0" * 64}, "mechanisms/coins.py is not the source"),
        (sources | {"README.md": "0" * 64}, "sources named differ.*README.md"),
    ):
        with pytest.raises(Refused, match=message):
            check(load_text(tmp_path, json.dumps(written | {"sources": changed})))


@pytest.mark.parametrize("value", ["1.5e", "½", None, 1.5, True, "1/0", "nan"])
def test_a_rational_is_an_int_or_a_text_of_digits(value: object) -> None:
    with pytest.raises(Refused):
        rational(value)


def test_the_command_says_what_was_accepted_and_ends_with_1_if_one_is_refused(
    tmp_path: Path, written: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(written), "utf-8")
    bad.write_text(json.dumps(written | {"claim": {"kind": "pure", "epsilon": "99/100"}}), "utf-8")
    assert main([str(good)]) == 0
    assert "ACCEPTED  good: 1-DP for both answers" in capsys.readouterr().out
    assert main([str(bad), str(good)]) == 1
    assert "REFUSED   bad: the answers' odds change by e^1, more than e^99/100" in capsys.readouterr().out
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
    assert main([str(tmp_path / "nothing.json")]) == 1
