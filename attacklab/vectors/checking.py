"""Checks a program in any language against test vectors. Each request and each answer is one line of JSON.

docs/reference/vectors.md has the requests of each type. An answer for `tape`, `calibration` or `sum` is right or wrong.
An answer for `law` or `pair` holds exact probabilities, which are right or wrong too, or samples. Samples refute at the
stated α, split evenly over all cases of these two types and, within a case, over its outcomes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.laws import Bounds, exp_bounds
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.findings import Verdict, environment
from attacklab.processes.programs import Program
from attacklab.vectors.values import read_value, written

Case: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Mapping[str, Any]
Ask: TypeAlias = Callable[..., Answer]
Judge: TypeAlias = Callable[[Case, Ask, "Budget"], str | None]

SAMPLED = ("law", "pair")
"""The types for which a program may answer with samples."""

LARGEST_INTEGER = 1 << 53
"""Every integer of at most this magnitude is a double."""

FAILURES_IN_A_ROW = 5
"""After this number of errors in a row, a program gets no more requests."""


class Skipped(Exception):
    """The program does not have the mechanism of the request: it answered `{"skip": true}`."""


class Failed(Exception):
    """The mechanism failed on the input: the program answered `{"error": "..."}`, with this message."""


class VectorProgram(Program):
    """A program that answers requests about vectors."""

    def __call__(self, request: Mapping[str, Any], *forms: Sequence[str]) -> Answer:
        """Send a request of JSON values, and return the answer. Each of `forms` lists the fields of a valid answer.

        Raises:
            Skipped: the program has no such mechanism.
            Failed: the mechanism failed.
            TargetError: the answer has none of these forms.
        """
        answer = self.ask(request)
        if answer == {"skip": True}:
            raise Skipped
        if set(answer) == {"error"}:
            raise Failed(" ".join(str(answer["error"]).split()))
        if set(answer) not in map(set, forms):
            expected, held = " or ".join(" and ".join(form) for form in forms), ", ".join(answer) or "nothing"
            raise self.failed(f"garbage: the answer must hold {expected}, not {held[:80]}")
        return answer


@dataclass(frozen=True)
class CaseFinding:
    """The verdict on a program's answer to one case, and the reason in one line. `type` is the type of the file.

    The verdict is PROVED if the answer is right, NOT_DETECTED if samples are compatible with the case, VIOLATED if the
    answer is wrong, NOT_APPLICABLE if the program has no such mechanism or no formula for these arguments, and ERROR if
    the answer is not valid.
    """

    type: str
    case: int
    mechanism: str
    flags: tuple[str, ...]
    verdict: Verdict
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON values."""
        return {**vars(self), "flags": list(self.flags), "verdict": str(self.verdict)}


@dataclass(frozen=True)
class Budget:
    """The number of outputs of each input, the probability of refuting a right program by samples, and the seed."""

    trials: int
    alpha: float
    seed: int


def record(findings: Sequence[CaseFinding]) -> dict[str, Any]:
    """Return the JSON record of findings."""
    rows = [finding.to_json() for finding in findings]
    return {"schema": "attacklab/vectors/1", "environment": environment(), "findings": rows}


def check(files: Sequence[Mapping[str, Any]], ask: Ask, budget: Budget) -> Iterator[CaseFinding]:
    """Check a program against files of vectors.

    Args:
        files: the contents of files, as `read_file` returns them.
        ask: sends a request to the program and returns its answer; see `VectorProgram`.
        budget: the budget for cases that the program may answer with samples.

    Yields:
        A finding for each case. It stops after `FAILURES_IN_A_ROW` errors in a row.
    """
    errors, sampled = 0, sum(file["cases"] for file in files if file["type"] in SAMPLED)
    share = replace(budget, alpha=budget.alpha / max(1, sampled))
    cases = ((file["type"], group, case) for file in files for group in file["groups"] for case in group["cases"])
    for type_, group, case in cases:
        verdict, reason = _judged(type_, group["mechanism"], case, ask, share)
        yield CaseFinding(type_, case["id"], group["mechanism"], tuple(case["flags"]), verdict, reason)
        errors = errors + 1 if verdict is Verdict.ERROR else 0
        if errors == FAILURES_IN_A_ROW:
            return


