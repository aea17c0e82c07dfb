"""The referee: fresh randomness for judging, one α, the same finding whatever else ran, and no failure is lost."""

import itertools
import math
import random
import re
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from attacklab import ATTACKS, Finding, Kind, NeighbouringPair, PrivacyClaim, Relation, Target, Verdict
from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.auditing import referee
from attacklab.auditing.judge import LARGEST_BUDGET
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.samples import BATCH_OUTPUTS, CHOOSING_GROWTH, FIRST_LOOK, GROWTH, REDRAWN
from attacklab.auditing.statistics.betting import judge
from attacklab.auditing.statistics.choosing import SHARE, smallest_detectable_advantage, trials_needed
from attacklab.model.findings import upper_text
from attacklab.model.targets import Failure

PAIR = NeighbouringPair.records([0], [1], Relation.SUBSTITUTE)
ZERO = Event("a zero", lambda outputs: np.asarray(outputs == 0, dtype=bool))
ONE = Event("a one", lambda outputs: np.asarray(outputs == 1, dtype=bool))
NEVER = Event("never", lambda outputs: np.zeros(len(outputs), dtype=bool))


@dataclass(frozen=True)
class Bets:
    """An attack on datasets with the given scenarios, which looks at the target first if asked to."""

    given: tuple[Scenario, ...]
    name: str = "bets"
    flaw: str = "any"
    probes: int = 0

    def applies_to(self, target: Target) -> bool:
        return target.kind is Kind.DATASET

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - the protocol's form
        for _ in range(self.probes):
            probe(PAIR.first, 10)
        return self.given


def randomized_response(ratio: float) -> Callable[..., np.ndarray]:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(trials) < ratio / (1 + ratio), records[0], 1 - records[0])

    return release


