"""Sums over chunks of records, for a number of records of which nothing is known."""

from __future__ import annotations

from functools import partial
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import lent
from checker.kinds.stateless import require_meanings, require_stateless
from checker.kinds.symbols import Cases, Symbol, for_all, require_equal


class _Values:
    """Values of which parts can be taken, and nothing else."""

    def __getitem__(self, key: Any) -> _Taken:
        if type(key) is not slice or key.step is not None:
            raise Refused(f"the values {key!r} are asked for")
        return _Taken("values", key.start, key.stop)


class _Taken:
    """What was made of a part of the values, step by step."""

    def __init__(self, made: str, start: Any, stop: Any) -> None:
        self.made, self.start, self.stop = made, start, stop

    def becomes(self, of: str, made: str) -> _Taken:
        """Take a step."""
        if self.made != of:
            raise Refused(f"{made} are made of {self.made}, not of {of}")
        return _Taken(made, self.start, self.stop)

    def sum(self) -> _Taken:
        """Add up the integers."""
        return self.becomes("integers", "sum")

    def item(self) -> _Taken:
        """Take the sum out of its array."""
        return self.becomes("sum", "whole")


def require_cut(adding: Any, greatest: int) -> int:
    """Check that a sum is that of the sums of [s, s + c) for s in `range(0, n, c)`, n the number of values.

    Nothing is known of n and of s, so that nothing that is done depends on how large they are. Every value has one such
    s (lemma `chunks-of-records`).

    Args:
        adding: `adding(values, integers, greatest)`.
        greatest: the greatest modulus of an integer.

    Returns:
        c, the size of a chunk.

    Raises:
        Refused: it is another sum.
    """
    sizes: list[int] = []

    def check(cases: Cases) -> None:
        values, count, total = _Values(), cases.unknown("count"), cases.unknown("total")
        starts, sums = object(), object()

        def number(one: Any) -> Symbol:
            if one is not values:
                raise Refused("the number of something other than the values is asked for")
            return count

        def counted(*ends: Any) -> object:
            if len(ends) != 3 or ends[0] != 0 or type(ends[2]) is not int or ends[2] < 1:
                raise Refused(f"chunks begin at {ends}")
            require_equal(ends[1], count, "the end of the values")
            sizes.append(ends[2])
            return starts

        def mapped(step: Any, over: Any) -> object:
            if over is not starts or type(step) is not partial:
                raise Refused("something other than the chunks is added up")
            require_stateless(step.func)
            if any(one is not values and one is not integers and type(one) is not int for one in step.args):
                raise Refused(f"chunks are added up with {step.args}")
            start = cases.unknown("start")
            found = step(start)
            if type(found) is not _Taken or found.made != "whole":
                raise Refused(f"{found!r} is added up for a chunk")
            require_equal(found.start, start, "the start of a chunk")
            require_equal(found.stop, start + sizes[-1], "the end of a chunk")
            return sums

        def added(one: Any) -> Symbol:
            if one is not sums:
                raise Refused("something other than the sums of chunks is added up")
            return total

        with lent(adding, len=number, range=counted, map=mapped, sum=added):
            require_equal(adding(values, integers, greatest), total, "the sum of the chunks")

    def integers(part: Any) -> _Taken:
        if type(part) is not _Taken:
            raise Refused(f"{part!r} is mapped to integers")
        return part.becomes("values", "integers")

    require_meanings(adding, len=len, range=range, map=map, sum=sum)
    for_all(check)
    if any(size != sizes[0] for size in sizes):
        raise Refused("the size of a chunk depends on the number of records")
    return sizes[0]
