"""Audits of claims that cover work: broken twins are refuted, sound ones are not, and a bad report is an error.

Each audit has a false-alarm probability of 1e-9; a broken twin is missed with a probability far below that, because its
events hold always or never, but for what the text of a test says.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

from attacklab import Domain, GaussianDP, OutputAndWork, PrivacyClaim, Target, one_by_one
from attacklab.auditing.attacks import ATTACKS, BlackBox, SpecialValues
from attacklab.auditing.attacks.base import Event, OfKinds, Probe, Scenario
from attacklab.auditing.attacks.work import Work
from attacklab.auditing.referee import audit
from attacklab.laws.proof import prove
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Kind
from attacklab.model.work import as_records, outputs_alone, records
from attacklab.replay import replay
from experiments.observed_work import exact_fixed_work, naive_geometric
from mechanisms.published import two_sided_geometric

Rng = np.random.Generator
Counter = Callable[[np.ndarray, np.ndarray, Rng], Any]

ALPHA = 1e-9
JOINT = OutputAndWork(PrivacyClaim(1.0))
WHOLE = Domain(integers=True, bounds=(-1000, 1000))


def noise(trials: int, rng: Rng) -> np.ndarray:
    """Two-sided geometric noise that keeps ε = 1 at sensitivity 1."""
    heads = 1 - np.exp(-1.0)
    return np.asarray(rng.geometric(heads, trials) - rng.geometric(heads, trials))


def twin(count: Counter, **options: Any) -> Target:
    """A sound answer with noise, and work by `count(answers, noise, rng)`."""

    def release(answer: int, trials: int, rng: Rng) -> list[tuple[int, Any]]:
        drawn = noise(trials, rng)
        work = count(np.full(trials, answer), drawn, rng)
        return [(int(answer) + int(n), w) for n, w in zip(drawn, work, strict=True)]

    return Target.noise(release, claim=JOINT, domain=WHOLE, **{"name": "twin", **options})


def found(target: Target, trials: int = 2_000, attacks: Any = None) -> list[Finding]:
    return audit(target, attacks, trials=trials, alpha=ALPHA, seed=3)


def refuting(findings: list[Finding]) -> set[str]:
    return {finding.attack for finding in findings if finding.refutes}


def errors(findings: list[Finding]) -> set[str]:
    return {finding.reason for finding in findings if finding.verdict is Verdict.ERROR}


BROKEN: dict[str, Counter] = {
    "work is a function of the data": lambda answers, _, rng: rng.poisson(20, len(answers)) + 40 * (answers % 2),
    "work is the size of the noise": lambda _, drawn, rng: np.abs(drawn),  # noqa: ARG005
    "float work": lambda _, drawn, rng: np.abs(drawn) / 8 + rng.random(len(drawn)) / 16,
    "work is the answer": lambda answers, _, rng: np.abs(answers),  # noqa: ARG005
}


@pytest.mark.parametrize("count", BROKEN.values(), ids=list(BROKEN))
def test_work_that_tells_the_data_or_the_noise_refutes_the_joint_claim(count: Counter) -> None:
    findings = found(twin(count))
    assert refuting(findings) == {"work", "black_box"}
    assert not errors(findings)
    shown = [finding for finding in findings if finding.refutes]
    assert all("the output alone did not refute it in these trials" in finding.reason for finding in shown)
    assert all(finding.claim == JOINT and finding.judged == PrivacyClaim(1.0) for finding in shown)
    assert all(finding.to_json()["claim"]["kind"] == "output_and_work" for finding in shown)


def test_naive_geometric_noise_is_refuted_by_300_outputs_with_an_advantage_of_099() -> None:
    """Output plus draws has the answer's parity, so what is missing is the mass that the probes did not see."""
    target = replace(naive_geometric(), domain=WHOLE).covering_work()
    findings = audit(target, [Work()], trials=300, alpha=0.01, seed=3, spend_all=True)
    assert {finding.verdict for finding in findings} == {Verdict.VIOLATED}
    assert {finding.counts.trials for finding in findings if finding.counts} == {300}
    assert min(finding.advantage.estimate for finding in findings if finding.advantage) >= 0.99
    assert all("the output alone did not refute it" in finding.reason for finding in findings)


