"""Certificates of means: the true ones are accepted, false claims and broken mechanisms are refused."""

from __future__ import annotations

from fractions import Fraction
from operator import itemgetter
from typing import Any

import pytest

from checker.core.certificate import Refused
from checker.kinds import laplace_words
from checker.kinds import local_sensitivity as kinds
from checker.kinds.local_sensitivity import tail
from checker.kinds.noises import require_noisy_integer
from checker.kinds.record_map import RecordMap
from checker.theorems import means as theorem
from experiments.certificates import DRAFTS
from experiments.targets.means import DELTA
from mechanisms.laplace import exact as laplace
from mechanisms.local_sensitivity import constants
from mechanisms.local_sensitivity.ptr import exact as ptr
from mechanisms.local_sensitivity.ptr.exact import PtrMean
from mechanisms.local_sensitivity.sample_aggregate import anonymous
from mechanisms.local_sensitivity.sample_aggregate import exact as aggregate
from mechanisms.local_sensitivity.sample_aggregate.exact import SampleAggregate
from mechanisms.local_sensitivity.smooth import exact as smooth
from mechanisms.local_sensitivity.smooth.exact import SmoothMean
from mechanisms.local_sensitivity.sum_over_count import exact as quotient
from mechanisms.local_sensitivity.sum_over_count.exact import SumOverCount
from tests.checker.conftest import Checked
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

COUNT, PTR, SMOOTH, CHUNKS = "exact_sum_over_count", "exact_ptr_mean", "exact_smooth_mean", "exact_sample_aggregate"
HAIR = Fraction(1, 10**30)
WIDTH = 100 << 14


STATED = "for every pair of databases of any size (add-remove), by both paths"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [COUNT, PTR, SMOOTH, CHUNKS])
def test_means_are_private_for_every_pair(checked: Checked, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Noise made of words has tests of its own."""
    monkeypatch.setattr(laplace_words, "require_fast_noise", lambda *_: 1)
    assert STATED in checked(DRAFTS[name]()).statement


@pytest.mark.slow
@pytest.mark.parametrize("name", [COUNT, PTR, SMOOTH, CHUNKS])
def test_means_are_private_for_every_pair_and_every_word(checked: Checked, name: str) -> None:
    assert STATED in checked(DRAFTS[name]()).statement


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what the tests of true mechanisms and of the parts look at: records, and noise at each scale."""
    monkeypatch.setattr(theorem, "_records", lambda _: RecordMap(0, WIDTH, 1))
    monkeypatch.setattr(theorem, "require_noise", lambda *_: {})
    monkeypatch.setattr(theorem, "require_local_sensitivity", lambda: 1)
    monkeypatch.setattr(kinds, "SIZES", 1001)


@pytest.mark.few(1)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", [COUNT, CHUNKS])
def test_a_smaller_epsilon_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="one record costs 1, more than"):
        rechecked(name, claim={"kind": "pure", "epsilon": str(1 - HAIR)})


@pytest.mark.few(4)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", [PTR, SMOOTH])
@pytest.mark.parametrize(
    "change", [{"epsilon": "999/1000"}, {"delta": str(Fraction(DELTA) / 2)}, {"delta": "0"}, {"epsilon": "0"}]
)
def test_a_smaller_epsilon_or_delta_is_refused(checked: Checked, name: str, change: dict[str, str]) -> None:
    draft = DRAFTS[name]()
    assert checked(draft)
    with pytest.raises(Refused, match=r"more than|has a mass up to|no room"):
        checked(draft, claim={**draft.claim, **change})


@pytest.mark.usefixtures("quick")
def test_delta_is_the_tail_of_the_noise_beyond_the_threshold(checked: Checked) -> None:
    draft, scale = DRAFTS[PTR](), Fraction(2)
    threshold = constants.tail_threshold(1 / scale, Fraction(DELTA))
    reached = tail(threshold, scale)
    assert reached <= Fraction(DELTA) < tail(threshold - 1, scale)
    assert checked(draft, claim={**draft.claim, "delta": str(reached)})
    with pytest.raises(Refused, match="passes by"):
        checked(draft, claim={**draft.claim, "delta": str(reached * (1 - HAIR))})


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", [COUNT, PTR, SMOOTH, CHUNKS])
@pytest.mark.parametrize("change", [{"neighbours": "substitute"}, {"claim": {"kind": "zcdp", "rho": "1"}}])
def test_other_neighbours_and_claims_are_refused(name: str, change: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="this theorem"):
        rechecked(name, **change)


