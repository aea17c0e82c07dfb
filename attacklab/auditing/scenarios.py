"""What an attack finds to try on a target: it looks at outputs that judge no event, and picks pairs and events."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attacklab.attacks.base import FEW, Attack, Scenario
from attacklab.auditing.clock import Clock
from attacklab.auditing.drawing import Drawn, Draws, Request
from attacklab.auditing.samples import NUMBER_BYTES, Role, naming, seed_of
from attacklab.model.errors import OutsideDomain, TargetError
from attacklab.model.targets import Kind, Outputs, Target, are_numbers

DEEPEST_SIZED = 4
"""How many levels of nesting are counted in an output's size."""


def applies(attack: Attack, target: Target) -> bool:
    """Whether an attack applies to a target.

    Raises:
        AttackError: the attack raised an exception.
    """
    with naming(attack.name):
        return attack.applies_to(target)


def found_scenarios(
    draws: Draws, attack: Attack, seed: int, clock: Clock | None = None
) -> tuple[tuple[Scenario, ...], int]:
    """Find the scenarios of an attack on pairs that the claim covers, up to where it finds no more in the domain.

    Returns:
        The scenarios, whose inputs are as the target takes them, and about how many bytes an output has.

    Raises:
        TargetError: the target failed while it was probed.
        AttackError: the attack failed.
        OutOfTime: the clock leaves no time for what it would look at.
    """
    target = draws.target
    if clock is not None:
        clock.keep_half()
    probe = Prober(target, draws if clock is None else clock.draw, seed, attack.name)
    probe.needs_numbers = target.kind is not Kind.DATASET and not getattr(attack, "whole_outputs", False)
    with naming(attack.name), contextlib.suppress(_NotNumbers):
        offered = list[Scenario]()
        with contextlib.suppress(OutsideDomain):
            for scenario in attack.scenarios(target, probe):
                offered.append(scenario)
        cast = (replace(scenario, pair=target.cast_pair(scenario.pair)) for scenario in offered)
        scenarios = tuple(scenario for scenario in cast if target.covers(scenario.pair))
        if not probe.output_bytes:  # it looked at none
            for scenario in scenarios if target.kind is Kind.DATASET else scenarios[:1]:
                for input_ in (scenario.pair.first, scenario.pair.second):
                    with contextlib.suppress(TargetError):  # what it gives where it fails is seen elsewhere
                        probe(input_, 1)
        return scenarios, max(NUMBER_BYTES, probe.output_bytes)
    return (), NUMBER_BYTES


class _NotNumbers(Exception):
    """An attack on numbers met outputs that are not numbers."""


class Prober:
    """Draws outputs to look at, apart from all that any event is judged on."""

    def __init__(self, target: Target, draw: Callable[[Request], Drawn], seed: int, name: str) -> None:
        self._target, self._draw, self._seed, self.name = target, draw, seed, name
        self._calls = 0
        self.needs_numbers = False  # whether outputs that are not numbers are of no use to whoever looks
        self.words = 0  # how many random words of 64 bits the target has taken from its generators
        self.output_bytes = 0  # about how large its largest outputs were

    def __call__(self, input_: object, trials: int) -> Outputs:
        """So many outputs for an input.

        Raises:
            OutsideDomain: the domain does not hold the input.
            TargetError: the target failed.
            OutOfTime: the clock leaves no time for so many.
            _NotNumbers: numbers are needed, and the outputs are something else.
        """
        cast = self._target.cast(input_)
        if not self._target.takes(cast):
            raise OutsideDomain(f"{self._target.name} was to be probed outside its domain")
        self._calls += 1
        request = Request(cast, trials, seed_of(self._seed, self.name, self._calls, Role.PROBE, 0, 0))
        drawn = self._draw(request)
        outputs = drawn.outputs
        self.words += drawn.words
        if trials:
            few = outputs[:FEW]
            self.output_bytes = max(self.output_bytes, size_of(few) // len(few))
        if self.needs_numbers and not are_numbers(outputs):
            raise _NotNumbers
        return outputs


def size_of(value: Any, depth: int = 0) -> int:
    """About how many bytes a value takes, with what it holds."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return int(value.nbytes)
    size = sys.getsizeof(value)
    if depth > DEEPEST_SIZED or not isinstance(value, list | tuple | set | frozenset | dict | np.ndarray):
        return size
    parts = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
    return size + sum(size_of(part, depth + 1) for part in parts)
