"""What a replay measures, what it takes, and that it leaves nothing behind."""

from __future__ import annotations

import math
import multiprocessing
import random
import re
import secrets
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from attacklab.model.claims import Claim, GaussianDP, Renyi, ZeroConcentrated
from attacklab.model.domains import Domain, Rows
from attacklab.model.errors import UsageError
from attacklab.model.findings import Reach, Severity, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from attacklab.replay import replay
from attacklab.replay.laws import (
    DISCRETE_LAPLACE,
    GAUSSIAN,
    LAPLACE,
    ROUNDINGS,
    Law,
    coin,
    delta_at,
    gaussian_delta,
    largest_loss,
    loss_of,
    renyi_divergence,
    rounded,
)
from attacklab.replay.pairs import pairs_of
from attacklab.replay.runs import LEAST_RUNS
from tests.unit.attacklab.replay import sound

ONE, TWO = np.array([1.0, 1.0]), np.array([1.0])


def _laplace(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace(0, 1)


def _law(family: str, centre: Any, scale: Any = 1) -> Law:
    return Law(family, Fraction(centre), Fraction(scale))


def test_a_shift_is_measured_as_a_fraction_and_to_the_last_bit() -> None:
    def tenth(x: Any, rng: Any) -> Any:
        return 0.1 * len(x) + rng.laplace(0, 0.05)

    worst = replay(tenth, [(ONE, TWO)], epsilon=1.0)[0]
    assert Fraction(worst.witness.shift) == Fraction(0.2) - Fraction(0.1)
    assert float.fromhex(worst.witness.shift_hex) == 0.1
    assert worst.witness.source.startswith("return 0.1 * len(x)")
    assert Path.cwd() / worst.witness.file == Path(__file__)
    assert not Path(worst.witness.file).is_absolute()
    assert worst.reason.startswith(f"{worst.witness.file}:{worst.witness.line}: ")


def test_noise_whose_scale_is_rounded_is_not_accused() -> None:
    for epsilon in (0.1, 0.3, 0.7, 1.1):
        finding = replay(lambda x, rng, e=epsilon: len(x) + rng.laplace(0, 1 / e), [(ONE, TWO)], epsilon=epsilon)[0]
        assert finding.verdict is Verdict.NOT_DETECTED


@pytest.mark.parametrize(
    ("claim", "sigma"), [(ZeroConcentrated(0.5), 1.0), (GaussianDP(1.0), 1.0), (Renyi((2.0, 8.0), (1.0, 4.0)), 1.0)]
)
def test_claims_of_other_kinds_are_judged_at_their_own_edge(claim: Claim, sigma: float) -> None:
    def gauss(x: Any, rng: Any, scale: float = sigma) -> Any:
        return x.sum() + rng.normal(0, scale)

    assert replay(gauss, [(ONE, TWO)], claim=claim)[0].verdict is Verdict.NOT_DETECTED
    gauss.__defaults__ = (0.99 * sigma,)
    assert replay(gauss, [(ONE, TWO)], claim=claim)[0].refutes


def test_laws_are_those_of_the_textbooks() -> None:
    near = pytest.approx
    assert largest_loss(_law(LAPLACE, 0, 2), _law(LAPLACE, 3, 2)) == Fraction(3, 2)
    assert largest_loss(_law(DISCRETE_LAPLACE, 0), _law(DISCRETE_LAPLACE, Fraction(1, 2))) == float("inf")
    assert delta_at([(_law(LAPLACE, 0), _law(LAPLACE, 1))], 0.5) == near(1 - np.exp(-0.25), rel=0.01)
    assert delta_at([(_law(LAPLACE, 0), _law(LAPLACE, 1))], 1.0) == 0
    assert delta_at([(_law(GAUSSIAN, 0), _law(GAUSSIAN, 1))] * 4, 1.0) == near(gaussian_delta(2.0, 1.0))
    assert delta_at([(_law(GAUSSIAN, 0), _law(GAUSSIAN, 1)), (_law(LAPLACE, 0), _law(LAPLACE, 0))], 1.0) == near(
        gaussian_delta(1.0, 1.0)
    )
    assert renyi_divergence(_law(GAUSSIAN, 0, 2), _law(GAUSSIAN, 1, 2), 3.0) == near(3 / 8)
    assert renyi_divergence(_law(LAPLACE, 0), _law(LAPLACE, 1), 2.0) == near(
        np.log(2 / 3 * np.exp(1) + 1 / 3 * np.exp(-2))
    )


@pytest.mark.parametrize(("shift", "scale"), [(1.0, 1.0), (0.3, 1.2), (2.0, 0.5), (0.0, 3.0)])
def test_the_loss_of_cauchy_noise_is_the_largest_ratio_of_its_densities(shift: float, scale: float) -> None:
    at = np.concatenate([np.linspace(-50, 50, 400_001), [-1e9, 1e9]])
    ratios = stats.cauchy.logpdf(at) - stats.cauchy.logpdf(at, shift, scale)
    loss = largest_loss(_law("Cauchy", 0), _law("Cauchy", shift, scale))
    assert float(loss) == pytest.approx(np.abs(ratios).max(), rel=1e-6)


def test_bounds_by_cells_lie_below_the_true_delta() -> None:
    for epsilon in (0.1, 0.5, 0.9):
        assert delta_at([(_law(LAPLACE, 0), _law(LAPLACE, 1))], epsilon) <= 1 - np.exp((epsilon - 1) / 2)


def test_every_pair_of_a_finite_domain_is_tried() -> None:
    finding = replay(_laplace, inputs=[np.zeros(0), np.zeros(1), np.ones(1), np.ones(2)], epsilon=1.0)[0]
    assert finding.verdict is Verdict.NOT_DETECTED
    assert finding.scope.reach is Reach.INPUTS
    assert finding.scope.pairs == 4  # three by add-remove, one by substitute
    assert "no divergence on every pair of neighbours among the inputs (4 pairs)" in finding.reason
    assert "moves by at most 1)" in finding.reason
    assert "samplers that have the laws they are named for" in finding.reason


def test_a_target_is_replayed_on_the_pairs_that_its_kind_has() -> None:
    small = Target.sum(lambda x, n, rng: np.clip(x, 0, 1).sum() + rng.laplace(0, 0.5, n), bounds=(0, 1), epsilon=1.0)
    assert replay(small)[0].refutes
    enough = Target.sum(lambda x, n, rng: np.clip(x, 0, 1).sum() + rng.laplace(0, 1, n), bounds=(0, 1), epsilon=1.0)
    assert not replay(enough, most_pairs=40)[0].refutes


def test_a_search_finds_a_loss_between_the_pairs_that_a_target_has() -> None:
    def release(x: Any, trials: int, rng: Any) -> Any:
        total = np.clip(x, 0, 1).sum()
        return total + 20 * max(0.0, total - 1.05) * max(0.0, 1.45 - total) + rng.laplace(0, 1, trials)

    target = Target.sum(release, bounds=(0, 1), epsilon=1.0, relation="add-remove")
    assert not replay(target, [*pairs_of(target)])[0].refutes
    (finding,) = replay(target)
    assert finding.refutes
    records = [float(number) for number in finding.pair["first"]["readable"]]
    assert len(records) <= 4  # it is shrunk: of up to 24 numbers, at least 2 are needed
    assert all((8 * number).is_integer() for number in records)


def test_a_search_changes_rows_too_and_says_where_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    def release(rows: Any, trials: int, rng: Any) -> Any:
        return 3 * (((rows > 0.2) & (rows < 0.45)).any() and not rows[:, 0].all()) + rng.laplace(0, 1, trials)

    domain = Domain(shape=Rows(columns=("a", "b"), most=20), bounds=(0, 1))
    target = Target.dataset(release, domain=domain, epsilon=1.0, relation="add-remove")
    assert not replay(target, [*pairs_of(target)])[0].refutes
    assert replay(target)[0].pair["first"]["shape"][0] <= 2
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert "as Hypothesis is not installed" in replay(target)[0].reason


def test_a_bare_part_refutes_where_it_comes_more_often_than_delta() -> None:
    def release(x: Any, rng: Any) -> Any:
        noisy = len(x) + rng.laplace(0, 1)
        return noisy, abs(float(noisy) - len(x)) > 0.5

    for delta, severity in ((1e-5, Severity.CLAIM), (0.9, Severity.ACCOUNTING)):
        assert replay(release, [(ONE, TWO)], epsilon=1.0, delta=delta)[0].severity is severity


def test_the_same_seed_gives_the_same_findings() -> None:
    pair = NeighbouringPair.records(ONE, TWO, Relation.ADD_REMOVE)
    told = [[f.reason for f in replay(lambda x, rng: x.sum() / rng.normal(), [pair], epsilon=1.0)] for _ in range(2)]
    assert told[0] == told[1]


def test_a_choice_by_comparisons_is_judged_by_all_that_might_have_come_out() -> None:
    def choose(utilities: Any, rng: Any, factor: float = 1.5) -> int:
        weights = np.exp(factor * np.array(utilities))
        return int(np.argmax(rng.random() <= np.cumsum(weights / weights.sum())))

    pair = ([1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0])
    for seed in range(8):
        assert replay(choose, [pair], epsilon=1.0, seed=seed)[0].refutes
    choose.__defaults__ = (0.5,)
    for seed in range(8):
        assert replay(choose, [pair], epsilon=1.0, seed=seed)[0].verdict is Verdict.NOT_DETECTED


def test_random_points_that_records_are_compared_with_are_not_taken_for_noise() -> None:
    def counts_near_points(x: Any, rng: Any) -> Any:
        points = rng.random(2)
        nearest = np.abs(x[:, None] - points).argmin(axis=1)
        return points, np.bincount(nearest, minlength=2) + rng.laplace(0, 1, 2)

    pair = (np.array([0.2, 0.9, 0.4, 1.0]), np.array([0.2, 0.9, 0.4]))
    for seed in range(4):
        assert not replay(counts_near_points, [pair], epsilon=1.0, seed=seed)[0].refutes


def test_noise_for_no_number_at_all_moves_nothing() -> None:
    def filled(x: Any, rng: Any) -> Any:
        missing = 2 * rng.uniform(size=int(np.isnan(x).sum())) + 1
        return np.nansum(np.append(x, missing)) + rng.laplace(0, 1)

    assert replay(filled, [(ONE, TWO)], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED


def test_batches_of_shuffled_records_are_told_from_samples() -> None:
    """Each of ten sums has a record for certain after shuffling, and one in ten of them otherwise."""
    records = (np.linspace(0, 1, 40), np.append(np.linspace(0, 1, 40)[:-1], 0.0))

    def shuffled(x: Any, rng: Any) -> Any:
        return [part.sum() + rng.normal(0, 0.4) for part in np.split(rng.permutation(x), 10)]

    def sampled(x: Any, rng: Any) -> Any:
        return [x[rng.random(len(x)) < 0.1].sum() + rng.normal(0, 1.0) for _ in range(10)]

    worst = replay(shuffled, [records], epsilon=4.0, delta=1e-4)[0]
    assert worst.flaw == "the noise is too small for how far the value moves"
    assert "shuffled records are in one of 10 sums" in worst.reason
    assert replay(sampled, [records], epsilon=4.0, delta=1e-4)[0].verdict is Verdict.NOT_DETECTED


def test_hooks_are_taken_away() -> None:
    before = (np.random.laplace, np.random.Generator, np.random.default_rng, random.gauss, secrets.randbits)
    methods = (random.Random.gauss, random.SystemRandom.getrandbits)
    held = np.random.default_rng(0)
    replay(lambda x: x.sum() + held.laplace() + random.gauss(0, 1), [(ONE, TWO)], epsilon=1.0)
    assert before == (np.random.laplace, np.random.Generator, np.random.default_rng, random.gauss, secrets.randbits)
    assert methods == (random.Random.gauss, random.SystemRandom.getrandbits)
    assert type(held) is np.random.Generator
    assert type(random.gauss(0, 1)) is float


def test_code_that_refuses_followed_numbers_is_replayed_on_plain_ones() -> None:
    def strict(x: Any, rng: Any) -> Any:
        noise = rng.laplace(0, 1)
        if type(noise) not in (float, np.float64):
            raise TypeError(type(noise))
        return len(x) + noise, x.max()

    (finding,) = replay(strict, [(np.array([1.0, 2.0]), ONE[:1])], epsilon=1.0)
    assert finding.refutes
    assert finding.event.startswith("output[0][1]")


def test_a_source_that_nobody_watches_is_named() -> None:
    hidden = [0]

    def counting(x: Any) -> Any:
        hidden[0] += 1
        return x.sum() + 0.1 * hidden[0]

    finding = replay(counting, [(ONE, TWO)], epsilon=1.0)[0]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no hook watches" in finding.reason


def test_raw_bits_are_named_where_the_output_depends_on_them() -> None:
    finding = replay(lambda x: int(x.sum()) + secrets.randbits(8), [(ONE, TWO)], epsilon=1.0)[0]
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "raw bits" in finding.reason


def test_what_is_lost_is_told_of_the_outcomes_seen_and_not_beside_what_is_not_judged() -> None:
    reason = replay(_laplace, [(ONE, TWO)], epsilon=1.0)[0].reason
    assert ": the most that the outputs lose in any of these outcomes is ε = 1 (" in reason
    reason = replay(lambda x, rng: len(x) + np.clip(rng.laplace(0, 1), -3, 3), [(ONE, TWO)], epsilon=1.0)[0].reason
    assert "not judged: " in reason
    assert "ε" not in reason


def test_what_a_module_for_secrets_draws_is_named_as_watched() -> None:
    assert "secrets.randbelow" in replay(lambda _: secrets.randbelow(3), [(ONE, TWO)], epsilon=1.0)[0].reason


def test_a_value_that_noise_selected_is_told_with_the_number_of_runs() -> None:
    records = np.array([9.0, 1.0]), np.array([5.0, 1.0])
    finding = replay(lambda x, rng: x[np.argmax(x / 9 + rng.laplace(0, 0.05, 2))], [records], epsilon=1.0)[0]
    assert finding.verdict is Verdict.VIOLATED
    assert "whatever the noise" not in finding.reason


def test_a_target_that_always_fails_is_an_error() -> None:
    finding = replay(lambda x: x.no_such_thing, [(ONE, TWO)], epsilon=1.0)[0]
    assert finding.verdict is Verdict.ERROR
    assert "raised AttributeError: 'numpy.ndarray' object has no attribute 'no_such_thing'" in finding.reason


def test_a_finding_says_under_how_many_outcomes_of_the_noise_each_pair_was_run() -> None:
    finding = replay(_laplace, [(ONE, TWO)], epsilon=1.0)[0]
    # 41 seeds, and the one draw far out on either side, which is what a pure claim has to bear
    assert finding.reason.startswith("no divergence on 1 pair, under 43 outcomes of the noise: ")
    finding = replay(lambda x, rng: x.sum() + rng.normal(0, 9), [(ONE, TWO)] * 6, epsilon=1.0, delta=1e-5)[0]
    assert finding.reason.startswith("no divergence on 6 pairs, under 90 outcomes of the noise: ")


def _overspends_where_the_count_is_large(x: Any, rng: Any) -> Any:
    count = x.sum() + rng.laplace(0, 2)
    return (count, x.sum() + rng.laplace(0, 0.1)) if count > 5 else (count, None)


@pytest.mark.parametrize("seed", range(3))
def test_a_path_that_the_output_tells_refutes_a_pure_claim_however_rare_it_is(seed: int) -> None:
    finding = replay(_overspends_where_the_count_is_large, [(ONE, TWO)], epsilon=1.0, seed=seed)[0]
    assert finding.refutes
    assert finding.witness.source.startswith("return (count, x.sum()")
    loose = replay(_overspends_where_the_count_is_large, [(ONE, TWO)], epsilon=1.0, delta=0.4, seed=seed)[0]
    assert not loose.refutes  # δ may be all of that path


def _two_scales_where_the_count_is_large(x: Any, rng: Any) -> Any:
    scale = 0.5 if rng.random() < 0.5 else 5.0
    count = x.sum() + rng.laplace(0, 2)
    if count < 5:
        return count, None
    return count, x.sum() + (rng.laplace(0, 1) * scale if scale < 1 else rng.laplace(0, 5))


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_path_that_a_coin_mixes_with_another_is_not_taken_for_the_output(seed: int) -> None:
    finding = replay(_two_scales_where_the_count_is_large, [(ONE, TWO)], epsilon=2.0, seed=seed)[0]
    assert finding.verdict is Verdict.INCONCLUSIVE  # the tails are those of the larger scale


def _little_noise_by_a_rare_coin(x: Any, rng: Any) -> Any:
    return (x.sum() if rng.random() < 0.01 else 1.0) + rng.laplace(0, 0.5)


@pytest.mark.parametrize("seed", [*range(3), 12, 100, 101])
def test_what_a_hidden_coin_makes_rare_is_not_taken_for_what_always_happens(seed: int) -> None:
    finding = replay(_little_noise_by_a_rare_coin, [(ONE, TWO)], epsilon=1.0, seed=seed)[0]
    assert finding.verdict is Verdict.INCONCLUSIVE  # it loses ε = 0.06, as the coin hides the rest


def test_a_seed_that_is_set_leaves_the_callers_generators_as_they_were() -> None:
    before = np.random.get_state()[1].tolist(), random.getstate()

    def reseeded(x: Any) -> Any:
        np.random.seed(0)
        random.seed(0)
        return x.sum() + np.random.laplace() + random.gauss(0, 1)

    (finding,) = replay(reseeded, [(ONE, TWO)], epsilon=1.0)
    assert "is seeded with 0, whatever the input" in finding.reason
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before


def test_two_answers_with_one_draw_spend_once_where_their_difference_never_moves() -> None:
    """Both show one noisy number where they differ by the same on each input of every pair: a note would be wrong."""

    def shared(x: Any, rng: Any) -> Any:
        noise = rng.laplace(0, 1)
        return x.sum() + noise, 7 + len(x) + noise

    def rounded(x: Any, rng: Any) -> Any:
        noise = rng.laplace(0, 2)
        return x.sum() + noise, round(float(x.sum() + rng.laplace(0, 2))) + noise

    assert replay(shared, [(ONE, TWO)], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED
    (finding,) = replay(shared, [(ONE, TWO), (np.array([2.0, 1.0]), np.array([2.0]))], epsilon=1.0)
    assert finding.severity is Severity.ACCOUNTING
    assert "the same noise is added to two answers" in finding.flaw
    assert "on another pair" in finding.reason
    assert replay(rounded, [(ONE, TWO)], epsilon=1.0)[0].verdict is Verdict.INCONCLUSIVE  # other noise hides it


def test_wrong_uses_are_refused() -> None:
    for wrong in (
        lambda: replay(_laplace, [(ONE, TWO)]),
        lambda: replay(3, [(ONE, TWO)], epsilon=1.0),
        lambda: replay(_laplace, [ONE], epsilon=1.0),
        lambda: replay(_laplace, epsilon=1.0),
        lambda: replay(_laplace, [(ONE, TWO)], inputs=[ONE], epsilon=1.0),
        lambda: replay(_laplace, inputs=[ONE], epsilon=1.0),
        lambda: replay(Target.noise(_laplace, epsilon=1.0), epsilon=1.0),
    ):
        with pytest.raises(UsageError):
            wrong()


def _signs_by_a_comparison(x: Any, rng: Any) -> Any:
    return len(x) + rng.exponential(1.0, 1) * np.where(rng.random(1) < 0.5, -1.0, 1.0)


def _mixed_scales(x: Any, rng: Any) -> Any:
    return len(x) + rng.normal(0, np.sqrt(2 * rng.exponential(1.0)))


def _in_another_process(x: Any, rng: Any) -> Any:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return len(x) + pool.apply(rng.laplace, (0, 1))


def _rejected_by_its_size(x: Any, rng: Any) -> Any:
    while abs(noise := rng.laplace(0, 1)) > x.sum() + 1:
        pass
    return x.sum() + noise


def _rejected_afterwards(x: Any, rng: Any) -> Any:
    while True:
        noisy = x.sum() + rng.laplace(0, 1)
        if noisy > -x.sum():
            return noisy


def _in_an_order_by_other_noise(x: Any, rng: Any) -> Any:
    counts = len(x) * np.array([1.0, -1.0]) + np.frombuffer(rng.laplace(0, 2, 2).tobytes())
    sums = np.array([x.sum(), 40.0]) + rng.laplace(0, 2, 2)
    return sums[[0, 1] if counts[0] > 2.14 else [1, 0]]


KEPT: dict[int, float] = {}


def _kept_between_runs(x: Any, rng: Any) -> Any:
    if len(x) not in KEPT:
        KEPT[len(x)] = len(x) + rng.laplace(0, 1)
    return KEPT[len(x)]


@pytest.mark.parametrize(
    "release",
    [
        *(_signs_by_a_comparison, _mixed_scales, _in_another_process),
        *(_kept_between_runs, _in_an_order_by_other_noise),
    ],
)
def test_noise_that_cannot_be_followed_is_not_judged_and_not_accused(release: Any) -> None:
    KEPT.clear()
    (finding,) = replay(release, [(ONE, TWO)], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE


def _a_bit_and_a_coin(x: Any) -> Any:
    bit = random.random() < min(1.0, max(0.0, x))
    return bit if random.random() < math.e / (1 + math.e) else not bit


def _bits_added_up(x: Any, rng: Any) -> Any:
    bits, lies = rng.random(len(x)) < x, rng.random(len(x)) > math.e / (1 + math.e)
    return int((bits ^ lies).sum())


def _a_choice_and_noise(x: Any, rng: Any) -> Any:
    return random.choices((0, 1), (1 - x, x))[0] + rng.laplace(scale=1.0)


def _permute_and_flip(utilities: Any) -> Any:
    order = list(range(len(utilities)))
    random.shuffle(order)
    for place in order:
        if random.random() < math.exp((utilities[place] - max(utilities)) / 2):
            return place
    return None


def _choose_by_rejection(utilities: Any) -> Any:
    while True:
        place = random.randrange(len(utilities))
        if random.random() < math.exp((utilities[place] - max(utilities)) / 2):
            return place


def _noisy_max(utilities: Any) -> Any:
    return max(range(len(utilities)), key=lambda place: utilities[place] + random.expovariate(0.5))


def _words_that_are_counted_on_one_line_or_another(words: Any, rng: Any) -> Any:
    noisy = {}
    for word in "abc":
        if word in words:
            noisy[word] = words.count(word) + rng.laplace(0, 1)
        else:
            noisy[word] = rng.laplace(0, 1)
    return {word: number for word, number in noisy.items() if number > 2}


def _no_words_that_are_counted_on_a_line_of_their_own(words: Any, rng: Any) -> Any:
    if not words:
        noisy = {word: rng.laplace(0, 1) for word in "abc"}
        return {word: number for word, number in noisy.items() if number > 2}
    noisy = {word: words.count(word) + rng.laplace(0, 1) for word in "abc"}
    return {word: number for word, number in noisy.items() if number > 2}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("release", "pair"),
    [
        (_words_that_are_counted_on_one_line_or_another, (["a", "b"], ["a"])),
        (_no_words_that_are_counted_on_a_line_of_their_own, (["a"], [])),
        (_a_bit_and_a_coin, (0.0, 1.0)),
        (_bits_added_up, (np.array([0.0, 0.5]), np.array([1.0, 0.5]))),
        (_a_choice_and_noise, (0.0, 1.0)),
        (_permute_and_flip, ([0, 0, 1], [1, 0, 0])),
        (_choose_by_rejection, ([0, 0, 1], [1, 0, 0])),
        (_noisy_max, ([0.0, 1.0], [1.0, 0.0])),
    ],
)
def test_a_choice_that_later_draws_hide_is_not_taken_for_the_output(release: Any, pair: Any, seed: int) -> None:
    (finding,) = replay(release, [pair], epsilon=1.0, seed=seed)
    assert finding.verdict is not Verdict.VIOLATED


@pytest.mark.parametrize("seed", range(3))
def test_a_choice_that_the_output_is_refutes_the_claim(seed: int) -> None:
    (finding,) = replay(lambda x: random.random() < x, [(0.0, 1.0)], epsilon=1.0, seed=seed)
    assert finding.refutes
    assert "probability 1 on one input and 0 on the other" in finding.reason


@pytest.mark.parametrize(
    "release",
    [
        lambda x, rng: rng.laplace(0, 1 + 99 * x),
        lambda x, rng: round(rng.laplace(0, 1 + 99 * x), 2),
        lambda x, rng: rng.normal(0, 1 + x, size=3),
        lambda x, rng: rng.poisson(1 + x),
        lambda x, rng: rng.multinomial(10, [0.1 + 0.5 * x, 0.9 - 0.5 * x]),
        lambda x: random.gauss(0, 1 + 99 * x),
        lambda x: random.gammavariate(1 + 100 * x, 1),
    ],
)
def test_a_draw_that_is_asked_for_otherwise_is_named_though_nothing_is_added_to_it(release: Any) -> None:
    (finding,) = replay(release, [(0.0, 1.0)], epsilon=0.1)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert re.search(r"test_replay\.py:\d+ draws .+ on one input and .+ on the other", finding.reason)


@pytest.mark.parametrize(
    ("release", "loss"),
    [
        (lambda x, rng: int(rng.integers(0, 2 + int(5 * x))), "without bound"),
        (lambda x: random.randint(0, 1 + int(x) * 100), "without bound"),
        (lambda x, rng: rng.binomial(10, 0.01 + 0.9 * x), "ε = 45.1086"),  # 10 log 91
    ],
)
def test_an_integer_that_is_drawn_from_more_on_one_input_refutes_the_claim(release: Any, loss: str) -> None:
    (finding,) = replay(release, [(0.0, 1.0)], epsilon=0.1)
    assert finding.refutes
    assert loss in finding.reason


def test_a_named_pair_is_not_searched_from_and_every_run_is_counted() -> None:
    runs: list[int] = []

    def release(x: Any, trials: int, rng: Any) -> Any:
        runs.append(len(x))
        return x.sum() + rng.laplace(0, 1, trials)

    target = Target.sum(release, epsilon=1.0, bounds=(0.0, 1.0), relation="add-remove")
    (finding,) = replay(target, [(ONE, TWO)])
    assert finding.trials == len(runs)
    assert set(runs) == {1, 2}
    assert replay(target, most_pairs=5)[0].trials == len(runs) - finding.trials > 20


def test_a_finding_says_where_the_time_ran_out() -> None:
    def release(x: Any, trials: int, rng: Any) -> Any:
        return x.sum() + rng.laplace(0, 1, trials)

    target = Target.sum(release, epsilon=1.0, bounds=(0.0, 1.0), relation="add-remove")
    assert "the time was up" in replay(target, seconds=0.0)[0].reason
    assert "the time was up" not in replay(target, most_pairs=3)[0].reason


class _Table:
    """Made in two steps, as tables of libraries are."""

    values: Any

    @classmethod
    def of(cls, values: Any) -> Any:
        made = object.__new__(cls)
        made.values = values
        return made

    def to_array(self) -> Any:
        return self.values

    def __deepcopy__(self, memo: Any) -> Any:
        return _Table.of(self.values.copy())


def test_an_object_that_is_still_being_made_is_not_looked_into() -> None:
    def shows_its_total(table: Any, rng: Any) -> Any:
        values = table.to_array()
        return len(values) + rng.laplace(0, 1), values.sum()

    (finding,) = replay(shows_its_total, [(_Table.of(ONE), _Table.of(TWO))], epsilon=1.0)
    assert finding.witness.source.startswith("return len(values)")


SEEDED = np.random.default_rng(3)


def test_a_generator_that_the_code_seeded_draws_the_same_in_every_run_and_is_left_as_it_was() -> None:
    def twice(x: Any) -> Any:
        return x.sum() + SEEDED.laplace(), SEEDED.laplace()

    before = SEEDED.bit_generator.state
    (finding,) = replay(twice, [(ONE, TWO)], epsilon=1.0)
    assert "the Generator of the code is seeded with 3, whatever the input" in finding.reason
    assert SEEDED.bit_generator.state == before
    assert type(SEEDED) is np.random.Generator


def test_a_seeded_generator_that_a_closure_was_given_is_its_callers() -> None:
    given = np.random.default_rng(3)
    finding = replay(lambda x: x.sum() + given.laplace(), [(ONE, TWO)], epsilon=1.0)[0]
    assert finding.verdict is Verdict.NOT_DETECTED


def test_a_generator_in_an_object_of_another_module_of_the_users_is_watched() -> None:
    finding = replay(lambda x: sound.HELD.count(x), [(ONE, TWO)], epsilon=1.0)[0]
    assert finding.verdict is Verdict.NOT_DETECTED


def test_the_package_has_replay_without_a_further_import() -> None:
    code = "import attacklab; print(attacklab.replay.replay.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "replay\n"  # noqa: S603 - our own


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [0.7, 1.2])
def test_the_key_of_the_largest_is_judged_as_its_place_is_whatever_the_seed(scale: float, seed: int) -> None:
    pair = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0}, {"a": -1.0, "b": 1.0, "c": -1.0, "d": 0.0}

    def key(values: Any, rng: Any) -> Any:
        noisy = {name: value + rng.laplace(0, scale) for name, value in values.items()}
        return max(noisy, key=noisy.get)

    def place(values: Any, rng: Any) -> Any:
        return int(np.argmax(np.array(list(values.values())) + rng.laplace(0, scale, 4)))

    found = [replay(one, [pair], epsilon=1.0, seed=seed)[0].verdict for one in (key, place)]
    assert found == [Verdict.VIOLATED if scale < 1 else Verdict.NOT_DETECTED] * 2


def _answers_above_a_noisy_threshold(x: Any, rng: Any) -> Any:
    threshold = rng.laplace(0, 2)
    return [place for place, answer in enumerate(x) if answer + rng.laplace(0, 4) >= threshold]


def test_the_time_is_kept_on_the_first_pair_too_and_what_is_left_is_named() -> None:
    (finding,) = replay(_answers_above_a_noisy_threshold, [(np.zeros(70), np.ones(70))], epsilon=1.0, seconds=0.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "the time was too short" in finding.reason
    assert finding.trials <= LEAST_RUNS


def test_a_uniform_number_that_was_only_looked_at_for_being_zero_keeps_its_law() -> None:
    def release(x: Any, rng: Any) -> Any:
        one, other = rng.random(), rng.random()
        while one == 0:
            one = rng.random()
        return len(x) + math.log(one) - math.log(max(other, 1e-300))

    assert replay(release, [(ONE, TWO)], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED
    assert replay(release, [(ONE, TWO)], epsilon=0.9)[0].refutes


def test_draws_are_paired_up_by_the_values_that_they_are_added_to_where_one_input_has_a_key_more() -> None:
    words = ["a"] * 30 + ["c"] * 60
    finding = replay(sound.threshold_high_enough, [(words, [*words, "b"])], epsilon=1.0, delta=1e-6)[0]
    assert finding.verdict is Verdict.NOT_DETECTED


def test_losses_of_choices_are_added_up_in_one_direction() -> None:
    rare, likely = coin(0.1), coin(0.5)
    assert loss_of([(likely, rare), (rare, likely)]) == pytest.approx(math.log(9))


@pytest.mark.parametrize("how", ROUNDINGS)
def test_rounded_noise_is_as_probable_as_what_becomes_it(how: Any) -> None:
    law = rounded(Law("Laplace", scale=Fraction(2)), how)
    assert law is not None
    drawn = np.random.default_rng(3).laplace(0, 2, 100_000)  # an error of 0.012 in one of 9: below 10⁻¹²
    for number in range(-4, 5):
        assert law.weights[number - int(law.centre)] == pytest.approx((how(drawn) == number).mean(), abs=0.012)


def test_noise_that_is_drawn_again_within_bounds_of_the_data_is_found() -> None:
    for release in (_rejected_by_its_size, _rejected_afterwards):
        (finding,) = replay(release, [(ONE, TWO)], epsilon=1.0)
        assert "drawn again until" in finding.reason
        assert finding.refutes


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.3])
def test_a_number_that_is_drawn_again_loses_what_its_density_says(scale: float) -> None:
    def release(x: Any, rng: Any) -> Any:
        while (noisy := x.sum() + rng.laplace(0, scale)) < 0:
            pass
        return noisy

    sums = ONE.sum(), TWO.sum()
    kept = [1 - math.exp(-size / scale) / 2 for size in sums]
    loss = abs(sums[0] - sums[1]) / scale + abs(math.log(kept[1] / kept[0]))
    assert not replay(release, [(ONE, TWO)], epsilon=1.0001 * loss)[0].refutes
    assert replay(release, [(ONE, TWO)], epsilon=0.9999 * loss)[0].refutes
