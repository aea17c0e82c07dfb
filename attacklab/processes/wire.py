"""The protocol between the lab and a target in another process: the lab's side, which does not trust the answers.

A request is one line of JSON, `{"kind": ..., "input": ..., "trials": n, "seed": s}`, with each float as its hex string;
if the input is a numpy array, it has a field `dtype`. An answer is one line, `{"outputs": [...]}` with one output a
trial (a hex string, an integer, null for a failure), or `{"values": ...}` with outputs of any form, in a list or in an
array with one row a trial, or `{"error": "...", "failure": "..."}`. docs/reference/protocol.md describes it for authors
of programs.

Decimal text would round, so there is none: a number with a decimal point is refused, and so is a hex string that is
not a binary64 number.
"""

from __future__ import annotations

import enum
import json
import re
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import TargetError
from attacklab.model.releases import as_outputs
from attacklab.processes.codec import Reader, encoded, written

LONGEST_LINE = 1 << 28
"""The most bytes in the line of an answer; an answer to one request is no longer."""


_HEX_FLOAT = re.compile(r"[+-]?0x([01])\.?([0-9a-f]{0,13})p([+-]?[0-9]{1,4})", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity|nan(\(\w*\))?)", re.IGNORECASE | re.ASCII)


class ChildFailure(enum.StrEnum):
    """What can go wrong with a process."""

    LOADING = "cannot be loaded"  # the Python target could not be imported, or is not a target
    CRASH = "crash"  # it ended without an answer
    TIME_LIMIT = "time limit"  # no answer in time, while it was still computing
    HANG = "hang"  # no answer in time, and it was idle
    MEMORY_LIMIT = "memory limit"  # it asked for more memory than it may have
    GARBAGE = "garbage"  # the answer does not follow the protocol
    COUNT = "wrong number of outputs"  # too many, or too few
    ARITHMETIC = "arithmetic mode"  # it flushes subnormal numbers to zero or does not round to nearest


class ReleaseError(Exception):
    """The release in the other process raised an exception, or the program answered that it failed.

    It stands for the exception that a release in this process would raise: an adversary may see it, and the process
    keeps running. So, unlike a `ChildError`, it is an answer, and not one of this package's own errors.
    """


class ChildError(TargetError):
    """The process failed in a certain way, so there is no answer; `told` is what is known of it."""

    def __init__(self, failure: ChildFailure, message: str) -> None:
        super().__init__(f"{failure}: {message}")
        self.failure, self.told = failure, message


def request_line(kind: str, input_: Any, trials: int, seed: int, *, to_child: bool = False) -> bytes:
    """The line that asks for `trials` outputs.

    Args:
        kind: the target's kind.
        input_: a number, a numpy array of numbers, or sequences of numbers, booleans and None.
        trials: how many outputs.
        seed: an integer in [0, 2^63) from which the program derives all its randomness.
        to_child: whether `child.py` reads it: an input may be of any form then, and keeps its types.

    Raises:
        TargetError: the input holds something that JSON cannot carry with every bit kept.
    """
    try:
        sent = written(input_) if to_child else encoded(input_)
        request = {"kind": str(kind), "input": sent, "trials": trials, "seed": seed}
        if not to_child and isinstance(input_, np.ndarray | np.generic) and input_.dtype != object:
            request["dtype"] = str(input_.dtype)
        return json.dumps(request).encode() + b"\n"
    except TypeError as error:
        raise TargetError(f"an input for another process must consist of numbers: {error}") from error
    except ValueError:  # the interpreter's limit on digits
        message = "an input for another process has an integer of too many digits; send a smaller one"
        raise TargetError(message) from None


def read_answer(line: bytes, trials: int) -> NDArray[Any] | list[Any]:
    """The outputs of an answer, an array if they are of one type and a list otherwise.

    Raises:
        ChildError: it does not answer this request, or says that the process failed; the message says how.
        ReleaseError: it says that the release failed.
    """
    answer = read_object(line)
    if "error" in answer and set(answer) <= {"error", "failure"} and isinstance(answer["error"], str):
        raise announced_failure(answer)
    if set(answer) == {"values"} and isinstance(answer["values"], list):
        _require_count(len(answer["values"]), trials)
        return _values(answer["values"])
    if set(answer) == {"values"} and isinstance(answer["values"], dict):
        outputs = _value(answer["values"], "the array")
        if not isinstance(outputs, np.ndarray) or not outputs.ndim:
            raise _garbage("values must be a list, or an array with one row a trial")
        _require_count(len(outputs), trials)
        return outputs
    if set(answer) != {"outputs"} or not isinstance(answer["outputs"], list):
        raise _garbage(f"an answer must hold outputs or values, not {_short(line)}")
    _require_count(len(answer["outputs"]), trials)
    return _as_array([_number(item, trial) for trial, item in enumerate(answer["outputs"])])