MUTANTS: list[tuple[str, Any, str, str, str]] = [
    (COUNT, SumOverCount, "_total_scale", "2 * self", "self"),
    (COUNT, SumOverCount, "_total_scale", "self.epsilon", "(self.epsilon * (1 + Fraction(1, 2**52)))"),
    (COUNT, SumOverCount, "_count_scale", "2 /", "1 /"),
    (COUNT, SumOverCount, "_count_scale", "2 / self", "2 / self.count / self"),
    (COUNT, SumOverCount, "noisy_sum_and_count", "noisy_integer(self.count, self._count_scale, bits)", "self.count"),
    (COUNT, SumOverCount, "one", "max(noisy_count, 1)", "self.count"),
    (COUNT, SumOverCount, "one", "max(noisy_count, 1)", "max(noisy_count, self.count)"),
    (COUNT, SumOverCount, "many", "np.maximum(noisy_counts, 1)", "np.maximum(self.count, 1)"),
    (COUNT, SumOverCount, "many", "np.maximum(noisy_counts, 1)", "noisy_counts.mean()"),
    (COUNT, SumOverCount, "many", "np.clip(means, 0, self.domain.width)", "np.cumsum(means)"),
    (COUNT, SumOverCount, "many", "np.clip(means, 0, self.domain.width)", "np.sort(means)"),
    (COUNT, SumOverCount, "many", "trials, bits)\n    noisy_counts", "1, bits)\n    noisy_counts"),
    (COUNT, quotient, "prepare_sum_over_count", "total, count, domain", "total * 2, count, domain"),
    (COUNT, quotient, "prepare_sum_over_count", "total, count, domain", "total, count + total, domain"),
    (COUNT, quotient, "prepare_sum_over_count", "domain, loss)", "domain, loss + (count > 7))"),
    (PTR, PtrMean, "one", "< self.threshold", "< self.threshold - 1"),
    (PTR, PtrMean, "one", "< self.threshold", "< 0"),
    (PTR, PtrMean, "one", "< self.threshold", "> self.threshold"),
    (PTR, PtrMean, "one", "noisy_integer(self.distance, self._test_scale, bits) <", "self.distance <"),
    (PTR, PtrMean, "one", "return None", "return self.mean"),
    (PTR, PtrMean, "_test_scale", "2 /", "1 /"),
    (PTR, PtrMean, "_release_scale", "2 * self", "self"),
    (PTR, PtrMean, "_release_scale", "self.bound", "(self.bound - 1)"),
    (PTR, PtrMean, "many", ">= self.threshold", ">= self.threshold - 1"),
    (PTR, PtrMean, "many", ">= self.threshold", "< self.threshold"),
    (PTR, PtrMean, "many", "np.count_nonzero(passed)", "trials"),
    (PTR, PtrMean, "many", "released[passed]", "released[:]"),
    (PTR, PtrMean, "many", "self.domain.values(answers)", "self.domain.values(answers)[::-1]"),
    (PTR, ptr, "prepare_ptr_mean", "fewest_within_bound + 1", "fewest_within_bound + 2"),
    (PTR, ptr, "prepare_ptr_mean", "max(0, ", "max(1, "),
    (PTR, ptr, "prepare_ptr_mean", "count - fewest", "2 * count - fewest"),
    (PTR, ptr, "prepare_ptr_mean", "-(-domain.width // bound_steps)", "domain.width // (bound_steps + 1)"),
    (PTR, ptr, "prepare_ptr_mean", "loss / 2", "2 * loss"),
    (PTR, ptr, "prepare_ptr_mean", "rounded_mean(total, count, domain)", "total // 2"),
    (PTR, ptr, "prepare_ptr_mean", "rounded_mean(total, count, domain)", "sorted(records)[count // 2]"),
    (PTR, ptr, "prepare_ptr_mean", "(distance, threshold,", "(distance, threshold - (count == 12345),"),
    (PTR, ptr, "tail_threshold", "math.ceil", "math.floor"),
    (PTR, ptr, "rounded_mean", "domain.middle", "0 * domain.middle"),
    (SMOOTH, SmoothMean, "one", "self.noise_scale", "Fraction(1)"),
    (SMOOTH, SmoothMean, "one", "self.mean", "self.noise_scale"),
    (SMOOTH, SmoothMean, "many", "self.noise_scale,", "Fraction(1),"),
    (SMOOTH, SmoothMean, "many", "return ", "return self.noise_scale + "),
    (SMOOTH, smooth, "prepare_smooth_mean", "2 * smooth", "smooth"),
    (SMOOTH, smooth, "prepare_smooth_mean", "count, domain.width, smoothing", "count + 1, domain.width, smoothing"),
    (SMOOTH, smooth, "prepare_smooth_mean", "domain.width, smoothing", "domain.width - 1, smoothing"),
    (SMOOTH, smooth, "smoothing_steps", "math.ceil", "math.floor"),
    (SMOOTH, smooth, "smoothing_steps", "2 * exact", "exact"),
    (SMOOTH, smooth, "rounded_mean", "nearest_integer(total, count)", "total // count + 1"),
    (SMOOTH, smooth, "rounded_mean", "count == 0", "count <= 1"),
    (SMOOTH, smooth, "smoothed", "// (smoothing + 1)", "// smoothing"),
    (SMOOTH, smooth, "smoothed", "bound - bound //", "bound // 2 - bound //"),
    (SMOOTH, smooth, "smoothed", "max(", "min("),
    (SMOOTH, smooth, "smooth_sensitivity", "range(1, count + 1)", "range(1, count)"),
    (SMOOTH, smooth, "smooth_sensitivity", "range(1, count + 1)", "range(2, count + 1)"),
    (SMOOTH, smooth, "smooth_sensitivity", "local_sensitivity(0, width)", "local_sensitivity(2, width)"),
    (SMOOTH, smooth, "smooth_sensitivity", "first), smoothing)", "first) - 1, smoothing)"),
    (SMOOTH, smooth, "local_sensitivity", "-(-width // max(count, 1))", "width // max(count, 1)"),
    (
        SMOOTH,
        smooth,
        "local_sensitivity",
        "-(-width // max(count, 1))",
        "-(-width // max(count, 1)) - (count == 77)",
    ),
    (SMOOTH, smooth, "local_sensitivity", "max(count, 1)", "(max(count, 1) + 1)"),
    (CHUNKS, SampleAggregate, "_noise_scale", "self.epsilon", "(2 * self.epsilon)"),
    (CHUNKS, SampleAggregate, "_noise_scale", "self.domain.width", "self.domain.width / self.chunks"),
    (CHUNKS, SampleAggregate, "one", "noisy_total, self.chunks", "self.total, self.chunks"),
    (CHUNKS, SampleAggregate, "many", "self.chunks", "len(noisy_totals)"),
    (CHUNKS, anonymous, "prepare_sample_aggregate", "chunk_of(person, chunks, key)", "len(members[0]) % chunks"),
    (CHUNKS, anonymous, "prepare_sample_aggregate", "append(number)", "insert(0, 2 * number)"),
    (CHUNKS, anonymous, "prepare_sample_aggregate", "in members]", "in members if held]"),
    (CHUNKS, anonymous, "prepare_sample_aggregate", "total, chunks, domain", "total, len(values), domain"),
    (CHUNKS, aggregate, "chunk_of", "key=key", "key=b''"),
    (CHUNKS, aggregate, "chunk_of", "person.encode", "person[:3].encode"),
    (CHUNKS, aggregate, "_answer", "values.sort()", "pass"),
    (CHUNKS, aggregate, "_answer", "values += 0.0", "pass"),
    (CHUNKS, aggregate, "_answer", "statistic(values)", "statistic(values[::-1])"),
    (CHUNKS, aggregate, "_answer", "except BaseException", "except ValueError"),
    (CHUNKS, anonymous, "numbered", "seen[value] += 1", "seen[0.0] += 1"),
    (CHUNKS, anonymous, "numbered", "number {seen[value]}", "number {len(people)}"),
    (CHUNKS, anonymous, "numbered", "+ 0.0", "+ 1.0"),
    (CHUNKS, anonymous, "prepare_mean_of_chunks", "numbered(records)", "numbered(records[::-1])"),
    (CHUNKS, anonymous, "prepare_mean_of_chunks", "key.encode()", "records"),
]


