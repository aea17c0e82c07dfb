"""Draws are recorded, repeated and changed in the type that the sampler returns; watching leaves nothing behind."""

import copy
import random
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from attacklab.align.outcomes import fixed_among, twins_among
from attacklab.draws import Draws, Law, Raised, run, watching
from attacklab.model.random_bits import SystemBits

Body = Callable[[Any, np.random.Generator], Any]

SAMPLERS: dict[str, tuple[Body, Law]] = {
    "laplace": (lambda _, rng: rng.laplace(3.0, 2.0), Law.LAPLACE),
    "normal": (lambda _, rng: rng.normal(0, 1, (2, 3)), Law.GAUSSIAN),
    "standard_normal into an array": (lambda _, rng: rng.standard_normal(out=np.zeros(3)), Law.GAUSSIAN),
    "gumbel": (lambda _, rng: rng.gumbel(0, 2.0), Law.GUMBEL),
    "logistic": (lambda _, rng: rng.logistic(), Law.LOGISTIC),
    "exponential": (lambda _, rng: rng.exponential(2.0, 2), Law.EXPONENTIAL),
    "geometric": (lambda _, rng: int(rng.geometric(0.3)), Law.GEOMETRIC),
    "random": (lambda _, rng: rng.random(), Law.UNIFORM),
    "integers": (lambda _, rng: int(rng.integers(0, 9)), Law.CHOICE),
    "choice": (lambda _, rng: rng.choice(["a", "b", "c"]), Law.CHOICE),
    "binomial": (lambda _, rng: rng.binomial(1, 0.4, 3), Law.CHOICE),
    "permutation": (lambda _, rng: rng.permutation([3, 4, 5]), Law.ORDER),
    "bytes": (lambda _, rng: rng.bytes(4), Law.BITS),
    "numpy.random": (lambda *_: np.random.laplace(0, 1), Law.LAPLACE),
    "RandomState": (lambda *_: np.random.RandomState().randn(2), Law.GAUSSIAN),
    "scipy.stats": (lambda *_: stats.laplace.rvs(scale=2.0), Law.LAPLACE),
    "random.gauss": (lambda *_: random.gauss(0, 1), Law.GAUSSIAN),
    "random.choice": (lambda *_: random.choice("abc"), Law.CHOICE),
    "random.sample": (lambda *_: random.sample(range(9), 3), Law.ORDER),
    "secrets": (lambda *_: secrets.randbelow(4), Law.CHOICE),
    "bits": (lambda *_: SystemBits().take(60), Law.BITS),
}


@pytest.fixture(scope="module")
def watched() -> Iterator[None]:
    """Watches all draws for the tests of a module that only look at them."""
    with watching():
        yield


def test_a_draw_has_the_type_that_it_has_without_watching() -> None:
    unwatched = {name: body(None, np.random.default_rng(0)) for name, (body, _) in SAMPLERS.items()}
    with watching():
        outputs = {name: run(body, None, Draws.fresh(1)).output for name, (body, _) in SAMPLERS.items()}
    for name, output in outputs.items():
        assert type(output) is type(unwatched[name]), name
        assert getattr(output, "dtype", None) == getattr(unwatched[name], "dtype", None), name
        assert np.shape(output) == np.shape(unwatched[name]), name


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_draw_is_repeated(name: str) -> None:
    body, law = SAMPLERS[name]
    first = run(body, None, Draws.fresh(1))
    again = run(body, None, Draws.repeat(first, seed=2))
    others = [run(body, None, Draws.fresh(seed)) for seed in range(2, 12)]
    assert [draw.law for draw in first.draws] == [law]
    assert np.array_equal(first.output, again.output)
    assert not again.unmatched
    assert any(not np.array_equal(first.output, other.output) for other in others)


def test_what_the_recorded_run_did_not_draw_is_counted() -> None:
    def release(x: int, rng: np.random.Generator) -> list[float]:
        return [rng.laplace() for _ in range(x)]

    with watching():
        first = run(release, 2, Draws.fresh(1))
        longer, shorter = (run(release, size, Draws.repeat(first, seed=7)) for size in (3, 1))
    assert longer.output[:2] == first.output
    assert (longer.unmatched, shorter.unmatched) == (1, 1)


def test_an_error_is_an_output_and_an_input_keeps_its_value() -> None:
    def release(x: list[int], rng: np.random.Generator) -> None:
        x.append(rng.integers(3))
        raise ValueError("no")

    given = [1]
    with watching():
        assert run(release, given, Draws.fresh(1)).output == Raised("ValueError", "no")
    assert given == [1]


HELD = np.random.default_rng(7)
OF_THE_SYSTEM = np.random.default_rng()


def _kept(kept: dict[str, Any] = {}) -> Any:  # noqa: B006 - the flaw
    return kept.setdefault("rng", np.random.default_rng(42))


SEEDED: dict[str, tuple[Body, bool]] = {
    "made in the run": (lambda *_: np.random.default_rng(42).laplace(), True),
    "made of the data": (lambda x, _: np.random.default_rng(x).laplace(), True),
    "jumped": (lambda *_: np.random.Generator(np.random.PCG64(5).jumped()).laplace(), True),
    "of the module": (lambda *_: (np.random.seed(0), np.random.laplace())[1], True),
    "of random, seeded": (lambda *_: (random.seed(1), random.random())[1], True),
    "held": (lambda *_: HELD.laplace(), True),
    "kept between runs": (lambda *_: _kept().laplace(), True),
    "the generator given": (lambda _, rng: rng.laplace(), False),
    "its children": (lambda _, rng: rng.spawn(1)[0].laplace(), False),
    "of the system": (lambda *_: OF_THE_SYSTEM.laplace(), False),
    "seeded with secrets": (lambda *_: np.random.default_rng(secrets.randbits(64)).laplace(), False),
    "of random": (lambda *_: random.random(), False),
}
"""What draws, and whether its seed is fixed."""


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("name", SEEDED)
def test_a_fixed_seed_is_told_from_one_of_the_system(name: str) -> None:
    body, is_fixed = SEEDED[name]
    assert bool(fixed_among([run(body, 3, Draws.fresh(seed)) for seed in (1, 2)])) == is_fixed


def test_a_state_that_comes_again_makes_twins() -> None:
    def copied(_: Any, rng: np.random.Generator) -> Any:
        again = copy.deepcopy(rng)
        return rng.laplace(), again.laplace()

    def set_back(*_: Any) -> Any:
        state = np.random.get_state()
        first = np.random.laplace()
        np.random.set_state(state)
        return first, np.random.laplace()

    with watching():
        for body in (copied, set_back):
            made = run(body, None, Draws.fresh(1))
            assert made.output[0] == made.output[1]
            assert len(twins_among(made)) == 1


def test_watching_ends_with_everything_as_it_was() -> None:
    before = (np.random.default_rng, np.random.Generator, np.random.laplace, random.gauss, secrets.randbits, HELD)
    states = (np.random.get_state()[1].tolist(), random.getstate(), HELD.bit_generator.state)
    with watching():
        run(lambda *_: (np.random.laplace(), random.random(), HELD.laplace()), None, Draws.fresh(1))
        assert isinstance(np.random.default_rng(1), np.random.Generator)
        assert type(np.random.default_rng()) is np.random.Generator
    after = (np.random.default_rng, np.random.Generator, np.random.laplace, random.gauss, secrets.randbits, HELD)
    assert all(one is other or one == other for one, other in zip(before, after, strict=True))
    assert states == (np.random.get_state()[1].tolist(), random.getstate(), HELD.bit_generator.state)
