"""Vectors held against a program.

What a program returns for `tape`, `trace`, `calibration`, `rounding` and `sum` is right or wrong. For `law` and `pair`
it gives exact probabilities, which are right or wrong too, or samples: these refute at the stated α, split evenly over
all cases of these types and, within one, over its outcomes. `special` asks for one output on either input: both must be
answered, or neither.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.laws import Bounds, exp_bounds
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.findings import Severity, Verdict
from attacklab.vectors.program import Failed, Skipped
from attacklab.vectors.values import read_value, written

Case: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Mapping[str, Any]
Ask: TypeAlias = Callable[..., Answer]

SAMPLED = ("law", "pair")
"""The types for which a program may answer with samples."""

LARGEST_INTEGER = 1 << 53
"""Every integer up to here is a double."""

FAILURES_IN_A_ROW = 5
"""After so many a program is asked no more."""


@dataclass(frozen=True)
class CaseFinding:
    """What a program did with one case.

    Attributes:
        type: of the file.
        case: its number there.
        mechanism: of its group.
        flags: of the case.
        verdict: PROVED if the answer is right, NOT_DETECTED if samples are compatible with the case, VIOLATED if it is
            wrong, NOT_APPLICABLE if the program has no such mechanism or formula for these arguments, ERROR if it did
            not answer as it must.
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
        A finding for each case, up to `FAILURES_IN_A_ROW` errors in a row.
    """
    errors = 0
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
                errors = errors + 1 if verdict is Verdict.ERROR else 0
                if errors == FAILURES_IN_A_ROW:
                    return


def _judged(type_: str, mechanism: str, case: Case, ask: Ask, budget: Budget) -> tuple[Verdict, str]:
    def about(*forms: Sequence[str], **request: Any) -> Answer:
        parameters = {"parameters": case["parameters"]} if "parameters" in case else {}
        return ask({"vectors": 1, "type": type_, "mechanism": mechanism, **parameters, **request}, *forms)

    try:
        return JUDGES[type_](case, about, budget)
    except Skipped:
        return Verdict.NOT_APPLICABLE, "the program has no such mechanism"
    except Failed as error:
        return WHERE_FAILED.get(type_, Verdict.VIOLATED), f"it failed: {error}"
    except (TargetError, UsageError) as error:
        return Verdict.ERROR, str(error)


WHERE_FAILED: Mapping[str, Verdict] = {"calibration": Verdict.NOT_APPLICABLE, "pair": Verdict.ERROR}
"""A formula may refuse arguments, and a failure of a pair's mechanism shows nothing of its claim. Elsewhere, the answer
is known, and a failure is a wrong one."""

Judged: TypeAlias = tuple[Verdict, str]
About: TypeAlias = Callable[..., Answer]


def _exactly(wrong: str) -> Judged:
    return (Verdict.VIOLATED, wrong) if wrong else (Verdict.PROVED, "right")


def _sampled(wrong: str) -> Judged:
    return (Verdict.VIOLATED, wrong) if wrong else (Verdict.NOT_DETECTED, "compatible")


def _tape(case: Case, about: About, _budget: Budget) -> Judged:
    fields = ("output", "bits_used")
    answer = about(fields, input=case["input"], bits=case["bits"])
    return _exactly(next(filter(None, (_unlike(name, answer[name], case[name]) for name in fields)), ""))


def _trace(case: Case, about: About, _budget: Budget) -> Judged:
    replies = [request["reply"] for request in case["requests"]]
    answer = about(("requests", "output"), input=case["input"], replies=replies)
    wrong = _other_request(answer["requests"], [request["request"] for request in case["requests"]])
    return _exactly(wrong or _unlike("output", answer["output"], case["output"]))


def _other_request(requests: Any, expected: Sequence[str]) -> str:
    if not isinstance(requests, list):
        raise UsageError(f"requests must be a list, not {str(requests)[:40]!r}")
    for place, (asked, right) in enumerate(zip(requests, expected, strict=False), 1):
        if asked != right:
            return f"its request {place} is {str(asked)[:80]!r}, not {right!r}"
    if len(requests) != len(expected):
        return f"it makes {len(requests)} requests, not {len(expected)}"
    return ""


def _rounding(case: Case, about: About, _budget: Budget) -> Judged:
    terms = {"terms": case["terms"]} if case["terms"] else {}
    for mode in ("nearest", "toward_zero", "upward", "downward"):
        answer = about(("value",), value=case["value"], **terms, format=case["format"], mode=mode)
        if wrong := _unlike(f"value rounded {mode.replace('_', ' ')}", answer["value"], case[mode]):
            return _exactly(wrong)
    return _exactly("")


def _sum(case: Case, about: About, _budget: Budget) -> Judged:
    fields = {name: case[name] for name in ("bounds", "relation", "order", "format")}
    first, second = (_number(about(("value",), **fields, records=case[side])["value"]) for side in ("first", "second"))
    if any(isinstance(value, float) and not math.isfinite(value) for value in (first, second)):
        return _exactly(f"its sums are {first} and {second}")
    moved, sensitivity = abs(Fraction(first) - Fraction(second)), Fraction(read_value(case["sensitivity"]))
    if moved <= sensitivity:
        return _exactly("")
    return _exactly(f"its sums lie {_shown(moved / sensitivity)} times the sensitivity apart")


def _calibration(case: Case, about: About, _budget: Budget) -> Judged:
    number, limit = _number(about(("value",))["value"]), read_value(case["limit"])
    if isinstance(number, Fraction) or (isinstance(number, int) and abs(number) > LARGEST_INTEGER):
        raise UsageError(f"value must be a double or an integer of at most 53 bits, not {_shown(number)}")
    if math.isnan(number):
        return _exactly("its value is NaN")
    unsafe = number < limit if case["unsafe"] == "too small" else number > limit
    return _exactly(f"its value {float(number)!r} is {case['unsafe']}: the limit is {limit!r}" if unsafe else "")


def _special(case: Case, about: About, budget: Budget) -> Judged:
    answered = []
    for side in ("first", "second"):
        try:
            outputs = about(("outputs",), input=case[side], trials=1, seed=budget.seed)["outputs"]
        except Failed as error:
            answered.append((False, str(error)))
        else:
            (output,) = _outputs(outputs, 1)
            failed = output is None or (isinstance(output, float) and math.isnan(output))
            answered.append((not failed, str(outputs[0])))
    (first, shown), (second, shown_second) = answered
    if first == second:
        return _exactly("")
    return _exactly(f"it answers one input only: {shown} on the first, {shown_second} on the second")


def _law(case: Case, about: About, budget: Budget) -> Judged:
    answer = about(("outputs",), ("law",), input=case["input"], trials=budget.trials, seed=budget.seed)
    if "law" in answer:
        return _exactly(_unlike_law(case, _probabilities(answer["law"])))
    return _sampled(_unlike_sample(case, _outputs(answer["outputs"], budget.trials), budget))


def _unlike_law(case: Case, answered: dict[str, Bounds]) -> str:
    least = sum(Fraction(bounds.lower) for bounds in answered.values())
    if least > 1:
        return f"its probabilities sum to {_shown(least)}"
    for outcome, probability in case["law"]:
        right, stated = _ends(probability), answered.pop(_key(read_value(outcome)), Bounds(0, 0))
        if stated.upper < right.lower or stated.lower > right.upper:
            return f"P[{outcome}] is {_shown(stated.lower)}, not {_shown(right.lower)}"
    unlisted, rest = sum(Fraction(bounds.lower) for bounds in answered.values()), Fraction(read_value(case["rest"]))
    if unlisted > rest:
        return f"other outcomes have probability {_shown(unlisted)}, not {_shown(rest)}"
    return ""


def _unlike_sample(case: Case, values: Sequence[Any], budget: Budget) -> str:
    counts, trials = Counter(map(_key, values)), budget.trials
    share = budget.alpha / (len(case["law"]) + len(case["tails"]) + 1)
    for place, probability in case["tails"]:
        hits = sum(_is_at_least(value, read_value(place)) for value in values)
        if wrong := _other_frequency(f"P[noise ≥ {place}]", hits, trials, share, _ends(probability)):
            return wrong
    for outcome, probability in case["law"]:
        hits = counts.pop(_key(read_value(outcome)), 0)
        if wrong := _other_frequency(f"P[{outcome}]", hits, trials, share, _ends(probability)):
            return wrong
    rest = Bounds(Fraction(0), Fraction(read_value(case["rest"])))
    return _other_frequency("P[another outcome]", counts.total(), trials, share, rest)


def _other_frequency(label: str, hits: int, trials: int, alpha: float, right: Bounds) -> str:
    low, high = clopper_pearson(hits, trials, alpha)
    if low > right.upper or high < right.lower:
        return f"{label} lies in [{low:.6g}, {high:.6g}], not at {_shown(right.upper)}"
    return ""


def _pair(case: Case, about: About, budget: Budget) -> Judged:
    epsilon, delta = (Fraction(read_value(case["claim"][name])) for name in ("epsilon", "delta"))
    sides, exact = [], True
    for number, side in enumerate(("first", "second")):
        seed = 2 * budget.seed + number
        request = {"input": case[side], "event": case["event"], "trials": budget.trials, "seed": seed}
        answer = about(("outputs",), ("probability",), **request)
        if "probability" in answer:
            sides.append(_probability(answer["probability"]))
            continue
        exact = False
        hits = sum(_happened(case["event"], output) for output in _outputs(answer["outputs"], budget.trials))
        low, high = clopper_pearson(hits, budget.trials, budget.alpha / 2)
        sides.append(Bounds(Fraction(float(low)), Fraction(float(high))))
    allowed = Fraction(exp_bounds(epsilon).upper) * Fraction(sides[1].upper) + delta
    wrong = ""
    if sides[0].lower > allowed:
        wrong = f"the event has probability {_shown(sides[0].lower)} at least, and {_shown(allowed)} is allowed"
    return _exactly(wrong) if exact else _sampled(wrong)


JUDGES: Mapping[str, Callable[[Case, About, Budget], Judged]] = {
    "calibration": _calibration,
    "law": _law,
    "pair": _pair,
    "rounding": _rounding,
    "special": _special,
    "sum": _sum,
    "tape": _tape,
    "trace": _trace,
}
"""What each type makes of the program's answers."""