def _judged(type_: str, mechanism: str, case: Case, ask: Ask, budget: Budget) -> tuple[Verdict, str]:
    is_sampled = False

    def about(*forms: Sequence[str], **request: Any) -> Answer:
        nonlocal is_sampled
        parameters = {"parameters": case["parameters"]} if "parameters" in case else {}
        answer = ask({"vectors": 1, "type": type_, "mechanism": mechanism, **parameters, **request}, *forms)
        is_sampled = is_sampled or "outputs" in answer
        return answer

    try:
        if wrong := JUDGES[type_](case, about, budget):
            return Verdict.VIOLATED, wrong
    except Skipped:
        return Verdict.NOT_APPLICABLE, "the program has no such mechanism"
    except Failed as error:
        return WHERE_FAILED.get(type_, Verdict.VIOLATED), f"it failed: {error}"
    except (TargetError, UsageError) as error:
        return Verdict.ERROR, str(error)
    return (Verdict.NOT_DETECTED, "compatible") if is_sampled else (Verdict.PROVED, "right")


WHERE_FAILED: Mapping[str, Verdict] = {"calibration": Verdict.NOT_APPLICABLE, "pair": Verdict.ERROR}
"""The verdict when the program answers with an error, for types where that is not VIOLATED. A formula may refuse
arguments, and an error on a pair shows nothing about its claim."""


def _tape(case: Case, about: Ask, _: Budget) -> str | None:
    answer = about(fields := ("output", "bits_used"), input=case["input"], bits=case["bits"])
    for name in fields:
        if _key(answer[name]) != _key(case[name]):
            return f"its {name.replace('_', ' ')} is {str(answer[name])[:80]!r}, not {case[name]!r}"
    return None


def _sum(case: Case, about: Ask, _: Budget) -> str | None:
    fields = {name: case[name] for name in ("bounds", "relation", "order", "format")}
    first, second = (_number(about(("value",), **fields, records=case[side])["value"]) for side in ("first", "second"))
    if any(isinstance(value, float) and not math.isfinite(value) for value in (first, second)):
        return f"its sums are {first} and {second}"
    apart = abs(Fraction(first) - Fraction(second)) / Fraction(read_value(case["sensitivity"]))
    return f"its sums lie {_shown(apart)} times the sensitivity apart" if apart > 1 else None


def _calibration(case: Case, about: Ask, _: Budget) -> str | None:
    number, limit = _number(about(("value",))["value"]), read_value(case["limit"])
    if isinstance(number, Fraction) or (isinstance(number, int) and abs(number) > LARGEST_INTEGER):
        raise UsageError(f"value must be a double or an integer of at most 53 bits, not {_shown(number)}")
    if math.isnan(number):
        return "its value is NaN"
    is_unsafe = number < limit if case["unsafe"] == "too small" else number > limit
    return f"its value {float(number)!r} is {case['unsafe']}: the limit is {limit!r}" if is_unsafe else None


def _law(case: Case, about: Ask, budget: Budget) -> str | None:
    answer = about(("outputs",), ("law",), input=case["input"], trials=budget.trials, seed=budget.seed)
    right = {_key(outcome): _ends(probability) for outcome, probability in case["law"]}
    rest = Fraction(read_value(case["rest"]))
    if "law" in answer:
        return _unlike_law(answer["law"], right, rest)
    values = _outputs(answer, budget)
    counts = Counter(map(_key, values))
    rows = [
        (f"P[noise ≥ {place}]", sum(_is_at_least(value, place) for value in values), _ends(probability))
        for place, probability in case["tails"]
    ]
    rows += [(f"P[{outcome}]", counts.pop(outcome, 0), bounds) for outcome, bounds in right.items()]
    rows.append(("P[another outcome]", counts.total(), Bounds(Fraction(0), rest)))
    for label, hits, bounds in rows:
        low, high = clopper_pearson(hits, budget.trials, budget.alpha / len(rows))
        if low > bounds.upper or high < bounds.lower:
            return f"{label} lies in [{low:.6g}, {high:.6g}], not at {_shown(bounds.upper)}"
    return None


