"""Integer cast: answers that are rounded before the noise are told apart; those that are not, or cannot be, are not."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Domain, Finding, Target, Verdict
from attacklab.attacks import INTEGER_CAST
from attacklab.auditing.referee import audit
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, Format
from mechanisms.core.grid import Grid
from mechanisms.laplace.exact import exact_rounded_laplace
from mechanisms.laplace.naive import naive_laplace_numpy
from tests.attacks.making import exactly
from tests.ideal import two_sided_geometric
from tests.narrow import TYPES, carried


def judged(target: Target) -> Finding:
    (finding,) = audit(target, [INTEGER_CAST], trials=20_000, seed=3, spend_all=True)
    return finding


INTEGERS = Domain(integers=True)


def test_noise_in_doubles_is_not_taken_for_a_cast_where_no_integers_are_declared() -> None:
    target = Target.noise(partial(naive_laplace_numpy, epsilon=1.0), epsilon=1.0)
    assert judged(target).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_integer_answers_cast_to_doubles_are_caught(epsilon: float) -> None:
    target = Target.noise(partial(naive_laplace_numpy, epsilon=epsilon), epsilon=epsilon, domain=INTEGERS)
    finding = judged(target)
    assert finding.verdict is Verdict.VIOLATED
    larger, smaller = (int(finding.pair[side]["readable"][0]) for side in ("first", "second"))
    assert larger - smaller == 1
    assert float(larger) - float(smaller) >= 8 / epsilon  # as many noise scales


@pytest.mark.parametrize("form", [BINARY32, BINARY16, BFLOAT16])
def test_integer_answers_cast_to_narrower_formats_are_caught(form: Format) -> None:
    def release(answer: int, trials: int, rng: np.random.Generator) -> Any:
        return carried(TYPES[form](answer) + rng.laplace(size=trials).astype(TYPES[form]))

    assert judged(Target.noise(release, epsilon=1, name=form.name)).verdict is Verdict.VIOLATED


def test_integer_answers_rounded_to_a_grid_on_which_noise_is_drawn_are_not_told_apart() -> None:
    release = exactly(exact_rounded_laplace(epsilon=1, grid=Grid(8)).many)
    finding = judged(Target.noise(release, epsilon=1, domain=INTEGERS, name="rounded"))
    assert finding.verdict is Verdict.NOT_DETECTED
    assert finding.shown.advantage.estimate == pytest.approx(0, abs=0.03)


def test_a_target_that_refuses_integers_beyond_the_doubles_has_nothing_to_try() -> None:
    def release(answer: int, trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
        if answer > 2**40:
            raise OverflowError("too large")
        return np.int64(answer) + two_sided_geometric(rng, trials)

    finding = judged(Target.noise(release, epsilon=1, name="small integers"))
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "nothing to try" in finding.reason


def held_in(dtype: str, units: int) -> Callable[..., Any]:
    """A release that holds its answer as an integer of so many units, which wraps around."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        held = int(np.array([round(answer * units)]).astype(dtype)[0])
        noisy = held + units * two_sided_geometric(rng, trials)
        return noisy / units if units > 1 else noisy

    return release


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_answers_that_wrap_around_are_caught_at_an_edge_of_their_format(dtype: str) -> None:
    finding = judged(Target.noise(held_in(dtype, 1), epsilon=1, name=dtype))
    assert finding.verdict is Verdict.VIOLATED
    answers = sorted(int(finding.pair[side]["readable"][0]) for side in ("first", "second"))
    assert answers[1] - answers[0] == 1
    # It wraps around between the largest number of the format, or that and some rounds more, and the next one.
    assert (answers[0] - np.iinfo(dtype).max) % (1 << np.iinfo(dtype).bits) == 0


@pytest.mark.parametrize("dtype", ["int16", "int32"])
@pytest.mark.parametrize("takes", [float, int])
def test_amounts_that_wrap_around_in_hundredths_are_caught(dtype: str, takes: type) -> None:
    held = held_in(dtype, 100)

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        if not isinstance(answer, takes):
            raise TypeError(f"answer must be {takes}")
        return held(answer, trials, rng)

    finding = judged(Target.noise(release, epsilon=1, name=dtype))
    assert finding.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("sensitivity", [1.0, 0.01])
def test_answers_rounded_to_a_format_that_the_outputs_do_not_show_are_caught(sensitivity: float) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        return float(np.float16(answer)) + rng.laplace(0.0, sensitivity, trials)

    finding = judged(Target.noise(release, epsilon=1, sensitivity=sensitivity, name="binary16"))
    assert finding.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("dtype", "bounds", "edge"),
    [("int16", (0, 40_000), 2**15), ("int8", (100, 200), 2**7), ("uint8", (-5, 100), 0), ("uint32", (-7, 2**31), 0)],
)
def test_an_edge_near_an_end_of_the_domain_or_near_0_is_found(dtype: str, bounds: tuple[int, int], edge: int) -> None:
    target = Target.noise(held_in(dtype, 1), epsilon=1, domain=Domain(integers=True, bounds=bounds), name=dtype)
    finding = judged(target)
    assert finding.verdict is Verdict.VIOLATED
    assert {int(finding.pair[side]["readable"][0]) for side in ("first", "second")} == {edge - 1, edge}


noise = two_sided_geometric
SOUND: dict[str, Callable[..., Any]] = {
    "outputs wrap around": lambda answer, trials, rng: (int(answer) + noise(rng, trials)).astype(np.uint8),
    "outputs in thousands": lambda answer, trials, rng: 1000 * np.round((int(answer) + noise(rng, trials)) / 1000),
    "outputs at an end": lambda answer, trials, rng: np.clip(int(answer) + noise(rng, trials), -128, 127),
}


@pytest.mark.parametrize("name", SOUND)
def test_ranges_and_roundings_that_keep_the_claim_are_not_accused(name: str) -> None:
    assert judged(Target.noise(SOUND[name], epsilon=1, domain=INTEGERS, name=name)).verdict is Verdict.NOT_DETECTED