SOUND: dict[str, Counter] = {
    "one constant": lambda answers, _, rng: np.full(len(answers), 62),  # noqa: ARG005
    "noise of its own": lambda answers, _, rng: rng.integers(1, 100, len(answers)),
    "a function of the output": lambda answers, drawn, rng: np.abs(answers + drawn) % 5,  # noqa: ARG005
}


@pytest.mark.parametrize("count", SOUND.values(), ids=list(SOUND))
def test_work_that_tells_no_more_than_the_output_is_not_accused(count: Counter) -> None:
    findings = found(twin(count), 1_000)
    assert not refuting(findings)
    assert not errors(findings)
    assert {finding.verdict for finding in findings if finding.attack == "work"} == {Verdict.NOT_DETECTED}


def test_fixed_work_is_not_accused_by_any_attack() -> None:
    findings = found(exact_fixed_work().covering_work(), 300)
    assert not refuting(findings)
    assert not errors(findings)


def test_a_leak_of_rare_outputs_is_found_where_the_claim_allows_little() -> None:
    """Only noise beyond 5, about one draw in 200, tells the answer's parity; a small ε allows less."""

    def release(answer: int, trials: int, rng: Rng) -> list[tuple[int, int]]:
        heads = 1 - np.exp(-0.1)
        drawn = rng.geometric(heads, trials) - rng.geometric(heads, trials)
        return [(int(answer + n), int(answer % 2 if abs(n) > 40 else 0)) for n in drawn]

    target = Target.noise(release, claim=OutputAndWork(PrivacyClaim(0.1)), domain=WHOLE, name="rare")
    findings = found(target, 50_000, [Work(), BlackBox()])
    assert refuting(findings) == {"work", "black_box"}


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ([-1], "work -1 in trial 0; work must be finite and not negative"),
        ([3.5, -0.5], "work -0.5 in trial 1; work must be finite and not negative"),
        ([float("nan")], "work nan in trial 0; work must be finite and not negative"),
        ([float("inf")], "work inf in trial 0"),
        ([None], "work None in trial 0; work must be a number"),
        (["12"], "work '12' in trial 0; work must be a number"),
        ([True], "work True in trial 0; work must be a number"),
        ([1 << 70], "which does not fit 64 bits"),
    ],
)
def test_work_that_cannot_be_counted_is_an_error_which_says_what_it_was(work: list[Any], said: str) -> None:
    target = twin(lambda answers, *_: (work * len(answers))[: len(answers)])
    findings = found(target, 100, [SpecialValues(), Work()])
    assert any(f"twin: it returned {said}" in reason or said in reason for reason in errors(findings))
    assert not refuting(findings)


@pytest.mark.parametrize(
    "released",
    [
        [1, 2, 3],
        [(1,), (2,), (3,)],
        np.zeros(3, dtype=[("output", float), ("rounds", int)]),
        np.zeros((3, 2)),
        [(1, 2), None, (3, 4)],
    ],
)
def test_outputs_without_their_work_are_an_error_which_says_how_to_report_it(released: Any) -> None:
    target = Target.noise(lambda *_: released, claim=JOINT, name="silent")
    with pytest.raises(TargetError, match=r"silent: it returned no work .* return \(output, work\) pairs"):
        target.outputs(0.0, 3, np.random.default_rng(0))


def test_an_array_with_the_two_fields_in_any_order_and_width_reports_work_too() -> None:
    released = np.zeros(2, dtype=[("work", np.int16), ("output", np.float32, (2,))])
    released["work"], released["output"] = [7, 9], [[0.1, 0.2], [0.3, -0.0]]
    outputs = Target.dataset(lambda *_: released, claim=JOINT, pairs=()).outputs(0, 2, np.random.default_rng(0))
    assert outputs["work"].tolist() == [7, 9]
    assert outputs["work"].dtype == np.int64
    assert outputs["output"].dtype == np.float32
    assert outputs["output"].tobytes() == released["output"].tobytes()


