"""The black box on outputs of any form: what leaks is found wherever in an output it is, and sound twins keep quiet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from attacklab import BlackBox, Finding, NeighbouringPair, PrivacyClaim, Relation, Target, Verdict
from attacklab.attacks.black_box.candidate_events import candidate_events
from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.choosing import expected_evidence
from attacklab.model.targets import Failure
from tests.ideal import two_sided_geometric

EPSILON = 1.0
PAIR = NeighbouringPair.records(np.array([1]), np.array([1, 1]), Relation.ADD_REMOVE)
LEARNING = 1 << 10


@dataclass(frozen=True)
class Answer:
    count: int
    note: str


class Labels(list[Any]):
    """As much of an index of pandas as is looked at."""

    names: tuple[str | None, ...] = (None,)

    def to_numpy(self) -> np.ndarray:
        return np.array(self)


class Series:
    """As much of a series of pandas as is looked at."""

    __module__ = "pandas"
    to_dict = None

    def __init__(self, values: Any, index: list[Any], name: str = "", dtype: str = "int64") -> None:
        self.values, self.index, self.name = np.array(values, dtype=dtype), Labels(index), name

    def to_numpy(self) -> np.ndarray:
        return self.values

    def indexed_by(self, name: str | None) -> "Series":
        self.index.names = (name,)
        return self


class Frame(Series):
    """As much of a data frame of pandas as is looked at."""

    __module__ = "pandas"

    def __init__(self, rows: list[list[Any]], columns: list[str], index: list[Any], dtype: str = "int64") -> None:
        super().__init__(rows, index, dtype=dtype)
        self.columns = columns

    def items(self) -> list[tuple[str, Series]]:
        return [
            (label, Series(column, self.index, label, str(column.dtype)))
            for label, column in zip(self.columns, self.values.T, strict=True)
        ]


FORMS: dict[str, Callable[[int], Any]] = {
    "row": lambda k: np.array([0.5, k, 2 * k]),
    "value of a dict": lambda k: {"count": k, "unit": None},
    "keys of a dict": lambda k: {f"bucket {k // 2}": 1, "other": k % 2},
    "order of a dict": lambda k: {"a": 1, "b": 2, "k": k // 2} if k % 2 else {"b": 2, "a": 1, "k": k // 2},
    "set": lambda k: {k // 2, "even" if k % 2 else "odd"},
    "text": lambda k: f"the sum is {k / 8:.3f} units",
    "bytes": lambda k: np.float64(k).tobytes(),
    "dataclass": lambda k: Answer(k // 2, "odd" if k % 2 else "even"),
    "series": lambda k: Series([k, 1], ["a", "b"], "counts"),
    "mixed types": lambda k: k if k % 2 else str(k),
    "large integer": lambda k: (1 << 90) + k,
    "exception": lambda k: Failure("ValueError", f"only {k} rows"),
}
"""Each gives a different output for each integer near 0, as far as its width goes."""


def dressed(form: Callable[[int], Any], epsilon: float) -> Target:
    """The exact two-sided geometric mechanism, which is ε-DP and no better, in outputs of a form."""

    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> list[Any]:
        return [form(int(count)) for count in len(records) + two_sided_geometric(rng, trials, epsilon)]

    return Target.dataset(release, epsilon=EPSILON, pairs=(PAIR,), name="dressed")


def attacked(target: Target, trials: int = 2_000) -> list[Finding]:
    return audit(target, [BlackBox(learning=LEARNING)], trials=trials, alpha=1e-9)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_too_little_noise_is_found_in_outputs_of_any_form(form: Callable[[int], Any]) -> None:
    """It is missed with probability below 1e-9: 2,000 trials give hundreds of nats."""
    findings = attacked(dressed(form, 3 * EPSILON))
    assert Verdict.VIOLATED in {finding.verdict for finding in findings}


def of_length(records: np.ndarray, odd: Any, even: Any) -> Any:
    return odd if len(records) % 2 else even


GIVEN_AWAY: dict[str, Callable[[np.ndarray, int], Any]] = {
    "a list or a tuple": lambda records, k: of_length(records, list, tuple)([k, k]),
    "a list or an array": lambda records, k: of_length(records, list, np.array)([k, k]),
    "an integer or a float": lambda records, k: of_length(records, int, float)(k),
    "the sign of zero": lambda records, k: of_length(records, -0.0, 0.0) if k else 1.0,
    "the labels of a frame": lambda records, k: Frame([[k]], of_length(records, ["a"], ["b"]), [0]),
    "the rows of a frame": lambda records, k: Frame([[k], [k]], ["a"], of_length(records, [3, 4], [4, 3])),
    "a type in a frame": lambda records, k: Frame([[k]], ["a"], [0], of_length(records, "int32", "int64")),
    "the name of a series": lambda records, k: Series([k], [0], f"{len(records)} rows"),
    "the name of an index": lambda records, k: Series([k], [0]).indexed_by(of_length(records, "odd", None)),
    "the type of an exception": lambda records, k: of_length(records, KeyError, IndexError)("none") if k else 1,
    "the message of an exception": lambda records, k: ValueError(f"{'ab'[len(records) % 2]} failed") if k else 1,
}


@pytest.mark.parametrize("form", GIVEN_AWAY.values(), ids=GIVEN_AWAY.keys())
def test_what_an_output_is_besides_its_numbers_gives_its_input_away(form: Callable[[np.ndarray, int], Any]) -> None:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> list[Any]:
        outputs = [form(records, int(k)) for k in rng.integers(0, 2, trials)]
        for output in outputs:
            if isinstance(output, Exception):
                raise output
        return outputs

    findings = attacked(Target.dataset(release, epsilon=EPSILON, pairs=(PAIR,)))
    assert {finding.verdict for finding in findings} == {Verdict.VIOLATED}


LATTICE_EPSILON = 1 / 9
POINTS = np.arange(-400, 401)
FAVOURED = np.isin(np.abs(POINTS), [6, 8, 15, 17])


def biased_law() -> np.ndarray:
    """Two-sided geometric noise of scale 9, of which some points are a sixth too likely: ε is 0.265, not 0.111."""
    weights = np.exp(-np.abs(POINTS) * LATTICE_EPSILON) * np.where(FAVOURED, 7 / 6, 1.0)
    law: np.ndarray = weights / weights.sum()
    return law


def test_a_union_of_points_tells_a_biased_lattice_from_its_shift() -> None:
    """By the exact law, the best of the learned events gives at least half of the evidence that any event gives."""
    law, shifted = biased_law(), np.roll(biased_law(), 1)
    claim = [PrivacyClaim(LATTICE_EPSILON)]
    ratio = np.log(law / shifted)
    best = max(
        float(expected_evidence(claim, law[chosen].sum(), shifted[chosen].sum()))
        for cut in np.linspace(-0.3, 0.3, 61)
        for chosen in (ratio > cut,)
    )
    rng = np.random.default_rng(6)
    first, second = (rng.choice(POINTS, 1 << 16, p=law) + moved for moved in (0, 1))
    found = max(
        float(expected_evidence(claim, law[inside].sum(), shifted[inside].sum()))
        for candidate in candidate_events(first, second, claim, 8)
        for inside in (candidate.event.contains(POINTS),)
    )
    assert best > 1e-4
    assert found > best / 2