class Recording:
    """A release that keeps what it was called with: the input, the number of trials and the generator's state."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, int]] = []

    def __call__(self, records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        state = rng.bit_generator.state["state"]["state"]
        self.calls.append((int(records[0]), trials, int(state)))
        return randomized_response(2.0)(records, trials, rng)


def drawn_of(recording: Recording) -> list[int]:
    """How many outputs of the first input each call drew, but for the one that tells how large outputs are."""
    size, *drawn = [trials for side, trials, _state in recording.calls if side == 0]
    assert size == 1
    return drawn


def target_of(release: Callable[..., Any], epsilon: float = 1.0, delta: float = 0.0) -> Target:
    return Target.dataset(release, epsilon=epsilon, delta=delta, name="stub")


def timeless(findings: list[Finding]) -> list[Finding]:
    return [replace(finding, seconds=0.0) for finding in findings]


def test_probing_choosing_and_judging_draw_from_generators_of_their_own_on_either_side() -> None:
    recording = Recording()
    attack = Bets((Scenario(PAIR, (ZERO, ONE, NEVER)), Scenario(PAIR, (ZERO,))), probes=2)
    trials = 2 * BATCH_OUTPUTS
    audit(target_of(recording), [attack], trials=trials, spend_all=True)
    states = [state for _side, _trials, state in recording.calls]
    assert len(set(states)) == len(states)
    choosing = trials // SHARE
    scenario = [(0, choosing), (1, choosing), *[(0, BATCH_OUTPUTS), (1, BATCH_OUTPUTS)] * 2]
    assert [(side, drawn) for side, drawn, _state in recording.calls] == [(0, 10), (0, 10), *scenario, *scenario]


def test_both_samples_grow_until_they_have_decided() -> None:
    recording = Recording()
    attack = Bets((Scenario(PAIR, (NEVER, ZERO)),))
    (finding,) = audit(target_of(recording, epsilon=0.01), [attack], trials=100_000)
    assert (finding.verdict, finding.shown.event) == (Verdict.VIOLATED, "a zero")
    assert finding.samples.counts.trials < 2_000
    *drawn, once, again = drawn_of(recording)
    assert drawn[0] == FIRST_LOOK
    assert once == again == REDRAWN  # whether the refutation can be replayed
    assert sum(drawn) == finding.trials // 2


def looked_at(recording: Recording, choosing: int) -> tuple[list[int], list[int]]:
    """After how many trials the two samples of a scenario were looked at, if so many chose and no batch was cut."""
    drawn = drawn_of(recording)
    begins = np.cumsum(drawn).tolist().index(choosing) + 1
    return np.cumsum(drawn[:begins]).tolist(), np.cumsum(drawn[begins:]).tolist()


def test_a_sample_that_decides_nothing_is_spent_whole() -> None:
    """A target on the edge of its claim; at 5 % and then 10^-6 it is accused in neither sample for this seed.

    What a thousand trials did not show while choosing is not looked for in fewer.
    """
    recording = Recording()
    (finding,) = audit(target_of(recording, epsilon=math.log(2)), [Bets((Scenario(PAIR, (ZERO,)),))], trials=10_000)
    chosen, judged = looked_at(recording, 1_000)
    assert (chosen[0], chosen[-1], judged[-1]) == (FIRST_LOOK, 1_000, 10_000)
    assert 1_000 <= judged[0] < GROWTH * 1_000
    for looks, growth in ((chosen, CHOOSING_GROWTH), (judged, GROWTH)):
        assert all(before < look <= math.ceil(growth * before) for before, look in itertools.pairwise(looks))
    assert finding.verdict is Verdict.NOT_DETECTED


def test_an_event_seen_to_keep_the_claim_is_judged_on_few_trials_and_the_power_is_that_of_those() -> None:
    """At 1000 trials the rates are 30 standard errors within the claim."""
    recording, attack = Recording(), Bets((Scenario(PAIR, (ZERO,)),))
    target = target_of(recording, epsilon=2.0)
    (finding,) = audit(target, [attack], trials=10_000)
    (*_, chosen), (judged,) = looked_at(recording, 1_000)
    assert chosen == 1_000 <= judged < GROWTH * 1_000
    assert finding.verdict is Verdict.NOT_DETECTED
    assert (finding.samples.counts.trials, finding.trials) == (judged, 2 * (chosen + judged))
    rates = (finding.samples.counts.first / judged, finding.samples.counts.second / judged)
    power = smallest_detectable_advantage(PrivacyClaim(2.0), judged, DEFAULT_ALPHA, min(rates[1], 1 - rates[0]))
    assert finding.samples.smallest_detectable == power
    assert upper_text(power) in finding.reason
    assert finding.samples.trials_needed is None
    assert "trials would" not in finding.reason
    (whole,) = audit(target, [attack], trials=10_000, spend_all=True)
    assert whole.samples.counts.trials == 10_000


def test_the_event_that_promises_most_is_chosen_at_a_large_epsilon() -> None:
    """The second input never gives 1, and gives 2 at a tenth of the rate that the claim allows.

    The union of both is the best bet. Of 32,000 trials of choosing it holds two outputs of the second input on
    average, where 40 would keep the claim.
    """
    epsilon = 6.0
    rates = {0: (0.5, 0.2, 0.3), 1: (1 - 0.3 * math.exp(-epsilon) / 10, 0.0, 0.3 * math.exp(-epsilon) / 10)}

    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(3, trials, p=rates[int(records[0])])

    either = Event("not a zero", lambda outputs: np.asarray(outputs != 0, dtype=bool))
    two = Event("a two", lambda outputs: np.asarray(outputs == 2, dtype=bool))
    for seed in range(3):
        (finding,) = audit(
            target_of(release, epsilon), [Bets((Scenario(PAIR, (NEVER, two, ONE, either)),))], trials=80_000, seed=seed
        )
        assert (finding.verdict, finding.shown.event) == (Verdict.VIOLATED, "not a zero")


def test_a_claim_that_no_sample_can_refute_is_untestable_and_nothing_is_drawn_to_judge_it() -> None:
    recording = Recording()
    (finding,) = audit(target_of(recording, epsilon=20.0), [Bets((Scenario(PAIR, (ZERO,)),))], trials=1_000)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.is_untestable
    assert [(side, trials) for side, trials, _state in recording.calls] == [(0, 1), (1, 1)]  # how large outputs are
    (said,) = re.findall(r"no fewer than ([\d,]+) trials could refute ε = 20.0", finding.reason)
    # An event of P = 1 and Q = 0 refutes once (1 + e^-20)^n reaches 2/α; the mean over stakes makes that a few more.
    least = math.log(2 / DEFAULT_ALPHA) * math.exp(20.0)
    assert least < float(said.replace(",", "")) < 1.5 * least
    assert least > LARGEST_BUDGET


def test_too_few_trials_for_a_claim_that_more_would_test_are_inconclusive_with_their_number() -> None:
    """P = 1 and Q = 0 refute e^10 in some 400,000 trials, not in 10,000."""
    certain = target_of(lambda records, trials, _rng: np.full(trials, records[0]), epsilon=10.0)
    attack = Bets((Scenario(PAIR, (ZERO,)),))
    (few,) = audit(certain, [attack], trials=10_000)
    assert (few.verdict, few.samples.smallest_detectable) == (Verdict.INCONCLUSIVE, None)
    (said,) = re.findall(r"at least ([\d,]+) are needed; raise --trials", few.reason)
    (enough,) = audit(certain, [attack], trials=int(said.replace(",", "")) * 11 // 10)
    assert enough.verdict is Verdict.VIOLATED


def test_a_subtle_flaw_states_the_trials_it_needs_before_it_is_judged() -> None:
    """The excess of 0.0715 has a standard error of 0.004 on the 100 000 trials of choosing.

    The trials needed go by its square: to be wrong by a factor of 3 it must be off by 7 of them: below 1e-11.
    """
    target, attack = target_of(randomized_response(math.exp(1.1)), epsilon=1.0), Bets((Scenario(PAIR, (ZERO,)),))
    p = math.exp(1.1) / (1 + math.exp(1.1))
    true = trials_needed(PrivacyClaim(1.0), p, 1 - p, DEFAULT_ALPHA)
    told: list[str] = []
    (finding,) = audit(target, [attack], trials=1_000_000, spend_all=True, report=told.append)
    assert finding.verdict is Verdict.VIOLATED
    needed = f"bets 1/1, judging (about {finding.samples.trials_needed:,} trials needed): "
    assert {line.partition(": ")[0] + ": " for line in told} == {"bets 1/1, choosing: ", needed}
    assert true / 3 < finding.samples.trials_needed < 3 * true


def test_counts_are_those_of_the_outputs() -> None:
    """A binomial deviates by 7 standard deviations, 0.035, with probability below 1e-11."""
    target, attack = target_of(randomized_response(3.0), epsilon=0.1), Bets((Scenario(PAIR, (ZERO,)),))
    (finding,) = audit(target, [attack], trials=10_000, spend_all=True)
    assert finding.samples.counts.first / 10_000 == pytest.approx(0.75, abs=0.035)
    assert finding.samples.counts.second / 10_000 == pytest.approx(0.25, abs=0.035)
    assert finding.samples.counts.both / 10_000 == pytest.approx(0.75 * 0.25, abs=0.035)
    judged = judge(PrivacyClaim(0.1), finding.samples.counts, 1e-6)
    assert (finding.shown.epsilon_lower, finding.shown.advantage) == (judged.epsilon_lower, judged.advantage)
    assert finding.shown.ceiling == math.tanh(0.05)


def test_the_same_seed_gives_the_same_findings_and_another_seed_others() -> None:
    target, attack = target_of(randomized_response(2.0)), Bets((Scenario(PAIR, (ZERO, ONE)),))
    first, again, other = (audit(target, [attack], trials=5_000, seed=seed) for seed in (3, 3, 4))
    assert timeless(first) == timeless(again)
    assert first[0].samples.counts != other[0].samples.counts


def test_a_finding_does_not_depend_on_which_other_attacks_run_or_in_what_order() -> None:
    target = target_of(randomized_response(2.0))
    one = Bets((Scenario(PAIR, (ONE,)), Scenario(PAIR, (ZERO, ONE))), name="one", probes=1)
    two = Bets((Scenario(PAIR, (ONE,)),), name="two", probes=3)
    alone = audit(target, [one], trials=3_000)
    for attacks in ([one, two], [two, one]):
        together = [finding for finding in audit(target, attacks, trials=3_000) if finding.attack == "one"]
        assert [finding.samples.counts for finding in together] == [finding.samples.counts for finding in alone]
        assert [finding.shown.event for finding in together] == [finding.shown.event for finding in alone]
    # The same scenario of another attack is judged on other outputs.
    assert audit(target, [two], trials=3_000)[0].samples.counts != alone[0].samples.counts


def test_alpha_is_split_over_the_attacks_that_apply_and_their_scenarios() -> None:
    scenario = Scenario(PAIR, (ZERO,))
    attacks = [Bets((scenario,) * 3, name="three"), Bets((scenario,), name="one"), *ATTACKS[:-1]]
    findings = audit(target_of(randomized_response(2.0)), attacks, trials=100, alpha=1e-3)
    alphas = [(finding.attack, finding.alpha) for finding in findings if finding.alpha is not None]
    assert alphas == [("three", 1e-3 / 2 / 3)] * 3 + [("one", 1e-3 / 2)]
    assert sum(finding.alpha for finding in findings if finding.alpha is not None) <= 1e-3
    inapplicable = [finding for finding in findings if finding.verdict is Verdict.NOT_APPLICABLE]
    assert [finding.attack for finding in inapplicable] == [attack.name for attack in ATTACKS[:-1]]
    reasons = {"does not apply to a dataset target", "found nothing to try on this target"}
    assert {finding.reason.removeprefix(f"{finding.attack} ") for finding in inapplicable} == reasons


def test_a_target_exactly_on_its_claim_is_seldom_accused() -> None:
    """At α = 0.05 a run, more accusations than the bound in 100 runs have probability below 1e-9."""
    target = target_of(randomized_response(math.exp(0.5)), epsilon=0.5)
    attack = Bets((Scenario(PAIR, (ZERO, ONE, NEVER)), Scenario(PAIR.swapped(), (ZERO,))))
    accused = sum(
        any(
            finding.verdict is Verdict.VIOLATED
            for finding in audit(target, [attack], trials=400, alpha=0.05, seed=seed)
        )
        for seed in range(100)
    )
    assert accused <= stats.binom.isf(1e-9, 100, 0.05)
    # The same runs do accuse a target that is well beyond the claim.
    beyond = target_of(randomized_response(math.exp(1.5)), epsilon=0.5)
    assert audit(beyond, [attack], trials=400, alpha=0.05)[0].verdict is Verdict.VIOLATED


def test_several_answers_a_trial_are_judged_against_their_composition_as_rows() -> None:
    shapes = []

    def contains(outputs: np.ndarray) -> np.ndarray:
        shapes.append(outputs.shape)
        return np.asarray((outputs == 0).all(axis=1), dtype=bool)

    attack = Bets((Scenario(PAIR, (Event("all zero", contains),), answers=3),))
    trials, choosing = BATCH_OUTPUTS // 3 + 5, (BATCH_OUTPUTS // 3 + 5) // SHARE
    target = target_of(randomized_response(2.0), epsilon=0.3, delta=1e-9)
    (finding,) = audit(target, [attack], trials=trials, spend_all=True)
    assert shapes == [(choosing, 3)] * 2 + [(BATCH_OUTPUTS // 3, 3)] * 2 + [(5, 3)] * 2
    assert (finding.claim, finding.samples.answers) == (PrivacyClaim(0.3, 1e-9).composed(3), 3)
    assert finding.trials == 2 * 3 * (choosing + trials)
    assert finding.samples.counts.first / trials == pytest.approx(8 / 27, abs=0.03)


def test_a_target_that_fails_while_it_is_judged_spoils_no_other_scenario() -> None:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        if records[0] == 7:
            return np.zeros(trials + 1, dtype=int)
        return randomized_response(2.0)(records, trials, rng)

    seven = NeighbouringPair.records([0], [7], Relation.SUBSTITUTE)
    attack = Bets((Scenario(seven, (ZERO,)), Scenario(PAIR, (ZERO,))))
    failed, fine = audit(target_of(release), [attack], trials=500)
    assert (failed.verdict, failed.reason) == (Verdict.ERROR, "stub returned 51 outputs for 50 trials")
    assert fine.verdict is Verdict.NOT_DETECTED


def test_an_adversary_who_sees_failures_can_bet_on_them() -> None:
    def release(records: np.ndarray, trials: int, _rng: np.random.Generator) -> np.ndarray:
        if records[0]:
            raise ZeroDivisionError("one too many")
        return np.full(trials, math.nan)

    failed = Event("it fails", lambda outputs: np.array([isinstance(output, Failure) for output in outputs]))
    (finding,) = audit(target_of(release), [Bets((Scenario(PAIR, (failed,), sees_failures=True),))])
    assert finding.verdict is Verdict.VIOLATED
    assert (finding.samples.counts.first, finding.samples.counts.second) == (0, finding.samples.counts.trials)


@pytest.mark.parametrize(
    ("decides", "gave"),
    [
        (lambda outputs: np.zeros(len(outputs)), "float64(1,)"),
        (lambda _: np.zeros(2, dtype=bool), "bool(2,)"),
        (lambda outputs: [False] * len(outputs), "a list"),
    ],
)
def test_an_event_that_does_not_decide_every_trial_is_a_mistake_of_the_attack(decides: Any, gave: str) -> None:
    (finding,) = audit(
        target_of(randomized_response(2.0)), [Bets((Scenario(PAIR, (Event("wrong", decides),)),))], trials=10
    )
    assert finding.verdict is Verdict.ERROR
    assert f"attack bets: event 'wrong' gave {gave}, not one bool for each trial" in finding.reason


@dataclass(frozen=True)
class Failing:
    """An attack whose own code raises at one of the three places that it has."""

    place: str
    name: str = "failing"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - the protocol's form
        return bool(1 / (self.place != "applies_to"))

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - the protocol's form
        yield Scenario(PAIR, (Event("raises", lambda outputs: outputs > 1 / (self.place != "event")),))
        if self.place == "scenarios":
            raise ValueError("no\nsuch pair")
        if self.place == "probe":
            raise RuntimeError(str(probe(0, 1)))


@pytest.mark.parametrize(
    ("place", "raised"),
    [
        ("applies_to", "ZeroDivisionError: division by zero"),
        ("scenarios", "ValueError: no such pair"),
        ("event", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_an_attack_raises_is_its_error_and_leaves_the_other_findings_as_they_are(place: str, raised: str) -> None:
    one, other = (Bets((Scenario(PAIR, (ZERO,)),), name) for name in ("one", "other"))
    target = target_of(randomized_response(9.0))
    before, error, after = audit(target, [one, Failing(place), other], trials=2_000)
    assert (error.verdict, error.attack) == (Verdict.ERROR, "failing")
    assert error.reason.startswith(f"attack failing raised {raised} (test_referee.py:")
    assert "\n" not in error.reason
    assert {before.verdict, after.verdict} == {Verdict.VIOLATED}


@pytest.mark.parametrize(("events", "answers", "message"), [((), 1, "at least one event"), ((ZERO,), 0, "not 0")])
def test_a_scenario_that_nobody_can_judge_is_refused(events: tuple[Event, ...], answers: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scenario(PAIR, events, answers=answers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "trials must be at least 1, not 0"),
        ({"trials": 10**23}, "trials must be at most 1000000000000, not 1"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"alpha": 0.0}, r"alpha must lie in \(0, 1\), not 0.0"),
        ({"alpha": math.nan}, r"alpha must lie in \(0, 1\), not nan"),
    ],
)
def test_bad_settings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(target_of(randomized_response(2.0)), [], **arguments)


@pytest.mark.parametrize("from_the_generator", [True, False])
def test_a_target_that_no_seed_replays_gets_no_line_that_replays_it(from_the_generator: bool) -> None:
    other = random.Random(5)

    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> list[float]:
        source = rng if from_the_generator else other
        return [records[0] + source.random() for _ in range(trials)]

    below_one = Event("below one", lambda outputs: np.asarray(outputs < 1.0, dtype=bool))
    (finding,) = audit(target_of(release), [Bets((Scenario(PAIR, (below_one,)),))], trials=500)
    assert finding.verdict is Verdict.VIOLATED
    assert bool(finding.replay) is from_the_generator
    assert ("this cannot be replayed" in finding.reason) is not from_the_generator


def test_the_arithmetic_is_probed_before_and_after_the_target_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    events = []

    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        events.append("release")
        return randomized_response(2.0)(records, trials, rng)

    monkeypatch.setattr(referee, "require_ieee_arithmetic", lambda: events.append("probe"))
    audit(target_of(release), [Bets((Scenario(PAIR, (ZERO,)),))], trials=10)
    assert events == ["probe", *["release"] * 6, "probe"]


def test_memory_does_not_grow_with_the_number_of_trials() -> None:
    target, attack = target_of(randomized_response(2.0)), Bets((Scenario(PAIR, (ZERO,)),))

    def peak(trials: int) -> int:
        tracemalloc.start()
        audit(target, [attack], trials=trials, spend_all=True)
        _now, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(1_000)
    assert peak(32 * BATCH_OUTPUTS) < 1.2 * peak(2 * BATCH_OUTPUTS)