@pytest.mark.few(15)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "owner", "function", "old", "new"), first_of_each(MUTANTS, itemgetter(0, 2)))
def test_a_mechanism_that_could_tell_more_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, owner: Any, function: str, old: str, new: str
) -> None:
    mutate(monkeypatch, owner, function, old, new)
    with pytest.raises(Refused):
        rechecked(name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("clamp_integer(clamp_integer(answer) +", "clamp_integer(answer +"),
        ("clamp_integer(clamp_integer(answer) +", "(clamp_integer(answer) +"),
        ("clamp_integer(answer) +", "2 * clamp_integer(answer) +"),
        ("clamp_integer(answer) +", "clamp_integer(answer) + (answer == 5) +"),
        ("discrete_laplace, scale", "discrete_laplace, scale / 2"),
        ("bits.call(discrete_laplace, scale)", "bits.call(discrete_laplace, scale) * 2"),
        ("bits.call(discrete_laplace, scale)", "0"),
    ],
)
def test_noise_that_is_not_added_alike_to_every_integer_is_refused(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    assert require_noisy_integer(laplace.noisy_integer) is laplace.discrete_laplace
    mutate(monkeypatch, laplace, "noisy_integer", old, new)
    with pytest.raises((Refused, TypeError)):
        require_noisy_integer(laplace.noisy_integer)
