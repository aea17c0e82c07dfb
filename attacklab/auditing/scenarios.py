"""What an attack finds to try on a target: it looks at outputs that judge no event, and picks pairs and events."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from attacklab.attacks.base import FEW, Attack, Scenario
from attacklab.attacks.failures import answered
from attacklab.auditing.clock import Clock
from attacklab.auditing.drawing import Draws, Request
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
    probe = Prober(draws, seed, attack.name, clock)
    with naming(attack.name):
        offered = _scenarios_of(attack, target, probe)
        cast = (replace(scenario, pair=target.cast_pair(scenario.pair)) for scenario in offered)
        scenarios = tuple(scenario for scenario in cast if target.covers(scenario.pair))
        return scenarios, max(NUMBER_BYTES, probe.output_bytes or _output_bytes(target, probe, scenarios))


def _output_bytes(target: Target, looked: Prober, scenarios: Iterable[Scenario]) -> int:
    """About how large the outputs of scenarios are that were found without a look at any; 0 where none is given."""
    probe = looked.apart(f"{looked.name}, size")
    if target.kind is Kind.DATASET:
        for scenario in scenarios:
            for input_ in (scenario.pair.first, scenario.pair.second):
                with contextlib.suppress(TargetError):
                    probe(input_, 1)
    return probe.output_bytes


def _scenarios_of(attack: Attack, target: Target, probe: Prober) -> list[Scenario]:
    """What an attack finds; nothing if it looks at numbers, and the target gives something else for an answer."""
    if target.kind is Kind.DATASET or getattr(attack, "whole_outputs", False):
        return _until_outside(partial(attack.scenarios, target, probe))
    probe.needs_numbers = True
    try:
        scenarios = _until_outside(partial(attack.scenarios, target, probe))
        if scenarios and not probe.output_bytes:
            form = probe.apart("form")
            form.needs_numbers = True
            with contextlib.suppress(TargetError):  # what it gives where it does not fail is seen elsewhere
                answered(form, scenarios[0].pair.first, FEW)
    except _NotNumbers:
        return []
    return scenarios


class _NotNumbers(Exception):
    """An attack on numbers met outputs that are not numbers."""


def _until_outside(scenarios: Callable[[], Iterable[Scenario]]) -> list[Scenario]:
    """The scenarios up to the first that the attack cannot make in the target's domain."""
    collected = []
    with contextlib.suppress(OutsideDomain):
        for scenario in scenarios():
            collected.append(scenario)  # noqa: PERF402 - what came before an error is kept
    return collected


class Prober:
    """Draws outputs to look at, apart from all that any event is judged on; probes of other names are independent."""

    def __init__(self, draws: Draws, seed: int, name: str, clock: Clock | None = None) -> None:
        self._draws, self._seed, self.name, self._clock = draws, seed, name, clock
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
        target = self._draws.target
        cast = target.cast(input_)
        if not target.takes(cast):
            raise OutsideDomain(f"{target.name} was to be probed outside its domain")
        self._calls += 1
        request = Request(cast, trials, seed_of(self._seed, self.name, self._calls, Role.PROBE, 0, 0))
        drawn = self._clock.draw(self._draws, request) if self._clock else self._draws(request)
        outputs = drawn.outputs
        self.words += drawn.words
        if trials:
            few = outputs[:FEW]
            self.output_bytes = max(self.output_bytes, size_of(few) // len(few))
        if self.needs_numbers and not are_numbers(outputs):
            raise _NotNumbers
        return outputs

    def apart(self, name: str) -> Prober:
        """One of another name, which keeps to the same time."""
        return Prober(self._draws, self._seed, name, self._clock)


def size_of(value: Any, depth: int = 0) -> int:
    """About how many bytes a value takes, with what it holds."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return int(value.nbytes)
    size = sys.getsizeof(value)
    if depth > DEEPEST_SIZED or not isinstance(value, list | tuple | set | frozenset | dict | np.ndarray):
        return size
    parts = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
    return size + sum(size_of(part, depth + 1) for part in parts)
