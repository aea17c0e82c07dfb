"""Outputs that come with the work that each one took: random bits, rounds, or whatever a release counts.

A release reports work by name: as a numpy array with the fields `output` and `work`, or as a dict of these two for each
output. One whose target claims `OutputAndWork` says so already, and may return (output, work) pairs. Where it reports
none, the lab counts the random bits of each output. Inside the lab there is one form: an array of records with the
fields `output`, every bit of it kept, and `work`, an integer or a double.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from operator import index
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.derived_generators import OtherGenerators, noticed_sources
from attacklab.model.errors import TargetError, UsageError, passes_through
from attacklab.model.random_bits import SeededBits
from attacklab.model.releases import as_outputs, gathered

Records: TypeAlias = NDArray[Any]
"""One record a trial, with the fields `output` and `work`."""

FIELDS: Final = ("output", "work")

HOW_TO_REPORT: Final = (
    'return {"output": ..., "work": ...} for each output, or an array with these two fields; a target that claims '
    "OutputAndWork may return (output, work) pairs; a program answers with a field work too"
)

REPORTED: Final = "reported by the target"
COUNTED: Final = "random bits, counted by the lab"
"""Where work comes from, as a finding says it."""

_WORD: Final = 64


class CountedBits(SeededBits):
    """Reproducible bits that count the bits taken; see `SeededBits`."""

    counts = True
    taken = 0

    def take(self, count: int) -> int:
        """Draw an integer of `count` bits; see `SeededBits.take`."""
        count = index(count)  # 1 << count overflows for numpy integers
        drawn = super().take(count)
        self.taken += count
        return drawn

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `SeededBits.words`."""
        self.taken += 64 * index(count)
        return super().words(count)