def _unlike_law(law: Any, right: Mapping[str, Bounds], rest: Fraction) -> str | None:
    answered = _probabilities(law)
    if (least := sum(bounds.lower for bounds in answered.values())) > 1:
        return f"its probabilities sum to {_shown(least)}"
    for outcome, bounds in right.items():
        stated = answered.pop(outcome, Bounds(0, 0))
        if stated.upper < bounds.lower or stated.lower > bounds.upper:
            return f"P[{outcome}] is {_shown(stated.lower)}, not {_shown(bounds.lower)}"
    unlisted = sum(bounds.lower for bounds in answered.values())
    return f"other outcomes have probability {_shown(unlisted)}, not {_shown(rest)}" if unlisted > rest else None


def _pair(case: Case, about: Ask, budget: Budget) -> str | None:
    epsilon, delta = (Fraction(read_value(case["claim"][name])) for name in ("epsilon", "delta"))
    sides = []
    for seed, side in enumerate(("first", "second"), 2 * budget.seed):
        request = {"input": case[side], "event": case["event"], "trials": budget.trials, "seed": seed}
        answer = about(("outputs",), ("probability",), **request)
        if "probability" in answer:
            sides.append(_ends(answer["probability"]))
        else:
            hits = sum(_happened(case["event"], output) for output in _outputs(answer, budget))
            sides.append(Bounds(*map(Fraction, map(float, clopper_pearson(hits, budget.trials, budget.alpha / 2)))))
    allowed = Fraction(exp_bounds(epsilon).upper) * sides[1].upper + delta
    wrong = f"the event has probability at least {_shown(sides[0].lower)}, but the claim allows {_shown(allowed)}"
    return wrong if sides[0].lower > allowed else None


JUDGES: Mapping[str, Judge] = {"calibration": _calibration, "law": _law, "pair": _pair, "sum": _sum, "tape": _tape}
"""For each type, the function that asks about a case and checks the answers. It returns what is wrong, or None."""


def _key(text: Any) -> str:
    """Return a key for a written value. Two keys are equal only if the types and all bits of the values are equal."""
    return str(written(read_value(text)))


def _number(text: Any) -> Any:
    value = read_value(text)
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise UsageError(f"{str(text)[:80]!r} is not a number")
    return value


def _probabilities(law: Any) -> dict[str, Bounds]:
    if not isinstance(law, list) or not all(isinstance(entry, list) and len(entry) == 2 for entry in law):
        raise UsageError("law must be a list of pairs of an outcome and its probability")
    bounds = {_key(outcome): _ends(probability) for outcome, probability in law}
    if len(bounds) < len(law):
        raise UsageError("law names an outcome twice")
    return bounds


def _outputs(answer: Answer, budget: Budget) -> list[Any]:
    outputs = answer["outputs"]
    if not isinstance(outputs, list) or len(outputs) != budget.trials:
        raise UsageError(f"outputs must be a list of {budget.trials} values")
    return outputs


def _happened(event: Mapping[str, Any], output: Any) -> bool:
    if "outcomes" in event:
        return _key(output) in map(_key, event["outcomes"])
    return _is_at_least(output, event["at_least"])


def _is_at_least(output: Any, place: Any) -> bool:
    value = read_value(output)
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) and value >= read_value(place)


def _ends(probability: Any) -> Bounds:
    value = read_value(probability)
    lower, upper = value if isinstance(value, Bounds) else (value, value)
    if not all(isinstance(end, (int, Fraction)) and 0 <= end <= 1 for end in (lower, upper)):
        raise UsageError(f"{str(probability)[:80]!r} is not a probability, a rational number from 0 to 1")
    return Bounds(Fraction(lower), Fraction(upper))


def _shown(number: int | float | Fraction) -> str:
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a huge number"
