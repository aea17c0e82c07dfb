"""The files of vectors: their bytes, their numbers by routes of their own, and what exact and naive twins answer."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
from mpmath import mpf

from attacklab import SeededBits, TapedBits, Verdict, one_uniform, step_law
from attacklab.laws import Bounds
from attacklab.vectors import read_value, written
from attacklab.vectors.checking import JUDGES, Budget, Skipped, check
from experiments.vectors import FILES
from experiments.vectors.calibrations import calibrations
from experiments.vectors.notes import to_bytes
from experiments.vectors.tapes import RUNS
from mechanisms.exponential.naive import naive_exponential_low_precision, naive_exponential_stabilised
from mechanisms.laplace.naive import naive_randomized_response
from mechanisms.partition_selection.naive import threshold_for_reals
from mechanisms.summation.naive import pairwise_sum, sequential_sum
from tests.experiments.vector_files import FOLDER, vector_file

pytestmark = pytest.mark.slow

PAGE = (FOLDER.parent / "docs" / "reference" / "vectors.md").read_text("utf-8")


def cases(type_: str, mechanism: str) -> list[Any]:
    return next(group["cases"] for group in vector_file(type_)["groups"] if group["mechanism"] == mechanism)


@pytest.mark.parametrize("name", [name for name in FILES if name != "calibration"])
def test_the_committed_bytes_are_those_that_are_written(name: str) -> None:
    assert to_bytes(FILES[name]()) == (FOLDER / f"{name}.json").read_bytes()


def test_every_eighth_case_of_calibrations_is_the_one_that_is_written() -> None:
    """All of them take most of a minute."""
    for sampled, group in zip(calibrations(every=8)["groups"], vector_file("calibration")["groups"], strict=True):
        assert {**sampled, "cases": []} == {**group, "cases": []}
        assert sampled["cases"]
        for case in sampled["cases"]:
            assert {**case, "id": 0} in [{**one, "id": 0} for one in group["cases"]]


def real(number: Any) -> Any:
    return mpf(int(number.numerator)) / int(number.denominator)


def weights(of: Mapping[str, Any], utilities: list[int]) -> list[Any]:
    if "decay" in of:
        return [real(of["decay"]) ** (max(utilities) - utility) for utility in utilities]
    return [mpmath.exp(real(of["rate"]) * (utility - max(utilities))) for utility in utilities]


def permuted(keeps: list[Any], outcome: int) -> Any:
    """p_i ∫₀¹ Π_{j≠i} (1 − t·p_j) dt: exponential clocks, as noisy max with exponential noise."""
    others = keeps[:outcome] + keeps[outcome + 1 :]
    return keeps[outcome] * mpmath.quad(lambda t: mpmath.fprod(1 - t * keep for keep in others), [0, 1])


@cache
def gaussian_total(variance: Fraction) -> Any:
    return mpmath.fsum(mpmath.exp(-k * k / (2 * real(variance))) for k in range(-360, 361))


def geometric(ratio: Any, n: int) -> Any:
    return (1 - ratio) / (1 + ratio) * ratio ** abs(n)


DEFINITIONS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "uniform_below": lambda of, _, __: 1 / mpf(of["bound"]),
    "bernoulli": lambda of, _, outcome: abs(1 - outcome - real(of["probability"])),
    "bernoulli_exp": lambda of, _, outcome: abs(1 - outcome - mpmath.exp(-real(of["gamma"]))),
    "randomized_response": lambda of, truth, said: (
        1 / (1 + mpmath.exp((1 - 2 * (said is truth)) * real(of["epsilon"])))
    ),
    "two_sided_geometric": lambda of, _, n: geometric(real(of["ratio"]), n),
    "discrete_laplace": lambda of, _, n: geometric(mpmath.exp(-1 / real(of["scale"])), n),
    "discrete_gaussian": lambda of, _, n: (
        mpmath.exp(-n * n / (2 * real(of["variance"]))) / gaussian_total(of["variance"])
    ),
    "exponential": lambda of, data, i: weights(of, data)[i] / sum(weights(of, data)),
    "exponential_base2": lambda of, data, i: weights(of, data)[i] / sum(weights(of, data)),
    "permute_and_flip": lambda of, data, i: permuted(weights(of, data), i),
}


@pytest.mark.parametrize("mechanism", DEFINITIONS)
def test_each_probability_is_that_of_the_definition_in_numbers_of_many_digits(mechanism: str) -> None:
    with mpmath.workprec(300):
        slack = mpf(10) ** -60
        for case in cases("law", mechanism):
            (of, input_), listed = given(case), mpf(0)
            for outcome, probability in case["law"]:
                right = DEFINITIONS[mechanism](of, input_, read_value(outcome))
                value = read_value(probability)
                lower, upper = map(real, value if isinstance(value, Bounds) else (value, value))
                assert lower * (1 - slack) <= right <= upper * (1 + slack)
                assert upper - lower <= upper / 2**80
                listed += right
            assert 1 - listed - slack <= real(read_value(case["rest"])) * (1 + slack)


def verdicts(type_: str, mechanism: str, answer: Callable[[Any], Any]) -> dict[str, set[Verdict]]:
    """What is said of the cases of a mechanism, by their flags."""
    only = cases(type_, mechanism)
    file = {"type": type_, "cases": len(only), "groups": [{"mechanism": mechanism, "cases": only}]}
    found: dict[str, set[Verdict]] = {}
    for finding in check([file], lambda request, *_: answer(request), Budget(20, 1e-9, 0)):
        for flag in finding.flags:
            found.setdefault(flag, set()).add(finding.verdict)
    return found


def given(request: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    return {name: read_value(value) for name, value in request["parameters"].items()}, read_value(request["input"])


def exact(request: Mapping[str, Any]) -> dict[str, Any]:
    run, (of, input_) = RUNS[request["mechanism"]], given(request)
    if request["type"] == "tape":
        bits = TapedBits(int(request["bits"], 2), length := len(request["bits"]))
        return {"output": written(run(of, input_, bits)), "bits_used": written(length - bits.left)}
    source = SeededBits(request["seed"])
    return {"outputs": [written(run(of, input_, source)) for _ in range(request["trials"])]}


def test_exact_samplers_pass_laws_and_tapes() -> None:
    for type_, right in (("law", Verdict.NOT_DETECTED), ("tape", Verdict.PROVED)):
        for group in vector_file(type_)["groups"]:
            assert set().union(*verdicts(type_, group["mechanism"], exact).values()) == {right}


def test_of_each_pair_the_sound_probabilities_keep_the_claim_and_the_naive_ones_break_it() -> None:
    for group in vector_file("pair")["groups"]:
        for name, expected in (("sound", Verdict.PROVED), ("naive", Verdict.VIOLATED)):
            answers = iter([case[name][side] for case in group["cases"] for side in ("first", "second")])
            found = verdicts("pair", group["mechanism"], lambda _: {"probability": next(answers)})  # noqa: B023
            assert set().union(*found.values()) == {expected}


def by_law(twin: Callable[..., Any], **fixed: Any) -> Callable[[Any], Any]:
    """The probability of the event, by the law of a twin that compares one uniform number with thresholds."""

    def answer(request: Mapping[str, Any]) -> dict[str, Any]:
        of, input_ = given(request)
        masses = step_law(one_uniform(twin, input_, epsilon=float(of["epsilon"]), **fixed)).masses
        event = [read_value(outcome) for outcome in request["event"]["outcomes"]]
        return {"probability": written(sum((mass for key, mass in masses.items() if key in event), Fraction(0)))}

    return answer


def summed(add: Callable[[Any], float]) -> Callable[[Any], Any]:
    def answer(request: Mapping[str, Any]) -> dict[str, Any]:
        if request["format"] != "binary64":
            raise Skipped
        return {"value": written(add(np.array(read_value(request["records"]))))}

    return answer


def named(request: Mapping[str, Any]) -> dict[str, Any]:
    """Discrete Laplace noise under a threshold for continuous noise."""
    of, count = given(request)
    ratio, beyond = math.exp(-of["epsilon"]), threshold_for_reals(float(of["epsilon"]), float(of["delta"])) - 1
    return {"probability": written(Fraction(ratio**beyond / (1 + ratio)) if count else 0)}


BFLOAT16 = by_law(naive_exponential_low_precision, dtype=ml_dtypes.bfloat16)
NAIVE: tuple[tuple[str, str, Callable[[Any], Any], set[str]], ...] = (
    ("pair", "exponential", by_law(naive_exponential_stabilised), {"TinyProbability"}),
    ("pair", "exponential", BFLOAT16, {"TinyProbability", "LostInSum"}),
    ("pair", "randomized_response", by_law(naive_randomized_response), {"FineRatio"}),
    ("pair", "partition_selection", named, {"MassAtThreshold"}),
    ("sum", "forward_sum", summed(sequential_sum), {"SumMovesFar", "SumMovesABit"}),
    ("sum", "pairwise_sum", summed(pairwise_sum), {"SumMovesFar", "SumMovesABit"}),
)


@pytest.mark.parametrize(("type_", "mechanism", "answer", "flags"), NAIVE)
def test_a_naive_twin_is_wrong_where_its_flaw_is_listed(
    type_: str, mechanism: str, answer: Callable[[Any], Any], flags: set[str]
) -> None:
    found = verdicts(type_, mechanism, answer)
    assert {flag for flag, said in found.items() if Verdict.VIOLATED in said} == flags
    assert not any(Verdict.ERROR in said for said in found.values())


def test_the_page_shows_what_the_files_hold_and_its_programs_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.findall(r"(?m)^\| `(\w+)\.json` \|", PAGE) == ["law", "pair", "tape", "calibration", "sum"]
    assert {path.stem for path in FOLDER.glob("*.json")} == FILES.keys() == JUDGES.keys()
    (consumer,), (shown, dialogue) = (re.findall(rf"(?s)```{of}\n(.*?)```", PAGE) for of in ("python", "json"))
    monkeypatch.chdir(FOLDER.parent)
    exec(consumer, {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.count("The noise is") == 6
    group = json.loads(shown)["groups"][0]
    assert group["cases"][0] in cases("tape", group["mechanism"])
    request, answer = dialogue.splitlines()
    command = [sys.executable, str(FOLDER.parent / "examples" / "vectors" / "program.py"), "exact"]
    done = subprocess.run(command, input=f"{request}\n", capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(done.stdout) == json.loads(answer)