@dataclass(frozen=True)
class Counted:
    """A release whose outputs come with the work that it reports, or else with the random bits that each one took.

    Attributes:
        release: the release. One output tells whether it reports work; if not, it is called once a trial.
        sampler: draws outputs instead, if there is one; its work is the bits that it takes.
        gives_numbers: whether an output is a number, so that a list of two can be none; a tuple of two is refused.
    """

    release: Callable[[Any, int, np.random.Generator], Any]
    sampler: Callable[[Any, Any], Any] | None = None
    gives_numbers: bool = False

    @property
    def code(self) -> dict[str, str]:
        """What the release says of its code; see `attacklab.processes.targets.ProcessRelease`."""
        return dict(getattr(self.release, "code", {}))

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Records:
        """Draw outputs, each with its work.

        Raises:
            TargetError: the work is not reported, and not all of it is drawn from the generator itself.
        """
        outputs, work = [], []
        by_sampler = self.sampler is not None and not self.reports(input_)
        others = OtherGenerators(rng)
        with noticed_sources() as noticed:
            for done in range(trials):
                if by_sampler:
                    output, taken = self._by_sampler(input_, rng)
                else:
                    before = rng.bit_generator.state
                    released, drawn = self._drawn(input_, 1, rng)
                    if done == 0 and self._is_reported(drawn):
                        rest = [self._drawn(input_, trials - 1, rng)[1]] if trials > 1 else []
                        return joined([as_records(part) for part in (drawn, *rest)])
                    output = released[0] if isinstance(released, list | tuple) else drawn[0]
                    self._require_counted(output)
                    taken = bits_between(before, rng.bit_generator.state)
                _require_none(noticed[0] if noticed else "")
                outputs.append(output)
                work.append(taken)
        if not by_sampler and not any(work) and len({repr(output) for output in outputs}) > 1:
            raise TargetError(
                f"its outputs differ though it took no bits of the generator that it was given; {HOW_TO_REPORT}"
            )
        moved = others.moved()
        _require_none(moved and f"draws from a generator of its own ({moved})")
        return records(outputs, work)

    def reports(self, input_: Any) -> bool:
        """Whether the release reports work: one output tells; a release that raises reports none."""
        try:
            _, drawn = self._drawn(input_, 1, np.random.default_rng(0))
        except Exception as error:
            if passes_through(error):
                raise
            return False
        return self._is_reported(drawn)

    def _is_reported(self, drawn: NDArray[Any]) -> bool:
        return reports_work(drawn) or _is_record(drawn[0])

    def _require_counted(self, output: Any) -> None:
        """Refuse an output whose work cannot be counted here, or may be in it already."""
        if _is_pair(output) and (self.gives_numbers or isinstance(output, tuple)):
            raise TargetError(
                f"it returned the pair {output!r}, and nothing says that this is an output and its work; "
                f"{HOW_TO_REPORT}{'' if self.gives_numbers else '; if both are the output, return them as a list'}"
            )
        if getattr(self.release, "draws_elsewhere", False):
            raise TargetError(f"its draws are not seen from here, so only it can count its work; {HOW_TO_REPORT}")

    def _by_sampler(self, input_: Any, rng: np.random.Generator) -> tuple[Any, int]:
        assert self.sampler is not None  # noqa: S101 - asked where there is one
        bits = CountedBits(rng)
        return self.sampler(copy.deepcopy(input_), bits), bits.taken

    def _drawn(self, input_: Any, trials: int, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        """What the release returned, and the same as an array."""
        released = self.release(copy.deepcopy(input_), trials, rng)
        outputs = gathered(released, trials)
        if outputs is None or len(outputs) != trials:
            raise TargetError(f"it returned something other than one output a trial for {trials} trials")
        return released, np.asarray(outputs)


@dataclass(frozen=True)
class OutputsAlone:
    """A release that reports its work, without that work."""

    release: Callable[[Any, int, np.random.Generator], Any]

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        """Draw outputs."""
        released = gathered(self.release(input_, trials, rng), trials)
        return None if released is None else as_records(np.asarray(released))["output"]


def reports_work(outputs: NDArray[Any]) -> bool:
    """Whether outputs are records of an output and its work."""
    return set(outputs.dtype.names or ()) == set(FIELDS)


def outputs_alone(outputs: NDArray[Any]) -> NDArray[Any]:
    """Outputs without their work; others as they are, and failures among records too."""
    if reports_work(outputs):
        return np.asarray(outputs["output"])
    if outputs.dtype != object or not any(map(_is_record, outputs)):
        return outputs
    return np.asarray(as_outputs([output["output"] if _is_record(output) else output for output in outputs]))


def as_records(outputs: NDArray[Any]) -> Records:
    """Outputs as records, from pairs, or from an array with the two fields.

    Raises:
        TargetError: an output comes without its work, or the work is not a number of at least 0.
    """
    if reports_work(outputs):
        if outputs.dtype.names == FIELDS and outputs.dtype["work"] in (np.int64, np.float64):
            _require_work(outputs["work"])
            return outputs
        return records(list(outputs["output"]), outputs["work"].tolist())
    pairs = [(output["output"], output["work"]) if _is_record(output) else output for output in outputs]
    for trial, pair in enumerate(pairs):
        if not _is_pair(pair):
            raise TargetError(f"it returned no work with the output of trial {trial}; {HOW_TO_REPORT}")
    return records([output for output, _ in pairs], [work for _, work in pairs])


def records(outputs: Any, work: Any) -> Records:
    """Records of so many outputs and the work of each.

    Raises:
        TargetError: work is not a number of at least 0, or does not fit 64 bits.
    """
    values, amounts = _values(list(outputs)), _amounts(list(work))
    made = np.empty(len(values), dtype=[("output", values.dtype, values.shape[1:]), ("work", amounts.dtype)])
    made["output"], made["work"] = values, amounts
    return made


def joined(parts: list[Records]) -> Records:
    """Records of several calls as one array."""
    if len({part.dtype for part in parts}) == 1:
        return np.concatenate(parts)
    return records([output for part in parts for output in part["output"]], [w for part in parts for w in part["work"]])


def bits_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """How many bits a PCG64 generator produced between two of its states, fewer than 2^128 words apart.

    Args:
        before: the earlier `bit_generator.state`.
        after: the later one.

    Raises:
        UsageError: a state is not one of PCG64, or the states are not of the same generator.
    """
    for state in (before, after):
        if state["bit_generator"] != "PCG64":
            kind = state["bit_generator"]
            raise UsageError(f"bits are counted for PCG64 only, not for {kind}; use numpy.random.default_rng")
    if before["state"]["inc"] != after["state"]["inc"]:
        raise UsageError("before and after must be states of one generator")
    # Either state may hold half a word, left over from a draw of 32 bits.
    halves: int = before["has_uint32"] - after["has_uint32"]
    return _WORD * words_between(before, after) + _WORD // 2 * halves


_FACTOR: Final = 0x2360ED051FC65DA44385DF649FCCF645
_MASK: Final = (1 << 128) - 1


def words_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """How many random words of 64 bits a `PCG64` gave: a cost of drawing that is the same on every machine.

    It steps through its states s -> a·s + c mod 2^128, one step a word. Bit i of a state changes with a period of
    2^(i+1) steps, so the number of steps between two states is found bit by bit.

    Args:
        before: the state of the generator, as numpy gives it.
        after: a later state.

    Source: O'Neill 2014, 'PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
        Generation', section 4.3.1; the search is its jump-ahead (Brown 1994) backwards.
    """
    state, end, step = before["state"]["state"], after["state"]["state"], before["state"]["inc"]
    factor, words, bit = _FACTOR, 0, 1
    while state != end and bit <= _MASK:
        if (state ^ end) & bit:
            state = (state * factor + step) & _MASK
            words |= bit
        step = (factor + 1) * step & _MASK
        factor = factor * factor & _MASK
        bit <<= 1
    return words


def _require_none(elsewhere: str) -> None:
    """Refuse a draw from anything that is not counted."""
    if elsewhere:
        raise TargetError(
            f"it {elsewhere} while it draws an output, and the bits of that one cannot be counted; draw from the "
            f"generator that it is given, or {HOW_TO_REPORT}"
        )


def _is_record(output: Any) -> bool:
    """Whether an output names itself and its work."""
    names = output if isinstance(output, dict) else output.dtype.names or () if isinstance(output, np.void) else ()
    return set(names) == set(FIELDS)


def _is_pair(output: Any) -> bool:
    return isinstance(output, tuple | list) and len(output) == len(FIELDS)


def _values(outputs: list[Any]) -> NDArray[Any]:
    """As `as_outputs` has them, but arrays of one form as rows of a larger one."""
    forms = {(output.dtype, output.shape) if isinstance(output, np.ndarray) else None for output in outputs}
    return np.stack(outputs) if len(forms) == 1 and None not in forms else np.asarray(as_outputs(outputs))


def _amounts(work: list[Any]) -> NDArray[Any]:
    for trial, amount in enumerate(work):
        if not isinstance(amount, Real) or isinstance(amount, bool):
            raise TargetError(f"it returned work {amount!r} in trial {trial}; work must be a number")
    whole = all(isinstance(amount, Integral) for amount in work)
    try:
        amounts = np.array(work, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        raise TargetError(f"it returned work {max(work, key=abs)!r}, which does not fit 64 bits") from None
    _require_work(amounts)
    return amounts


def _require_work(amounts: NDArray[Any]) -> None:
    wrong = ~((amounts >= 0) & (amounts < math.inf))
    if wrong.any():
        trial = int(wrong.argmax())
        raise TargetError(f"it returned work {amounts[trial]} in trial {trial}; work must be finite and not negative")
