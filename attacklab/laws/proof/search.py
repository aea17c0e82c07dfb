"""Finds the laws of some inputs, and decides a claim on pairs of these inputs.

Each input's law is found once, by running the target's sampler on every sequence of random bits, and each pair is
judged by two of them. The worst pair is shown. Laws that decide are compared with plain runs in another process.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from attacklab.draws.errors import NeverEnds, SamplerFailed
from attacklab.laws import Law, Limits, enumerate_law, sampling_check
from attacklab.laws.deadline import Deadline, OutOfTime
from attacklab.laws.decide import Decision, Ruling, judge
from attacklab.laws.fresh_process import require_agreement
from attacklab.laws.proof.words import evidence_of, finding_of, otherwise, reason_of, verdict_of
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.findings import Finding, Scope, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Sampler, Target

SLACK = Fraction(1, 1 << 58)
"""Added to δ where a law does not close: 3.5e-18."""

LIMITS = Limits(unresolved=Fraction(1, 1 << 62))
CLOSING_RUNS = 512
"""How many runs are spent on seeing whether a law closes."""

FEWEST_RUNS = 1_000
"""The fewest plain runs of each input, however many inputs there are, unless `sampling_check.RUNS` is smaller."""

ASSUMPTION = "assumed: the sampler is a function of its input and its draws, in this configuration"
"""What a proof by exact laws takes for granted; `attacklab.laws.names` looks for honest mistakes alone."""

WORST_FIRST = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.PROVED)

Places: TypeAlias = tuple[int, int, Relation | None]
"""The indices of two inputs, and the relation between them."""


def sampler_of(target: Target) -> Sampler:
    """Return the sampler of a target; raise a UsageError if it has none."""
    if target.sampler is None:
        raise UsageError(
            f"{target.name} has no sampler, so its law cannot be found; "
            "write a sampler(input, bits) that draws from bits alone (docs/how_to/proving.md), or audit it instead"
        )
    return target.sampler


def closed_or_open_law(
    sampler: Callable[..., Any], limits: Limits, progress: Callable[[str], None] | None = None, is_replayed: bool = True
) -> Law:
    """Return the closed law if a few runs close it, so that nothing need be added to δ; otherwise a law left open."""
    few = replace(limits, unresolved=Fraction(0), runs=min(limits.runs, CLOSING_RUNS))
    with contextlib.suppress(NeverEnds):
        if enumerate_law(sampler, limits=few, progress=progress, is_replayed=False).closed:
            limits = few
    return enumerate_law(sampler, limits=limits, progress=progress, is_replayed=is_replayed)


@dataclass
class Search:
    """The search for the worst of some pairs.

    Attributes:
        is_one_pair: whether the inputs are the two of one pair, rather than a domain.
        line: the latest line that says how far the proof has come.
        found_in: how many seconds the laws took.
    """

    target: Target
    inputs: Sequence[Any]
    pairs: Sequence[Places]
    limits: Limits
    seconds: float
    progress: Callable[[str], None] | None
    is_one_pair: bool = False
    line: str = ""
    found_in: float = 0.0

    def finding(self, scope: Scope, spec: str | None) -> Finding:
        """Judge all pairs and return the finding. If the sampler fails, raise for a single pair, else give an ERROR."""
        started = time.perf_counter()
        self._deadline = Deadline(self.seconds)
        try:
            fields = self._deadline.run(self._decided)
        except OutOfTime as late:
            fields = {"verdict": Verdict.INCONCLUSIVE, "reason": self._late(late)}
        except TargetError as error:
            if self.is_one_pair:
                raise
            fields = {"verdict": Verdict.ERROR, "reason": str(error)}
        if self.is_one_pair:
            fields["pair"] = self._described(self.pairs[0])
        proved = "pair" if self.is_one_pair else "inputs=inputs"
        return finding_of(self.target, proved, spec, scope=scope, seconds=time.perf_counter() - started, **fields)

    def _decided(self) -> dict[str, Any]:
        """Find the laws, judge all pairs and return the fields of the finding."""
        laws = self._laws()
        worst, counts = self._worst(laws)
        first, second = (laws[place] for place in worst.places[:2])
        verdict = verdict_of(worst.ruling)
        of_all = f"the worst of {counts.total():,} pairs: " if counts.total() > 1 else ""
        reason = f"{of_all}{reason_of(worst.ruling, first, second)}"
        if verdict is not Verdict.INCONCLUSIVE:
            reason += f"; {self._confirmed(laws)} plain runs agree"
        reason += self._conclusion(worst, counts, laws)
        if verdict is Verdict.PROVED:
            reason += f"; {ASSUMPTION}"
        if first.closed and len(first) == 1 and first == second:
            reason += f"; every run gives {next(iter(first))!r}, so check that the sampler returns what it drew"
        fields = {"verdict": verdict, "reason": reason, "pair": self._described(worst.places)}
        return fields | {"evidence": evidence_of(self.target, worst.ruling, first, second)}

    def _laws(self) -> list[Law]:
        """Find and return the law of each input. If the sampler fails, the error message names the input."""
        laws: list[Law] = []
        for number, input_ in enumerate(self.inputs):
            began, sampler = time.perf_counter(), partial(sampler_of(self.target), input_)
            try:
                laws.append(closed_or_open_law(sampler, self.limits, self._begin(f"the law of {self._name(number)}")))
                self.found_in += time.perf_counter() - began
            except SamplerFailed as error:
                where = self._name(number) if self.is_one_pair else f"input {input_!r}"
                raise SamplerFailed(f"on {where}, {error}") from error.__cause__
        return laws

    def _worst(self, laws: Sequence[Law]) -> tuple[_Judged, Counter[Verdict]]:
        """Judge every pair; return the worst one, and the number of pairs for each verdict."""
        judged: list[_Judged] = []
        for number, places in enumerate(self.pairs):
            first, second = laws[places[0]], laws[places[1]]
            if number % 64 == 0:
                self._begin(f"judging laws of {len(first)} and {len(second)} outcomes")
            judged.append(_Judged(places, judge(self.target.claim, first, second, slack=SLACK)))
        return max(judged, key=lambda pair: pair.weight), Counter(verdict_of(pair.ruling) for pair in judged)

    def _conclusion(self, worst: _Judged, counts: Counter[Verdict], laws: Sequence[Law]) -> str:
        verdict = verdict_of(worst.ruling)
        of_all = f"; {counts[verdict]:,} of {counts.total():,} pairs"
        if verdict is Verdict.PROVED:
            return "" if worst.ruling.decision is Decision.PROVED else "; the claim holds with 2^−58 added to δ"
        if verdict is Verdict.VIOLATED:
            return "" if self.is_one_pair else f"{of_all} refute the claim"
        obstacle = next((laws[place].obstacle for place in worst.places[:2] if laws[place].obstacle), "")
        left_open = "" if self.is_one_pair else f"{of_all} are not decided"
        if 2 * max(laws[place].unresolved for place in worst.places[:2]) > 1:
            left_open += "; too many paths to follow: compare the integer of bits.take(n) with an integer, not a float"
        return f"{f'; {obstacle}' if obstacle else ''}{left_open}; {otherwise(self.target)}"

    def _confirmed(self, laws: Sequence[Law]) -> str:
        """Find the laws anew and compare them with plain runs, in other processes; say how many runs there were."""
        runs = sampling_check.RUNS
        if not self.is_one_pair:
            runs = max(runs // len(laws), min(runs, FEWEST_RUNS))
        self._begin("plain runs and the laws once more, in other processes")
        counts = require_agreement(
            laws,
            sampler_of(self.target),
            self.inputs,
            partial(closed_or_open_law, limits=self.limits, is_replayed=False),
            found_in=self.found_in,
            runs=runs,
            seconds=min(sampling_check.SECONDS, self._deadline.left / 2 / len(laws)),
        )
        return " and ".join(f"{count:,}" for count in (counts if self.is_one_pair else [sum(counts)]))

    def _late(self, late: OutOfTime) -> str:
        fewer = "" if self.is_one_pair else " or give fewer inputs"
        ends = f"the sampler was still running at {late.where}: make sure that it ends, or " if late.where else ""
        reached = f"{self.seconds:.3g} s were not enough (reached: {self.line}); {ends}allow more time{fewer}"
        return f"{reached}; {otherwise(self.target)}"

    def _name(self, number: int) -> str:
        if self.is_one_pair:
            return f"the {('first', 'second')[number]} input"
        return f"input {number + 1} of {len(self.inputs)}"

    def _described(self, places: Places) -> dict[str, Any]:
        return described_pair(NeighbouringPair(self.inputs[places[0]], self.inputs[places[1]], places[2]))

    def _begin(self, line: str) -> Callable[[str], None]:
        """Report the next step; return the function that reports the progress of its search."""
        self._say(line)
        return lambda reached: self._say(f"{line}, now of {reached}")

    def _say(self, line: str) -> None:
        self.line = line
        if self.progress is not None:
            self.progress(line)
        self._deadline.check()


@dataclass(frozen=True)
class _Judged:
    """A pair, and what its laws say about the claim."""

    places: Places
    ruling: Ruling

    @property
    def weight(self) -> tuple[Any, ...]:
        """A key that is larger for a worse pair: first the verdict, then the parameter or the ε and δ that it needs."""
        ruling = self.ruling
        gravity = -WORST_FIRST.index(verdict_of(ruling)), ruling.decision is not Decision.PROVED
        if ruling.need is not None:
            return gravity, ruling.need.lower / ruling.need.claimed
        if ruling.certificate is not None:
            return gravity, ruling.certificate.epsilon_bounds[0], ruling.certificate.delta_bounds.lower
        return gravity, 0.0
