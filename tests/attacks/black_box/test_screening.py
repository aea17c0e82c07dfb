"""Screening: of many pairs the one that tells its inputs apart is kept, and inputs that pairs share are drawn once."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import NeighbouringPair, PrivacyClaim
from attacklab.attacks.black_box.screening import Sampler, screened
from attacklab.model.errors import Refused
from attacklab.model.targets import Outputs

CLAIM = PrivacyClaim(1.0)
PAIRS = [NeighbouringPair.answers(float(number), number + 1.0, sensitivity=1.0) for number in range(100)]
LEAKING = 37.0

Form = Callable[[NDArray[np.float64]], Outputs]


def as_objects(values: list[Any]) -> Outputs:
    return np.fromiter(values, dtype=object, count=len(values))


FORMS: dict[str, Form] = {
    "numbers": lambda y: y,
    "rows": lambda y: np.column_stack([np.zeros(len(y)), y]),
    "dicts": lambda y: as_objects([{"sum": value} for value in y.tolist()]),
    "texts": lambda y: as_objects(["yes" if value > 20 else "no" for value in y]),
    "missing": lambda y: as_objects([None if value > 20 else value for value in y.tolist()]),
}


class Probe:
    """Outputs that depend on one of the inputs only; what is drawn of each input is counted."""

    def __init__(self, form: Form) -> None:
        self.form, self.drawn, self.rng = form, Counter[tuple[float, int]](), np.random.default_rng(7)

    def __call__(self, input_: Any, trials: int) -> Outputs:
        self.drawn[input_, trials] += 1
        return self.form(self.rng.normal(40.0 if input_ == LEAKING else 0.0, 3.0, trials))


@pytest.mark.parametrize("form", FORMS)
def test_the_pairs_that_tell_their_inputs_apart_are_kept(form: str) -> None:
    probe = Probe(FORMS[form])
    kept = screened(PAIRS, Sampler(probe), CLAIM, kept=2, outputs=256)
    assert {frozenset((pair.first, pair.second)) for pair in kept} == {frozenset((36.0, 37.0)), frozenset((37.0, 38.0))}
    assert set(probe.drawn.values()) == {1}
    total = sum(trials * times for (_, trials), times in probe.drawn.items())
    assert total <= 101 * 16 + 2 * 32 * 64 + 2 * 8 * 256


def test_a_target_that_always_fails_is_not_asked_for_every_pair() -> None:
    asked = Counter[float]()

    def fails(input_: Any, trials: int) -> Outputs:
        asked[input_] += trials
        raise Refused("unplugged")

    assert len(screened(PAIRS, Sampler(fails), CLAIM, kept=4, outputs=256)) == 4
    assert len(asked) <= 2 * 16 + 1
