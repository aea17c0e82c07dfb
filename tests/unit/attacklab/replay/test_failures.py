"""No replay ends in a traceback: what it cannot read, copy or judge is named, never passed, and other pairs go on."""

from __future__ import annotations

import dataclasses
import functools
import io
import math
import os
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.model.claims import Claim, GaussianDP
from attacklab.model.findings import Finding, Verdict
from attacklab.replay import replay
from attacklab.replay.judge import Pair
from attacklab.replay.laws import CAUCHY, GAUSSIAN, LAPLACE, Law, gaussian_delta, largest_loss, renyi_divergence
from attacklab.replay.runs import LEAST_RUNS
from attacklab.replay.session import rational

ONE, TWO = np.array([1.0, 1.0]), np.array([1.0])


def _broken(*names: str) -> type:
    """A class of which some methods raise."""

    def method(*_: Any, **__: Any) -> Any:
        raise RuntimeError("not to be read")

    return type("Broken", (), dict.fromkeys(names, method))


class _Elements(list[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError("not to be read")


class _Items(dict[Any, Any]):
    def items(self) -> Any:
        raise RuntimeError("not to be read")


class _Itself:
    def to_array(self) -> Any:
        return self


class _AnArrayOfItself:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.array([self], dtype=object)


class _Everything:
    def __getattr__(self, name: str) -> Any:
        return _Everything()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Everything()


@dataclasses.dataclass
class _Unset:
    value: Any = dataclasses.field(init=False)


def _closed() -> Any:
    file = io.StringIO("1.5")
    file.close()
    return file


UNREADABLE: dict[str, Callable[[], Any]] = {
    "repr": _broken("__repr__"),
    "repr, as a key": lambda: {_broken("__repr__")(): 1},
    "repr, in a set": lambda: {_broken("__repr__")()},
    "repr, too deep": lambda: functools.reduce(lambda inner, _: [inner], range(12), _broken("__repr__")()),
    "an attribute": _broken("__getattr__"),
    "an array": _broken("__array__"),
    "its array": _broken("to_array"),
    "elements": lambda: _Elements([1]),
    "items": lambda: _Items(a=1),
    "itself as its array": _Itself,
    "itself in its array": _AnArrayOfItself,
    "everything one asks for": _Everything,
    "a field that was not set": _Unset,
    "a closed file": _closed,
}


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_part_that_raises_where_it_is_read_is_named_and_hides_no_other(make: Callable[[], Any]) -> None:
    (finding,) = replay(lambda x, rng: (x.sum() + rng.laplace(), make()), [(ONE, TWO)], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "which cannot be looked into" in finding.reason
    assert replay(lambda x, rng: (x.sum() + rng.laplace(), make(), len(x)), [(ONE, TWO)], epsilon=1.0)[0].refutes


def _holding_itself(value: Any) -> Any:
    parts = [value]
    parts.append(parts)
    return {"parts": parts}


def _deep(value: Any) -> Any:
    return functools.reduce(lambda inner, _: [inner], range(20_000), value)


@pytest.mark.parametrize("put", [_holding_itself, _deep])
def test_an_output_without_an_end_is_read_as_far_as_others_are(put: Any) -> None:
    is_deep = put is _deep
    (finding,) = replay(lambda x, rng: put(x.sum() + rng.laplace()), [(ONE, TWO)], epsilon=1.0)
    assert finding.verdict is (Verdict.INCONCLUSIVE if is_deep else Verdict.NOT_DETECTED)
    (finding,) = replay(lambda x, rng: put(x.sum() + rng.laplace(0, 0.5)), [(ONE, TWO)], epsilon=1.0)
    assert finding.verdict is (Verdict.INCONCLUSIVE if is_deep else Verdict.VIOLATED)


class _Slots:
    __slots__ = {"__kept": "what it keeps", "told": "what it tells"}

    def __init__(self, kept: Any) -> None:
        self.told, self.__kept = 1, kept


def _with_an_array_of_objects(value: Any) -> Any:
    return np.array([(1, [value])], dtype=[("place", int), ("told", object)])


@pytest.mark.parametrize("rest", [_Slots, _with_an_array_of_objects, lambda n: 10**400 + n, lambda n: -(10**5000) - n])
def test_what_is_kept_out_of_sight_or_beyond_doubles_is_compared(rest: Any) -> None:
    assert replay(lambda x, rng: (x.sum() + rng.laplace(), rest(len(x))), [(ONE, TWO)], epsilon=1.0)[0].refutes
    (finding,) = replay(lambda x, rng: (x.sum() + rng.laplace(), rest(1)), [(ONE, TWO)], epsilon=1.0)
    assert finding.verdict is Verdict.NOT_DETECTED


def _shifted(by: float, scale: float) -> Callable[..., Any]:
    return lambda x, rng: by * (len(x) + rng.laplace(0, scale))


@pytest.mark.parametrize("by", [1e-300, 1e200])
def test_noise_of_any_size_is_judged_alike(by: float) -> None:
    (finding,) = replay(_shifted(by, 0.5), [(ONE, TWO)], epsilon=1.0)
    assert finding.witness.loss == "ε = 2"
    assert replay(_shifted(by, 1.0), [(ONE, TWO)], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED


FAR = {
    "beyond doubles": lambda x, rng: (x.sum() + rng.laplace(0, 2)) * 1e200 * 1e200,
    "sums of what is beyond doubles": lambda x, rng: rng.laplace(0, 2) * 1e200 * 1e200 + rng.laplace(0, 2) + x.sum(),
    "shared and beyond doubles": lambda x, rng: [
        (noise := rng.normal(0, 9, 2)).sum() + len(x),
        noise[0] * 1e200 * 1e200,
    ],
    "the least scale": lambda x, rng: len(x) + rng.laplace(0, 5e-324),
    "the largest scale": lambda x, rng: len(x) + rng.normal(0, 1e308, 3),
    "compared beyond doubles": lambda x, rng: bool(rng.laplace(0, 2) + len(x) < 10**400),
    "all places as bad": lambda x, rng: int(np.argmax(np.full(len(x) + 1, -math.inf) + rng.gumbel(size=len(x) + 1))),
    "parts that are infinite": lambda x, rng: [math.inf, -math.inf, float(int(rng.laplace(0, 2) + len(x)))],
    "a logarithm of next to nothing": lambda x, rng: np.log(rng.random() * 5e-324 * 1e-300 + len(x)),
    "Cauchy noise far away": lambda x, rng: 1e200 * len(x) + rng.standard_cauchy(),
    "more draws on one way": lambda x, rng: int((rng.random(1 if rng.random() < 0.5 else 3) < 0.75).sum()) + len(x),
}


@pytest.mark.parametrize("claim", [None, GaussianDP(1.0)])
@pytest.mark.parametrize("release", FAR.values(), ids=FAR.keys())
def test_numbers_that_no_double_holds_fail_nothing(release: Any, claim: Claim | None) -> None:
    found = replay(release, [(ONE, TWO)], **({"epsilon": 1.0} if claim is None else {"claim": claim}))
    assert "replay failed" not in " ".join(finding.reason for finding in found)
    assert found[0].verdict is not Verdict.ERROR
    assert Finding.from_json(found[0].to_json()) == found[0]


def _law(family: str, centre: float, scale: float) -> Law:
    return Law(family, Fraction(centre), Fraction(scale))


@pytest.mark.parametrize("order", [1.5, 2.0, 64.0])
def test_a_divergence_of_noise_far_apart_is_nearly_its_largest_loss(order: float) -> None:
    for loss in (20.0, 2_000.0):  # what is left out is below exp(−20)
        nearly = loss + math.log(order / (2 * order - 1)) / (order - 1)
        assert renyi_divergence(_law(LAPLACE, 0, 1), _law(LAPLACE, loss, 1), order) == pytest.approx(nearly, rel=1e-8)


@pytest.mark.parametrize("by", [1e-150, 1.0, 1e150])
def test_a_divergence_of_gaussian_noise_has_no_unit(by: float) -> None:
    pair, order, losses = (_law(GAUSSIAN, 0, 2 * by), _law(GAUSSIAN, 3 * by, 2.5 * by)), 1.5, []
    for one, other in ((2.0, 2.5), (2.5, 2.0)):  # van Erven and Harremoës 2014, in units of `by`
        mixed = order * other**2 + (1 - order) * one**2
        losses.append(math.log(other / one) + math.log(other**2 / mixed) / (2 * (order - 1)) + order * 9 / (2 * mixed))
    assert renyi_divergence(*pair, order) == pytest.approx(max(losses))
    assert renyi_divergence(*pair, 4.0) == math.inf


@pytest.mark.parametrize(("shift", "one", "other"), [(1.0, 1.0, 1.0), (0.3, 2.0, 0.7), (0.0, 1.0, 5.0)])
def test_cauchy_noise_loses_what_its_densities_say(shift: float, one: float, other: float) -> None:
    at = np.concatenate([np.linspace(-50, 50, 1_000_001), [-1e9, 1e9]])
    densities = [scale / (scale**2 + (at - centre) ** 2) for centre, scale in ((0.0, one), (shift, other))]
    most = float(np.abs(np.log(densities[0] / densities[1])).max())
    assert largest_loss(_law(CAUCHY, 0, one), _law(CAUCHY, shift, other)) == pytest.approx(most, rel=1e-6)


def test_the_delta_of_gaussian_noise_is_small_at_a_large_epsilon() -> None:
    assert gaussian_delta(40.0, 2_000.0) < 1e-190  # P[N(800, 1600) > 2000] is 10^−197


def test_an_input_that_cannot_be_copied_is_named_and_other_pairs_go_on() -> None:
    def release(x: Any, rng: Any) -> Any:
        return len([*x]) + rng.laplace(0, 0.5)

    def lines() -> Any:
        yield 1

    (finding,) = replay(release, [(lines(), lines())], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "not judged: an input, which cannot be copied for each run (TypeError: " in finding.reason
    assert replay(release, [(lines(), lines()), (ONE, TWO)], epsilon=1.0)[0].refutes


def test_the_time_may_end_where_a_pair_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    three = np.ones(3)

    def release(x: Any, rng: Any) -> Any:
        if len(x) == len(three):
            monkeypatch.setattr(time, "monotonic", lambda: math.inf)
        return len(x) + rng.laplace(0, 2)

    (finding,) = replay(release, [(ONE, TWO), (TWO, ONE), (three, ONE)], epsilon=1.0, seconds=1e6)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "the time was too short" in finding.reason
    assert finding.trials > LEAST_RUNS


def _fails_on(first: Any, error: BaseException) -> Callable[[Pair], Any]:
    examine = Pair.examine

    def failing(self: Pair) -> Any:
        if np.array_equal(self.pair.first, first):
            raise error
        return examine(self)

    return failing


def test_what_the_replay_itself_fails_in_is_no_pass_and_other_pairs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def release(x: Any, rng: Any) -> Any:
        return x.sum() + rng.laplace(0, 2)

    pairs = [(ONE, TWO), (TWO, ONE), (np.array([9.0]), np.array([9.5]))]
    monkeypatch.setattr(Pair, "examine", _fails_on(ONE, ZeroDivisionError("by\nnothing")))
    (finding,) = replay(release, pairs, epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "not judged: replay failed on this pair: ZeroDivisionError: by nothing, at program.py:" in finding.reason
    assert finding.reason.endswith("; please report it")
    assert "3 pairs" in finding.reason
    assert finding.pair["first"]["readable"] == ["1.0", "1.0"]
    assert Finding.from_json(finding.to_json()) == finding
    (finding,) = replay(release, [*pairs, (np.array([7.0]), np.array([1.0]))], epsilon=1.0)
    assert finding.refutes
    assert finding.pair["first"]["readable"] == ["7.0"]
    assert replay(release, [(TWO, ONE)], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED


def test_an_interrupt_ends_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pair, "examine", _fails_on(ONE, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        replay(lambda x, rng: x.sum() + rng.laplace(), [(ONE, TWO)], epsilon=1.0)


def test_a_line_that_cannot_be_looked_for_leaves_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attacklab.replay.program.located", lambda *_: 1 // 0)
    (finding,) = replay(lambda x, rng: (rng.laplace(), len(x)), [(ONE, TWO)], epsilon=1.0)
    assert finding.refutes


class _OutOfContext:
    """As what stands for the request of a web service does, where there is none."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("out of context")


class _Service:
    def __init__(self) -> None:
        self.request, self.rng = _OutOfContext(), np.random.default_rng()

    def count(self, x: Any) -> Any:
        return len(x) + self.rng.laplace(0, 2)


REQUEST, SERVICE = _OutOfContext(), _Service()
HELD: list[Any] = [_OutOfContext(), np.random.default_rng()]


def test_generators_are_found_beside_what_raises_where_it_is_looked_into() -> None:
    request = _OutOfContext()

    def count(x: Any, *, other: Any = REQUEST) -> Any:
        return (request, other, len(x) + HELD[1].laplace(0, 2))[2]

    for release in (count, SERVICE.count):
        (finding,) = replay(release, [(ONE, TWO)], epsilon=1.0)
        assert finding.verdict is Verdict.NOT_DETECTED
        assert "numpy.random.Generator.laplace(loc=0, scale=2)" in finding.reason


def _refuses_floats_of_other_types(x: Any, rng: Any) -> Any:
    noisy = x.sum() + rng.laplace(0, 2)
    if len(x) == 1 and type(noisy) not in (float, np.float64):
        raise TypeError("a float, please")
    return noisy


def _refuses_generators_of_other_types(x: Any, rng: Any) -> Any:
    if len(x) == 1 and type(rng) is not np.random.Generator:
        raise TypeError("a generator, please")
    return x.sum() + rng.laplace(0, 2)


def _refuses_one_record(x: Any, rng: Any) -> Any:
    if len(x) == 1:
        raise ValueError("more, please")
    return x.sum() + rng.laplace(0, 2)


@pytest.mark.parametrize("release", [_refuses_floats_of_other_types, _refuses_generators_of_other_types])
def test_what_is_raised_where_noise_is_watched_alone_accuses_nobody(release: Any) -> None:
    (finding,) = replay(release, [(ONE, TWO)], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "TypeError is raised where noise is watched, and not elsewhere" in finding.reason
    assert replay(_refuses_one_record, [(ONE, TWO)], epsilon=1.0)[0].refutes


def test_a_target_that_goes_to_a_folder_which_is_gone_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def release(x: Any, rng: Any) -> Any:
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        Path(folder).rmdir()
        return x.sum() + rng.laplace(0, 0.5)

    monkeypatch.chdir(Path.cwd())  # and back, afterwards
    assert replay(release, [(ONE, TWO)], epsilon=1.0)[0].refutes


def test_of_a_complex_number_the_real_part_is_taken_as_samplers_do() -> None:
    assert rational(np.array(1.5 + 2j)) == rational(1.5 + 2j) == Fraction(3, 2)
