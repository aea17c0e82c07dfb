"""The noise mechanisms that sums and means hand their private numbers to, shown for every number and some scales."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Dialogues
from checker.kinds import laplace_words
from checker.kinds.lending import lent, used
from checker.kinds.released import Noise
from checker.kinds.symbols import Cases, for_all, require_equal
from checker.models import discrete_noise

LIMIT = 1 << 61
"""Noisy integers are brought into ±2^61, before the noise and after."""

GREATEST_SCALE = Fraction(1 << 46)
"""The largest scale that the fast noise takes; a larger one is refused, which must not depend on the data."""

LEMMAS = ("composition", "trials", "discrete-laplace", *laplace_words.FAST_LEMMAS)


def require_noisy_integer(function: Any) -> Any:
    """Check that a function adds noise to every integer alike: clamp(clamp(answer) + noise), for noise of its scale.

    Returns:
        The sampler of the noise.

    Raises:
        Refused: it does something else.
    """
    samplers: list[Any] = []

    def check(cases: Cases) -> None:
        answer, noise, scale = cases.unknown("answer"), cases.unknown("noise"), cases.unknown("scale")
        calls: list[Any] = []

        def call(sampler: Any, *arguments: Any) -> Any:
            if len(arguments) != 1 or arguments[0] is not scale:
                raise Refused(f"noise is drawn with {arguments!r}, not with the scale")
            calls.append(sampler)
            return noise

        with lent(function, operator=SimpleNamespace(index=lambda value: value)):
            found = function(answer, scale, SimpleNamespace(call=call))
        clamped = min(max(answer, -LIMIT), LIMIT)
        require_equal(found, min(max(clamped + noise, -LIMIT), LIMIT), "the noisy integer")
        if len(calls) != 1:
            raise Refused(f"noise is drawn {len(calls)} times")
        samplers.extend(calls)

    for_all(check)
    if any(sampler is not samplers[0] for sampler in samplers):
        raise Refused("the noise depends on the answer")
    return samplers[0]


def require_noise(user: Any, noises: Iterable[Noise], scales: Iterable[Fraction]) -> dict[str, int]:
    """Check the noise mechanisms `noisy_integer` and `noisy_integers` that were called, at some scales.

    Args:
        user: a function of the module that calls them.
        noises: what was called; `sampler` is "noisy_integer" or "noisy_integers".
        scales: the scales.

    Returns:
        How many things of each kind were checked.
    """
    dialogues = Dialogues()
    words = 0
    chosen = sorted(set(scales))
    if chosen[-1] > GREATEST_SCALE:
        raise Refused(f"noise of scale {chosen[-1]} can be asked for, which would be refused")
    for name in sorted({noise.sampler for noise in noises}):
        function = used(user, name)
        if name == "noisy_integers":
            words += laplace_words.require_noisy_integers(function)
            draw_many = used(function, "discrete_laplace_many")
            words += sum(laplace_words.require_fast_noise(draw_many, scale) for scale in {chosen[0], chosen[-1]})
        else:
            sampler = require_noisy_integer(function)
            for scale in chosen:
                dialogues.same(sampler, discrete_noise.discrete_laplace, scale)
    return {"runs": dialogues.runs, "runs cut off": dialogues.cut, "words": words}
