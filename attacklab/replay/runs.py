"""Runs of what is replayed: each under watch, of an input of its own and with a generator of its own."""

from __future__ import annotations

import asyncio
import copy
import inspect
import io
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attacklab.model.errors import in_one_line, passes_through, text_of
from attacklab.replay.outputs import DEEPEST, Raised
from attacklab.replay.session import Session

MOST_GIVEN = 1 << 16
"""If an output is an iterator, at most this many of its items are read."""

LEAST_RUNS = 100
"""So many are made, however long they take."""


class TimeUp(Exception):
    """No more runs are to be made."""


class NotCopied(Exception):
    """An input cannot be copied, as each run needs one of its own."""


@dataclass
class Runs:
    """What is run: a function of one input and a generator, under hooks that are in place.

    Attributes:
        call: `call(input, rng)`.
        rng: makes the generator of a run.
        begin: is called before a run.
        watch: what a run is given instead of its generator.
        unread: what drew in ways that no reader reads: compiled code may do so unseen from then on.
        known: streams of draws whose seed the code fixes: everyone knows them, so they hide nothing.
        is_plain: whether draws are handed over as plain numbers, which are not followed.
        is_endless: whether a loop that draws was seen that has no longest run.
        count: how many there were.
        until: when no more are made, by the monotonic clock, once there were `LEAST_RUNS`.
    """

    call: Callable[[Any, Any], Any]
    rng: Callable[[int], Any]
    begin: Callable[[], None] = lambda: None
    watch: Callable[[Any], Any] = lambda generator: generator
    unread: set[str] = field(default_factory=set)
    known: set[Any] = field(default_factory=set)
    is_plain: bool = False
    is_endless: bool = False
    count: int = 0
    until: float = math.inf

    def run(self, input_: Any, session: Session) -> Session:
        """One run under watch, whose output the session keeps.

        Raises:
            TimeUp: no more are to be made.
            NotCopied: the input cannot be copied.
        """
        if self.count >= LEAST_RUNS and time.monotonic() > self.until:
            raise TimeUp("what the time was too short for; raise seconds")
        self.count += 1
        try:
            taken = copy.deepcopy(input_)
        except Exception as error:  # whatever the class of an input raises
            raise NotCopied(f"an input, which cannot be copied for each run ({in_one_line(error)})") from error
        generator = self.watch(self.rng(session.seed))
        self.begin()
        session.known, session.is_plain = self.known, self.is_plain
        Session.current = session
        try:
            with np.errstate(all="ignore"):
                session.output = _drained(self.call(taken, generator))
        except BaseException as error:
            if passes_through(error):
                raise
            session.output = Raised(type(error).__name__, text_of(error))
        finally:
            Session.current = None
            self.unread.update(session.unread)
        return session

    def unwatched(self) -> Runs:
        """Runs of the same call with plain numbers, and a generator of the class that it has elsewhere."""
        return Runs(self.call, lambda at: np.random.Generator(self.rng(at).bit_generator), self.begin, is_plain=True)

    def fails_unwatched(self, input_: Any, seed: int) -> bool:
        """Whether a run raises as well where numbers, and the class of its generator, are what they are elsewhere."""
        plain = self.unwatched()
        fails = any(isinstance(plain.run(input_, Session(seed + place)).output, Raised) for place in range(LEAST_RUNS))
        self.count += plain.count
        return fails


def _drained(output: Any, depth: int = 0) -> Any:
    """An output whose parts were all drawn, where it gives them one after another, or only once it is awaited."""
    if inspect.iscoroutine(output):
        output = asyncio.run(output)
    if isinstance(output, Iterator) and not isinstance(output, io.IOBase):
        output = list(itertools.islice(output, MOST_GIVEN))
    if depth == DEEPEST:  # it may hold itself
        return output
    if type(output) in (list, tuple):
        return type(output)(_drained(value, depth + 1) for value in output)
    return {key: _drained(value, depth + 1) for key, value in output.items()} if type(output) is dict else output