def test_outputs_of_awkward_shapes_keep_their_form_beside_work() -> None:
    awkward = [{"a": 1}, [1, 2], "text", None, Fraction(1, 3), (1, 2)]
    outputs = as_records(np.fromiter(((value, 1) for value in awkward), dtype=object, count=len(awkward)))
    assert list(outputs["output"]) == awkward
    assert list(outputs_alone(outputs)) == awkward
    assert list(map(type, outputs["output"])) == list(map(type, awkward))


@pytest.mark.parametrize(
    "make",
    [
        lambda release: Target.selection(release, claim=JOINT),
        lambda release: Target.sum(release, claim=JOINT, bounds=(0, 1)),
        lambda release: Target.mean(release, claim=JOINT, bounds=(0, 1), relation="substitute"),
    ],
    ids=["selection", "sum", "mean"],
)
@pytest.mark.parametrize("leaks", [True, False])
def test_the_work_of_selections_sums_and_means_is_looked_at(make: Any, leaks: bool) -> None:
    """The output says nothing of the input; work tells the input if it leaks, and nothing if it does not."""

    def release(values: np.ndarray, trials: int, rng: Rng) -> np.ndarray:
        told = float(np.sum(values)) * 8 + len(values) if leaks else 0.0
        return records(rng.integers(0, 2, trials), rng.integers(0, 3, trials) + 3 * abs(round(told)))

    findings = found(make(release), 1_000, [Work(), BlackBox(learning=1024)])
    assert refuting(findings) == ({"work", "black_box"} if leaks else set())
    assert not errors(findings)


def test_vectors_and_texts_with_work_are_looked_at_as_wholes() -> None:
    def release(answer: list[int], trials: int, rng: Rng) -> list[tuple[Any, int]]:
        texts = ["yes" if fair else "no" for fair in rng.integers(0, 2, trials)]
        return [(text, (text == "yes") ^ (answer[0] == 1)) for text in texts]

    def counted(answer: list[int], trials: int, rng: Rng) -> list[tuple[Any, int]]:
        return [(output, int(work)) for output, work in release(answer, trials, rng)]

    pairs = (NeighbouringPair([0], [1], None),)
    findings = found(Target.dataset(counted, claim=JOINT, pairs=pairs), 500)
    assert refuting(findings) == {"work", "black_box"}
    assert all("the output alone did not refute it" in finding.reason for finding in findings if finding.refutes)


def test_a_claim_on_outputs_alone_is_not_accused_by_reported_work() -> None:
    def release(answer: int, trials: int, rng: Rng) -> np.ndarray:
        return records(answer + noise(trials, rng), np.full(trials, abs(answer)))

    target = Target.noise(release, epsilon=1.0, domain=WHOLE)
    findings = found(target, 1_000)
    assert not refuting(findings)
    assert not errors(findings)
    (of_work,) = [finding for finding in findings if finding.attack == "work"]
    assert of_work.verdict is Verdict.NOT_APPLICABLE
    assert "the claim says nothing of the work of an output" in of_work.reason
    assert "--covers work" in of_work.reason
    covering = found(target.covering_work(), 1_000)
    assert refuting(covering) == {"work", "black_box"}


def test_outputs_that_break_the_claim_by_themselves_are_said_to() -> None:
    def release(answer: int, trials: int, _: Rng) -> list[tuple[float, int]]:
        return [(float(answer), 5) for _ in range(trials)]

    findings = found(Target.noise(release, claim=JOINT), 500)
    shown = [finding for finding in findings if finding.refutes]
    assert {"special_values", "work", "black_box"} <= refuting(findings)
    assert all("; the output alone shows it" in finding.reason for finding in shown)
    assert all("did not refute" not in finding.reason for finding in shown)


@pytest.mark.parametrize("raises", [True, False])
def test_failures_are_outputs_beside_work(raises: bool) -> None:
    """One trial in two raises, or gives NaN, for one of the inputs."""

    def release(answer: int, trials: int, rng: Rng) -> list[tuple[float, int]]:
        fails = (rng.random(trials) < 0.5) & (answer == 1)
        if raises and fails.any():
            raise ArithmeticError
        return [(float("nan") if failed else 1.0, 3) for failed in fails]

    bits = Domain(integers=True, bounds=(0, 1))
    findings = found(Target.noise(release, claim=JOINT, domain=bits), 500, [Work(), BlackBox()])
    assert "black_box" in refuting(findings)
    assert not errors(findings)