def _unlike(label: str, answered: Any, right: Any) -> str:
    if _key(read_value(answered)) == _key(read_value(right)):
        return ""
    return f"its {label.replace('_', ' ')} is {str(answered)[:80]!r}, not {right!r}"


def _key(value: Any) -> str:
    """What tells two values apart: type and bits."""
    return str(written(value))


def _number(text: Any) -> int | float | Fraction:
    value = read_value(text)
    if not _is_number(value):
        raise UsageError(f"{str(text)[:80]!r} is not a number")
    return value  # type: ignore[no-any-return]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def _probability(text: Any) -> Bounds:
    ends = _ends(text)
    if not 0 <= ends.lower <= ends.upper <= 1:
        raise UsageError(f"{str(text)[:80]!r} is not a probability")
    return ends


def _probabilities(law: Any) -> dict[str, Bounds]:
    if not isinstance(law, list) or not all(isinstance(entry, list) and len(entry) == 2 for entry in law):
        raise UsageError("law must be a list of pairs of an outcome and its probability")
    bounds = {_key(read_value(outcome)): _probability(probability) for outcome, probability in law}
    if len(bounds) < len(law):
        raise UsageError("law names an outcome twice")
    return bounds


def _outputs(outputs: Any, trials: int) -> list[Any]:
    if not isinstance(outputs, list) or len(outputs) != trials:
        raise UsageError(f"outputs must be a list of {trials} values")
    return [read_value(output) for output in outputs]


def _happened(event: Mapping[str, Any], output: Any) -> bool:
    if "outcomes" in event:
        return _key(output) in [_key(read_value(outcome)) for outcome in event["outcomes"]]
    return _is_at_least(output, read_value(event["at_least"]))


def _is_at_least(output: Any, place: Any) -> bool:
    return _is_number(output) and bool(output >= place)


def _ends(probability: Any) -> Bounds:
    value = read_value(probability)
    lower, upper = value if isinstance(value, Bounds) else (value, value)
    if not all(isinstance(end, (int, Fraction)) for end in (lower, upper)):
        raise UsageError(f"{str(probability)[:80]!r} is not a rational number")
    return Bounds(Fraction(lower), Fraction(upper))


def _shown(number: int | float | Fraction) -> str:
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a huge number"
