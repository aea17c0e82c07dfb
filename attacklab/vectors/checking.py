"""Vectors held against a program.

What a program returns for `tape`, `trace`, `calibration`, `rounding` and `sum` is right or wrong. Of `law` and `pair`
only samples are seen: they refute at the stated α, split evenly over all cases of these types and, within one, over
its outcomes. `special` asks for one output on either input: both must be answered, or neither.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from attacklab.errors import TargetError, UsageError
from attacklab.findings import Severity, Verdict
from attacklab.laws import Bounds, exp_bounds
from attacklab.statistics.inference import clopper_pearson
from attacklab.vectors.program import Failed, Skipped
from attacklab.vectors.values import read_value, written

Ask: TypeAlias = Callable[..., list[Any]]
Case: TypeAlias = Mapping[str, Any]

SAMPLED = ("law", "pair")
"""The types of which only samples are seen."""


@dataclass(frozen=True)
class CaseFinding:
    """What a program did with one case.

    Attributes:
        type: of the file.
        case: its number there.
        mechanism: of its group.
        flags: of the case.
        verdict: PROVED if the answer is right, NOT_DETECTED if samples are compatible with the case, VIOLATED if it is
            wrong, NOT_APPLICABLE if the program has no such mechanism, ERROR if it did not answer as it must.
        severity: CLAIM, or ROBUSTNESS where the claim's domain ends before the input.
        reason: one line.
    """

    type: str
    case: int
    mechanism: str
    flags: tuple[str, ...]
    verdict: Verdict
    severity: Severity
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return {**vars(self), "flags": list(self.flags), "verdict": str(self.verdict), "severity": str(self.severity)}


@dataclass(frozen=True)
class Budget:
    """What samples may cost and how they may err.

    Attributes:
        trials: outputs for each input.
        alpha: the probability that any sampled case refutes a sound program.
        seed: of the program's randomness.
    """

    trials: int
    alpha: float
    seed: int


def check(files: Sequence[Mapping[str, Any]], ask: Ask, budget: Budget) -> Iterator[CaseFinding]:
    """Hold a program to files of vectors.

    Args:
        files: as `read_file` returns them.
        ask: asks the program; see `VectorProgram`.
        budget: for the sampled types.

    Yields:
        A finding of each case.
    """
    sampled = sum(file["cases"] for file in files if file["type"] in SAMPLED)
    share = Budget(budget.trials, budget.alpha / max(1, sampled), budget.seed)
    for file in files:
        for group in file["groups"]:
            for case in group["cases"]:
                verdict, reason = _judged(file["type"], group["mechanism"], case, ask, share)
                severity = Severity(case.get("severity", Severity.CLAIM))
                yield CaseFinding(
                    file["type"], case["id"], group["mechanism"], tuple(case["flags"]), verdict, severity, reason
                )


def _judged(type_: str, mechanism: str, case: Case, ask: Ask, budget: Budget) -> tuple[Verdict, str]:
    def about(fields: Sequence[str], **request: Any) -> list[Any]:
        parameters = {"parameters": case["parameters"]} if "parameters" in case else {}
        return ask({"vectors": 1, "type": type_, "mechanism": mechanism, **parameters, **request}, *fields)

    try:
        wrong = JUDGES[type_](case, about, budget)
    except Skipped:
        return Verdict.NOT_APPLICABLE, "the program has no such mechanism"
    except Failed as error:
        return Verdict.VIOLATED, f"it failed: {error}"
    except (TargetError, UsageError) as error:
        return Verdict.ERROR, str(error)
    if wrong:
        return Verdict.VIOLATED, wrong
    return (Verdict.NOT_DETECTED, "compatible") if type_ in SAMPLED else (Verdict.PROVED, "right")


About: TypeAlias = Callable[..., list[Any]]


def _tape(case: Case, about: About, _budget: Budget) -> str:
    output, used = about(["output", "bits_used"], input=case["input"], bits=case["bits"])
    return _unlike("output", output, case["output"]) or _unlike("bits_used", used, case["bits_used"])


def _trace(case: Case, about: About, _budget: Budget) -> str:
    replies = [one["reply"] for one in case["requests"]]
    requests, output = about(["requests", "output"], input=case["input"], replies=replies)
    expected = [one["request"] for one in case["requests"]]
    if not isinstance(requests, list):
        return f"its requests are {str(requests)[:40]!r}, not a list"
    for place, (asked, right) in enumerate(zip(requests, expected, strict=False), 1):
        if asked != right:
            return f"its request {place} is {str(asked)[:80]!r}, not {right!r}"
    if len(requests) != len(expected):
        return f"it makes {len(requests)} requests, not {len(expected)}"
    return _unlike("output", output, case["output"])


def _rounding(case: Case, about: About, _budget: Budget) -> str:
    terms = {"terms": case["terms"]} if case["terms"] else {}
    for mode in ("nearest", "toward_zero", "upward", "downward"):
        (value,) = about(["value"], value=case["value"], **terms, format=case["format"], mode=mode)
        if wrong := _unlike(f"value rounded {mode.replace('_', ' ')}", value, case[mode]):
            return wrong
    return ""


def _sum(case: Case, about: About, _budget: Budget) -> str:
    fields = {name: case[name] for name in ("bounds", "relation", "order", "format")}
    sums = [read_value(about(["value"], **fields, records=case[side])[0]) for side in ("first", "second")]
    if not all(math.isfinite(one) for one in sums):
        return f"its sums are {sums[0]} and {sums[1]}"
    moved, sensitivity = abs(Fraction(sums[0]) - Fraction(sums[1])), Fraction(read_value(case["sensitivity"]))
    if moved > sensitivity:
        return f"its sums lie {float(moved / sensitivity):.6g} times the sensitivity apart"
    return ""


def _calibration(case: Case, about: About, _budget: Budget) -> str:
    (value,) = about(["value"])
    number = read_value(value)
    lower, upper = (read_value(case["quantity"][end]) for end in ("lower", "upper"))
    unsafe = number < lower if case["unsafe"] == "too small" else number > upper
    if math.isnan(number) or unsafe:
        return f"its value {float(number)!r} is {case['unsafe']}: the number lies in [{lower!r}, {upper!r}]"
    return ""


def _special(case: Case, about: About, budget: Budget) -> str:
    answered = []
    for side in ("first", "second"):
        try:
            (outputs,) = about(["outputs"], input=case[side], trials=1, seed=budget.seed)
        except Failed as error:
            answered.append((False, str(error)))
        else:
            (output,) = _outputs(outputs, 1)
            failed = output is None or (isinstance(output, float) and math.isnan(output))
            answered.append((not failed, str(outputs[0])))
    (first, shown), (second, other) = answered
    return "" if first == second else f"it answers one input only: {shown} on the first, {other} on the second"


def _law(case: Case, about: About, budget: Budget) -> str:
    (outputs,) = about(["outputs"], input=case["input"], trials=budget.trials, seed=budget.seed)
    values = _outputs(outputs, budget.trials)
    counts = Counter(map(_key, values))
    share = budget.alpha / (len(case["law"]) + len(case["tails"]) + 1)
    for place, probability in case["tails"]:
        low, high = _interval(sum(one >= read_value(place) for one in values), budget.trials, share)
        if low > (ends := _ends(probability))[1] or high < ends[0]:
            return f"P[noise ≥ {place}] lies in [{low:.6g}, {high:.6g}], not at {float(ends[0]):.6g}"
    for outcome, probability in case["law"]:
        lower, upper = _ends(probability)
        low, high = _interval(counts.pop(_key(read_value(outcome)), 0), budget.trials, share)
        if low > upper or high < lower:
            return f"P[{outcome}] lies in [{low:.6g}, {high:.6g}], not at {float(lower):.6g}"
    low, _ = _interval(counts.total(), budget.trials, share)
    rest = Fraction(read_value(case["rest"]))
    if low > rest:
        return f"other outcomes have probability {low:.6g} at least, not {float(rest):.6g}"
    return ""


def _pair(case: Case, about: About, budget: Budget) -> str:
    sides = []
    for number, side in enumerate(("first", "second")):
        (outputs,) = about(["outputs"], input=case[side], trials=budget.trials, seed=2 * budget.seed + number)
        hits = sum(_happened(case["event"], output) for output in _outputs(outputs, budget.trials))
        sides.append(_interval(hits, budget.trials, budget.alpha / 2))
    epsilon, delta = (Fraction(read_value(case["claim"][name])) for name in ("epsilon", "delta"))
    allowed = float(exp_bounds(epsilon).upper) * sides[1][1] + float(delta)
    if sides[0][0] > allowed:
        return f"the event has probability {sides[0][0]:.6g} at least, and {allowed:.6g} is allowed"
    return ""


JUDGES: Mapping[str, Callable[[Case, About, Budget], str]] = {
    "calibration": _calibration,
    "law": _law,
    "pair": _pair,
    "rounding": _rounding,
    "special": _special,
    "sum": _sum,
    "tape": _tape,
    "trace": _trace,
}
"""For each type: what is wrong with the program's answers, and nothing if they are right."""


def _unlike(what: str, answered: Any, right: Any) -> str:
    if _key(read_value(answered)) == _key(read_value(right)):
        return ""
    return f"its {what} is {str(answered)[:80]!r}, not {right!r}"


def _key(value: Any) -> str:
    """What tells two values apart: type and bits."""
    return str(written(value))


def _outputs(outputs: Any, trials: int) -> list[Any]:
    if not isinstance(outputs, list) or len(outputs) != trials:
        raise UsageError(f"outputs must be a list of {trials} values")
    return [read_value(one) for one in outputs]


def _happened(event: Mapping[str, Any], output: Any) -> bool:
    if "outcomes" in event:
        return _key(output) in event["outcomes"] or output in [read_value(one) for one in event["outcomes"]]
    return isinstance(output, (int, float, Fraction)) and output >= read_value(event["at_least"])


def _ends(probability: Any) -> tuple[Fraction, Fraction]:
    value = read_value(probability)
    return (Fraction(value.lower), Fraction(value.upper)) if isinstance(value, Bounds) else (Fraction(value),) * 2


def _interval(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    lower, upper = clopper_pearson(hits, trials, alpha)
    return float(lower), float(upper)