def test_a_target_that_does_not_report_work_has_findings_as_before_and_one_more() -> None:
    target = Target.noise(lambda answer, trials, rng: answer + rng.laplace(0.0, 1.0, trials), epsilon=1.0, name="l")
    before = audit(target, [attack for attack in ATTACKS if attack.name != "work"], trials=500, seed=3)
    after = audit(target, trials=500, seed=3)

    def told(findings: list[Finding]) -> list[Any]:
        return [finding.to_json() | {"seconds": 0} for finding in findings if finding.attack != "work"]

    assert told(before) == told(after)
    assert len(after) == len(before) + 1


def test_covering_work_keeps_all_but_the_claim() -> None:
    pair = NeighbouringPair(3, 4, None)
    plain = Target.noise(
        lambda answer, trials, rng: [int(answer) + int(n) for n in noise(trials, rng)],
        claim=GaussianDP(0.5),
        sensitivity=1.0,
        domain=WHOLE,
        pairs=(pair,),
        name="plain",
    )
    covering = plain.covering_work()
    assert covering.claim == OutputAndWork(GaussianDP(0.5))
    assert covering.covering_work() is covering
    assert (covering.name, covering.kind, covering.pairs) == ("plain", Kind.NOISE, (pair,))
    assert covering.domain == plain.domain
    alone = covering.without_work()
    assert (alone.claim, alone.release) == (plain.claim, plain.release)
    assert plain.without_work() is plain
    drawn = covering.outputs(3, 40, np.random.default_rng(1))
    assert drawn["output"].tolist() == plain.without_work().release(3, 1, np.random.default_rng(1)) + [
        int(value) for value in drawn["output"][1:]
    ]
    assert (drawn["work"] >= 64).all()


def test_a_sampler_has_the_bits_counted_that_it_takes_and_keeps_it_for_proofs() -> None:
    def sampler(answer: int, bits: Any) -> int:
        return answer + int(bits.call(two_sided_geometric, Fraction(1, 2)))

    def release(answer: int, trials: int, rng: Rng) -> list[int]:
        return [sampler(answer, SeededBits(rng)) for _ in range(trials)]

    covering = Target.noise(release, epsilon=1.0).exact(sampler).covering_work()
    outputs = covering.outputs(0, 300, np.random.default_rng(0))
    assert (outputs["work"] >= np.abs(outputs["output"]) + 2).all()
    assert covering.sampler is sampler


def test_a_release_that_draws_elsewhere_must_report_its_work() -> None:
    silent = Target.noise(one_by_one(lambda answer: answer), epsilon=1.0, name="silent").covering_work()
    with pytest.raises(TargetError, match="silent: its draws are not seen from here, so only it can count its work"):
        silent.outputs(0.0, 2, np.random.default_rng(0))
    named = one_by_one(lambda answer: {"output": answer, "work": 4})
    telling = Target.noise(named, epsilon=1.0).covering_work()
    assert telling.outputs(0.0, 2, np.random.default_rng(0))["work"].tolist() == [4, 4]