def read_object(line: bytes) -> dict[str, Any]:
    """Read a line that must be a JSON object without decimal numbers.

    Raises:
        ChildError: it is not.
    """
    try:
        value = json.loads(line.decode(), parse_float=_refused, parse_constant=_refused)
    except ChildError:
        raise
    except (ValueError, RecursionError):
        raise _garbage(f"not a line of JSON: {_short(line)}") from None
    if not isinstance(value, dict):
        raise _garbage(f"not a JSON object: {_short(line)}")
    return value


def announced_failure(answer: dict[str, Any]) -> ChildError | ReleaseError:
    """The failure that an answer announces: the process failed if it says how, and otherwise the release."""
    message = " ".join(str(answer["error"]).split())
    if "failure" not in answer:
        return ReleaseError(message)
    if answer["failure"] not in list(ChildFailure):
        return _garbage(f"failure must be one of {', '.join(ChildFailure)}")
    return ChildError(ChildFailure(answer["failure"]), message)


def _refused(text: str) -> float:
    raise _garbage(f"{text} is not exact: write floats as hex strings, such as '0x1.8p+1'")


def _require_count(count: int, trials: int) -> None:
    if count != trials:
        raise ChildError(ChildFailure.COUNT, f"{count} outputs for {trials} trials")


def _values(items: list[Any]) -> NDArray[Any]:
    values = [_value(item, f"the output of trial {trial}", trial) for trial, item in enumerate(items)]
    outputs: NDArray[Any] = as_outputs(values)
    return outputs


def _value(item: Any, name: str, trial: int = 0) -> Any:
    try:
        return Reader(partial(_number, trial=trial)).read(item)
    except ChildError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError, AttributeError) as error:
        raise _garbage(" ".join(f"{name} {error}".split())) from None


def _number(item: Any, trial: int) -> Any:
    if isinstance(item, list):
        return [_number(part, trial) for part in item]
    if isinstance(item, dict):
        raise _garbage(f"the output of trial {trial} is an object")
    if not isinstance(item, str):
        return item
    match = _HEX_FLOAT.fullmatch(item)
    if match is None:
        if _NOT_FINITE.fullmatch(item):
            return float(item.partition("(")[0])
        if _WHOLE.fullmatch(item):
            return int(item)
        message = f"the output of trial {trial} is not a hex float or a whole number: {item[:40]!r}"
        raise _garbage(message)
    leading, digits, exponent = match.groups()
    wider = f"the output of trial {trial} is not a binary64 number: {item}"
    below_least = -(int(exponent) - 4 * len(digits) + 1074)
    if below_least > 0 and int(leading + digits, 16) & ((1 << below_least) - 1):
        raise _garbage(wider)
    try:
        return float.fromhex(item)
    except OverflowError:
        raise _garbage(wider) from None


def _as_array(values: list[Any]) -> NDArray[Any] | list[Any]:
    types = _types(values)
    if types >= {int, float}:
        raise _garbage("outputs mix integers and floats; write all as floats")
    if len(types) != 1 or type(None) in types:
        return values
    try:
        return np.array(values, dtype={float: np.float64, int: np.int64, bool: np.bool_}[types.pop()])
    except OverflowError:
        raise _garbage("an integer among the outputs does not fit in 64 bits") from None
    except ValueError:  # rows of different lengths
        return values


def _types(values: list[Any]) -> set[type]:
    types = set(map(type, values))
    if list in types:
        types.discard(list)
        types.update(*(_types(row) for row in values if isinstance(row, list)))
    return types


def _garbage(message: str) -> ChildError:
    return ChildError(ChildFailure.GARBAGE, message)


def _short(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace")) + ("…" if len(line) > 60 else "")