@pytest.mark.parametrize("kind", [Target.dataset, Target.noise])
def test_a_pair_is_an_output_and_its_work_only_if_the_target_says_so(kind: Any) -> None:
    """By name, or by its claim; and a list of two is an output of a dataset, and no number."""

    def release(_: Any, trials: int, rng: Rng) -> list[tuple[int, int]]:
        return [(1, int(rng.integers(5))) for _ in range(trials)]

    def named(input_: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
        return [{"output": output, "work": work} for output, work in release(input_, trials, rng)]

    pairs, expected = (NeighbouringPair(0, 1, None),), [work for _, work in release(0, 3, np.random.default_rng(0))]
    for target in (kind(release, claim=JOINT, pairs=pairs), kind(named, epsilon=1.0, pairs=pairs).covering_work()):
        outputs = target.outputs(0, 3, np.random.default_rng(0))
        assert outputs["output"].tolist() == [1, 1, 1]
        assert outputs["work"].tolist() == expected
        assert {finding.work for finding in found(target, 200, [Work()])} == {"reported by the target"}
    silent = kind(release, epsilon=1.0, pairs=pairs).covering_work()
    with pytest.raises(TargetError, match=r"the pair \(1, 4\), and nothing says that this is an output and its work"):
        silent.outputs(0, 3, np.random.default_rng(0))

    def listed(input_: Any, trials: int, rng: Rng) -> list[list[int]]:
        return [list(pair) for pair in release(input_, trials, rng)]

    lists = kind(listed, epsilon=1.0, pairs=pairs).covering_work()
    if kind == Target.noise:
        with pytest.raises(TargetError, match=r"the pair \[1, 4\], and nothing says"):
            lists.outputs(0, 3, np.random.default_rng(0))
    else:
        assert {len(output) for output in lists.outputs(0, 3, np.random.default_rng(0))["output"]} == {2}
        assert {finding.work for finding in found(lists, 200, [Work()])} == {"random bits, counted by the lab"}


def test_an_error_says_nothing_of_where_work_came_from() -> None:
    target = Target.noise(lambda answer, trials, rng: answer + rng.random(trials), claim=JOINT, name="silent")
    findings = found(target, 200, [Work()])
    assert {(finding.verdict, finding.work) for finding in findings} == {(Verdict.ERROR, "")}
    assert "no work" in findings[0].reason


@dataclass(frozen=True)
class ByHalfLine(OfKinds, kinds=set(Kind)):
    """Somebody's own attack, which looks at work and bets on nothing else."""

    name: str = "half_line"
    flaw: str = "long work"
    sees_work: bool = True

    def scenarios(self, target: Target, probe: Probe) -> list[Scenario]:
        assert probe(0, 3).dtype.names == ("output", "work")
        assert target.claim == JOINT
        return [Scenario(NeighbouringPair(1, 0, None), (Event("long", lambda records: records["work"] > 30),))]


def test_an_attack_of_ones_own_may_look_at_work_and_says_nothing_of_the_output_alone() -> None:
    (finding,) = found(twin(BROKEN["work is a function of the data"]), 500, [ByHalfLine()])
    assert finding.verdict is Verdict.VIOLATED
    assert "output alone" not in finding.reason


def test_the_largest_epsilon_of_output_and_work_is_found_together() -> None:
    (first, *_) = audit(twin(BROKEN["work is a function of the data"]), trials=4_000, seed=3, maximise_epsilon=True)
    assert first.refutes
    assert first.epsilon_lower is not None
    assert first.epsilon_lower > 3


def test_a_replay_of_a_claim_that_covers_work_compares_outputs() -> None:
    def release(answer: float, trials: int, rng: Rng) -> np.ndarray:
        return np.asarray(answer + rng.laplace(0.0, 1.0, trials))

    pair = NeighbouringPair(0.0, 1.0, None)
    (plain,) = replay(Target.noise(release, epsilon=1.0, pairs=(pair,), name="plain"))
    (covering,) = replay(Target.noise(release, epsilon=1.0, pairs=(pair,), name="plain").covering_work())
    assert (covering.verdict, covering.reason) == (plain.verdict, plain.reason)


def test_the_same_seed_gives_the_same_findings_of_output_and_work() -> None:
    target = naive_geometric().covering_work()
    first, second = (
        [finding.to_json() | {"seconds": 0} for finding in audit(target, [Work()], trials=300, seed=8)]
        for _ in range(2)
    )
    assert first == second


def test_work_that_only_one_pair_shows_is_found_on_the_pair_that_is_declared() -> None:
    pair = NeighbouringPair(700, 701, None)
    target = twin(lambda answers, _, rng: rng.integers(0, 4, len(answers)) + 9 * (answers == 701), pairs=(pair,))
    assert found(target, 500, [Work()])[0].verdict is Verdict.VIOLATED
    assert not refuting(found(replace(target, pairs=()), 500, [Work()]))


@pytest.mark.parametrize(
    "other",
    [np.random.default_rng(5), random.Random(5), random],
    ids=["another generator", "an object of random", "the module random"],
)
def test_a_release_that_draws_elsewhere_is_an_error_and_no_constant_work(other: Any) -> None:
    def release(answer: int, trials: int, rng: Rng) -> list[int]:  # noqa: ARG001
        return [int(answer) + sum(other.random() < 0.5 for _ in range(8)) for _ in range(trials)]

    findings = found(Target.noise(release, epsilon=9.0, domain=WHOLE).covering_work(), attacks=[Work()])
    assert [finding.verdict for finding in findings] == [Verdict.ERROR]
    assert "took no bits of the generator that it was given" in findings[0].reason


DERIVED: dict[str, Callable[[Rng], Any]] = {
    "spawned": lambda rng: rng.spawn(1)[0],
    "spawned from its bits": lambda rng: np.random.Generator(rng.bit_generator.spawn(1)[0]),
    "spawned from its seeds": lambda rng: default_rng(rng.bit_generator.seed_seq.spawn(1)[0]),  # type: ignore[attr-defined]
    "jumped": lambda rng: np.random.Generator(rng.bit_generator.jumped()),  # type: ignore[attr-defined]
    "copied": copy.deepcopy,
    "seeded by a word": lambda rng: default_rng(int(rng.integers(1 << 62))),
    "another kind, seeded": lambda rng: np.random.RandomState(int(rng.integers(1 << 31))),
    "of random, seeded": lambda rng: random.Random(int(rng.integers(1 << 62))),
}


@pytest.mark.parametrize("derived", DERIVED.values(), ids=list(DERIVED))
@pytest.mark.parametrize("draws_first", [False, True])
def test_bits_of_a_generator_derived_from_the_one_given_cannot_be_counted(derived: Any, draws_first: bool) -> None:
    """As many as the noise is large, for one word of the generator that the release was given, or none."""

    def release(answer: int, trials: int, rng: Rng) -> list[int]:
        first = rng.random() if draws_first else 0.0
        child, noise = derived(rng), 0
        while child.random() < 0.5:
            noise += 1
        return [int(answer) + noise + (first > 1)] * trials

    findings = found(Target.noise(release, epsilon=9.0, domain=WHOLE).covering_work(), 100, attacks=[Work()])
    assert [finding.verdict for finding in findings] == [Verdict.ERROR]
    assert "the bits of that one cannot be counted" in findings[0].reason


def test_a_sampler_that_seeds_a_generator_with_its_bits_is_an_error_too() -> None:
    def sampler(answer: int, bits: Any) -> int:
        return int(answer) + int(default_rng(bits.take(60)).geometric(0.5))

    target = Target.noise(lambda answer, trials, rng: answer + noise(trials, rng), epsilon=1.0).exact(sampler)
    with pytest.raises(TargetError, match=r"makes a generator \(numpy.random\) while it draws"):
        target.covering_work().outputs(0, 3, np.random.default_rng(0))


def test_generators_that_are_there_already_and_work_that_is_reported_need_no_counting() -> None:
    def release(answer: int, trials: int, rng: Rng) -> np.ndarray:
        return records(np.full(trials, answer), rng.spawn(1)[0].integers(1, 9, trials))

    drawn = Target.noise(release, epsilon=1.0).covering_work().outputs(3, 5, np.random.default_rng(1))
    assert (drawn["work"] >= 1).all()
    assert type(random.Random(1)) is random.Random
    assert default_rng(1).random() == default_rng(1).random()


def of_bit(answer: int, bits: Any) -> int:
    """The answer, 0 or 1, or else the other one with probability 1/4."""
    return int(answer) ^ (bits.take(2) == 0)


def test_reported_work_is_judged_though_there_is_a_sampler_and_no_proof_counts_other_work() -> None:
    def release(answer: int, trials: int, rng: Rng) -> list[dict[str, int]]:
        bits = SeededBits(rng)
        return [{"output": of_bit(answer, bits), "work": 10 + 5 * int(answer)} for _ in range(trials)]

    plain = Target.noise(release, epsilon=1.1, domain=Domain(integers=True, bounds=(0, 1)))
    claimed = replace(plain, claim=OutputAndWork(plain.claim))
    for target in (plain.exact(of_bit).covering_work(), claimed.exact(of_bit)):
        assert refuting(found(target)) >= {"work"}
        with pytest.raises(UsageError, match="reports its work, and a proof counts the random bits"):
            prove(target, NeighbouringPair(0, 1, None))
