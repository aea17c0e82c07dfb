"""Deciding a claim on a neighbouring pair by the exact output laws of the implementation.

Both laws come from running the target's sampler on every sequence of random bits. Where they close, everything said is
exact. Where they do not (an output that can be any integer, say), at most 2^−62 of the mass is left open: what is
refuted is the claim itself, and what is proved may be the claim with `SLACK` added to δ only: that verdict is
PROVED_WITH_SLACK. For a claim of another kind than (ε, δ) it means `SLACK` added to each δ of its privacy profile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.auditing.attacks.base import constant
from attacklab.laws import (
    Certificate,
    Deadline,
    Decision,
    Law,
    Limits,
    Need,
    OutOfTime,
    Progress,
    Ruling,
    advantage,
    closed_law,
    enumerate_law,
    judge,
    sampling_check,
)
from attacklab.laws.decide import MOST_EPSILON
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.errors import SamplerFailed
from attacklab.laws.fresh_process import require_agreement
from attacklab.laws.has_law import HasLaw
from attacklab.laws.law import total
from attacklab.laws.outcomes import with_python_numbers
from attacklab.model.claims import Claim, PrivacyClaim, Profile
from attacklab.model.errors import OutsideDomain, TargetError, UsageError
from attacklab.model.findings import (
    EXACT_LAW,
    Estimate,
    EventCode,
    Finding,
    Scope,
    Verdict,
    described_pair,
    lower_text,
    upper_text,
)
from attacklab.model.floats import default_errors
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.random_bits import TapedBits
from attacklab.model.targets import Kind, Sampler, Target

SLACK = Fraction(1, 1 << 58)
"""Added to δ where a law does not close: 3.5e-18."""

LIMITS = Limits(unresolved=Fraction(1, 1 << 62))
CLOSING_RUNS = 512
"""How many runs are spent on seeing whether a law closes."""

SECONDS = 60.0
"""The default timeout of a command or a test, over all its pairs, in seconds."""

LEFT_OPEN = Fraction(99, 100)
"""If more of the first law than this is left open, the second is not sought."""

OTHER_PROOFS = {
    Kind.NOISE: "for all shifts of its noise",
    Kind.SELECTION: "from how far a utility moves each weight",
    Kind.SUM: "from how far a record moves the sum, and for all shifts of its noise,",
    Kind.MEAN: "from how far a record moves the mean, and for all shifts of its noise,",
    Kind.DATASET: "from how far a record moves what is released",
}
"""Kind → the proof that would decide a claim which enumeration leaves open."""


def laws_of(
    target: Target,
    pair: NeighbouringPair,
    *,
    limits: Limits = LIMITS,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Law, Law]:
    """The exact output laws of a target on a pair.

    Raises:
        ValueError: the target has no sampler.
        LawError: the sampler cannot be enumerated; the message says why.
    """
    first, second = (law_of(target, input_, limits, progress) for input_ in (pair.first, pair.second))
    return first, second


def sampler_of(target: Target) -> Sampler:
    """The sampler of a target.

    Raises:
        UsageError: it has none.
    """
    if target.sampler is None:
        raise UsageError(
            f"{target.name} has no sampler, so its law cannot be found; "
            "write a sampler(input, bits) that draws from bits alone (docs/how_to/proving.md), or audit it instead"
        )
    return target.sampler


def law_of(target: Target, input_: Any, limits: Limits, progress: Callable[[Progress], None] | None) -> Law:
    """The closed law if a few runs close it, for then a claim is proved with nothing added to δ; else the enclosure."""
    if isinstance(target.sampler, HasLaw):
        return target.sampler.law(input_, limits=limits, progress=progress)
    sampler = partial(sampler_of(target), input_)
    few = replace(limits, runs=min(limits.runs, CLOSING_RUNS))
    law = closed_law(sampler, limits=few, progress=progress)
    return enumerate_law(sampler, limits=limits, progress=progress) if law is None else law


@default_errors
def prove_pair(
    target: Target,
    pair: NeighbouringPair,
    *,
    limits: Limits = LIMITS,
    seconds: float = math.inf,
    progress: Callable[[str], None] | None = None,
    spec: str | None = None,
) -> Finding:
    """Decide a target's claim on one pair.

    Args:
        target: one that has a sampler.
        pair: the two inputs.
        limits: when to stop enumerating.
        seconds: when to stop whatever is being done; see `attacklab.laws.deadline` for what that can end.
        progress: called at the start and now and then with a line that says how far the proof has come.
        spec: the words after `attacklab prove` that repeat this, for the line that replays the finding.

    Returns:
        PROVED, PROVED_WITH_SLACK, VIOLATED, or INCONCLUSIVE where the limits or the time left too much of a law open.

    Raises:
        ValueError: the target has no sampler, claims nothing of such a pair, or claims an ε above 2^20.
        LawError: the sampler cannot be enumerated; the message says why.
    """
    _require_provable(target, pair)
    started = time.perf_counter()
    deadline = Deadline(seconds)
    watch = Watch(deadline, progress)
    try:
        decided = deadline.run(partial(_decided, target, pair, limits, watch))
    except OutOfTime as late:
        advice = late.stuck or f"allow more time; {otherwise(target)}"
        if late.stuck and isinstance(target.sampler, HasLaw):
            advice = "the program was asked to go on and wrote nothing; make sure that it flushes each line, and ends"
        reason = f"{seconds:.3g} s were not enough (reached: {watch.line}); {advice}"
        decided = {"verdict": Verdict.INCONCLUSIVE, "reason": reason}
    finding = _finding(target, pair, spec, **decided)
    return replace(finding, seconds=time.perf_counter() - started)


@default_errors
def prove_all(
    target: Target,
    pairs: Sequence[NeighbouringPair] | None = None,
    *,
    limits: Limits = LIMITS,
    seconds: float = SECONDS,
    progress: Callable[[str], None] | None = None,
    spec: str | None = None,
) -> list[Finding]:
    """Decide a target's claim on each of some pairs.

    Args:
        target: one that has a sampler.
        pairs: the pairs; those that the target declares by default, and where it declares none, `default_pair`.
        limits: when to stop enumerating.
        seconds: how long all of it may take; each pair gets an even share of what the pairs before it left.
        progress: as for `prove`.
        spec: as for `prove`.

    Returns:
        A finding for each pair; a sampler that cannot be enumerated is an ERROR, whose reason says why.

    Raises:
        ValueError: as for `prove`; before anything is proved.
    """
    chosen = tuple(pairs or target.pairs) or (default_pair(target),)
    for pair in chosen:
        _require_provable(target, pair)
    deadline, findings = Deadline(seconds), []
    for number, pair in enumerate(chosen):
        share = deadline.left / (len(chosen) - number)
        shown = progress and partial(_numbered, progress, number, len(chosen))
        try:
            finding = prove_pair(target, pair, limits=limits, seconds=share, progress=shown, spec=spec)
        except TargetError as error:
            finding = _finding(target, pair, spec, verdict=Verdict.ERROR, reason=str(error))
        findings.append(finding)
    return findings


def _numbered(progress: Callable[[str], None], number: int, pairs: int, line: str) -> None:
    progress(f"pair {number + 1} of {pairs}, {line}" if pairs > 1 else line)


@dataclass
class Watch:
    """How far a proof has come."""

    deadline: Deadline
    progress: Callable[[str], None] | None
    line: str = ""

    def begin(self, line: str) -> Callable[[Progress], None]:
        """Report the next step; return the function that reports the progress of its search."""
        self._say(line)

        def at(reached: Progress) -> None:
            self._say(
                f"{line}, now of {reached.name}: {reached.runs:,} runs, {reached.laws:,} laws of called samplers, "
                f"{reached.tapes:,} runs waiting, {reached.unresolved:.2g} of the mass open"
            )

        return at

    def _say(self, line: str) -> None:
        self.line = line
        if self.progress is not None:
            self.progress(line)
        self.deadline.check()


def _decided(target: Target, pair: NeighbouringPair, limits: Limits, watch: Watch) -> dict[str, Any]:
    """The fields of a finding apart from the target, the pair and the time that it took."""
    first = _sought("first", target, pair.first, limits, watch)
    too_open = first.unresolved > LEFT_OPEN
    # The second law, whatever it is, would then decide nothing.
    second = Law({}) if too_open else _sought("second", target, pair.second, limits, watch)
    laws = first, second
    if target.numpy_as_python:
        first, second = first.map(with_python_numbers), second.map(with_python_numbers)
    watch.begin(f"judging laws of {len(first)} and {len(second)} outcomes")
    ruling = judge(target.claim, first, second, slack=SLACK)
    verdict = verdict_of(ruling)
    reason = _too_open(first) if too_open else reason_of(ruling, first, second)
    if verdict is not Verdict.INCONCLUSIVE and not isinstance(target.sampler, HasLaw):
        reason += f"; {_confirmed(target, pair, laws, watch)}"
    if verdict is Verdict.PROVED_WITH_SLACK:
        reason += "; the claim holds with 2^−58 added to δ"
    elif verdict is Verdict.INCONCLUSIVE:
        obstacle = first.obstacle or second.obstacle
        reason += f"; {obstacle}" if obstacle else ""
        reason += f"; {otherwise(target)}"
    if len(first) == len(second) == 1 and _draws_nothing(target, pair):
        reason += "; the sampler drew no random bits"
    elif first.closed and len(first) == 1 and first == second:
        reason += f"; every run gives {next(iter(first))!r}, so check that the sampler returns what it drew"
    return {"verdict": verdict, "reason": reason, **figures_of(target, ruling, first, second)}


def figures_of(target: Target, ruling: Ruling, first: Law, second: Law) -> dict[str, Any]:
    """The fields of a finding that say in figures what two laws show."""
    distance, certificate = advantage(first, second), ruling.certificate
    is_refuted = ruling.decision is Decision.REFUTED
    return {
        **(_shown_event(target, ruling, first, second) if is_refuted and ruling.event else {}),
        "judged_at": None if ruling.point == target.claim else ruling.point,
        "event": _described_event(ruling, first, second) if is_refuted else "",
        "advantage": Estimate(float(distance.lower), float_below(distance.lower), float_above(distance.upper)),
        "epsilon_lower": certificate.epsilon_bounds[0] if certificate else None,
        "delta_lower": float_below(certificate.delta_bounds.lower) if certificate else None,
        "laws": (first.digest(), second.digest()),
    }


def _sought(side: str, target: Target, input_: Any, limits: Limits, watch: Watch) -> Law:
    """The law of one input; a failure of the sampler says on which."""
    try:
        return law_of(target, input_, limits, watch.begin(f"the law of the {side} input"))
    except SamplerFailed as error:
        raise SamplerFailed(f"on the {side} input, {error}") from error.__cause__


def _too_open(first: Law) -> str:
    return (
        f"law of {len(first)} outcomes on the first input, {float(first.unresolved):.2g} of the mass left open, "
        "so the second law was not sought"
    )


def _confirmed(target: Target, pair: NeighbouringPair, laws: tuple[Law, Law], watch: Watch) -> str:
    """Compare both laws with plain runs in another process; say how many runs there were."""
    sampler, counts = sampler_of(target), []
    for side, input_, law in zip(("first", "second"), (pair.first, pair.second), laws, strict=True):
        watch.begin(f"plain runs of the {side} input, in another process")
        seconds = min(sampling_check.SECONDS, watch.deadline.left / 4)
        counts.append(require_agreement(law, sampler, input_, seconds=seconds))
    return f"{counts[0]:,} and {counts[1]:,} plain runs agree"


def _finding(target: Target, pair: NeighbouringPair, spec: str | None, **rest: Any) -> Finding:
    return finding_of(target, "pair", spec, pair=described_pair(pair), scope=Scope(), **rest)


def finding_of(target: Target, proved: str, spec: str | None, **rest: Any) -> Finding:
    """The finding of a proof by exact laws.

    Args:
        target: what was proved.
        proved: the argument of `prove` that says for which inputs.
        spec: the words after `attacklab prove` that repeat this.
        **rest: the fields that the laws decide.
    """
    return Finding(
        target=target.name,
        target_version=target.version,
        attack=EXACT_LAW,
        claim=target.claim,
        relation=target.relation,
        ceiling=target.claim.ceiling,
        replay=f"attacklab prove {spec}" if spec else f"prove({target.name}, {proved})",
        **{**rest, "code": named(rest.get("code"), spec)},
    )


def otherwise(target: Target) -> str:
    """What to do where enumeration leaves a claim open."""
    wanted = f"enumeration left the claim open; a proof {OTHER_PROOFS[target.kind]} would decide it"
    if target.certificate is not None:
        return f"{wanted}: --all writes a certificate and has it checked"
    return f"{wanted}, but this target brings no certificate; audit it instead"


def _draws_nothing(target: Target, pair: NeighbouringPair) -> bool:
    """Whether the sampler returns without drawing a bit, on both inputs."""
    try:
        for input_ in (pair.first, pair.second):
            sampler_of(target)(input_, TapedBits(0, 0))
    except Exception:  # TapeEnded, or whatever the sampler makes of it
        return False
    return True


def _require_provable(target: Target, pair: NeighbouringPair) -> None:
    sampler_of(target)
    if not target.covers(pair):
        if target.relation is not None and pair.relation not in (None, target.relation):
            reason = f"its claim is for {target.relation} neighbours, and the pair is one by {pair.relation}"
        else:
            reason = "the pair lies outside its domain"
        raise UsageError(f"{target.name} claims nothing of this pair: {reason}; give another pair")
    require_small_epsilons(target.claim)


def require_small_epsilons(claim: Claim) -> None:
    """Refuse a claim whose ε is too large to be decided.

    Raises:
        UsageError: it is.
    """
    epsilons = claim.points if isinstance(claim, (PrivacyClaim, Profile)) else ()
    if max(epsilons, default=0.0) > MOST_EPSILON:
        raise UsageError(
            f"a claim must have an epsilon of at most 2^20 to be proved, not {max(epsilons)}; claim a smaller one"
        )


def default_pair(target: Target) -> NeighbouringPair:
    """The first pair that a target declares, or else a small one as far apart as its kind and its domain allow.

    Raises:
        UsageError: no pair can be made up for it: a dataset can be anything, or its domain holds no such pair.
    """
    if target.pairs:
        return target.pairs[0]
    try:
        return target.adapted(_apart(target))
    except OutsideDomain as error:
        raise UsageError(f"{error}; give a pair") from error


def _apart(target: Target) -> NeighbouringPair:
    step = target.sensitivity
    if target.kind is Kind.NOISE:
        return NeighbouringPair.answers(0.0, step, sensitivity=step)
    if target.kind is Kind.SELECTION:
        return NeighbouringPair.utilities([step, 0.0, 0.0], [0.0, step, step], sensitivity=step)
    if target.bounds is not None:
        lower, upper = target.bounds
        if target.relation is Relation.SUBSTITUTE:
            return NeighbouringPair.records([lower], [upper], Relation.SUBSTITUTE)
        return NeighbouringPair.records([lower], [lower, upper], Relation.ADD_REMOVE)
    raise UsageError(f"a {target.kind} target needs a pair of its own; give --first and --second, or declare its pairs")


def verdict_of(ruling: Ruling) -> Verdict:
    """The verdict that a ruling on two laws comes to."""
    if ruling.decision is Decision.REFUTED:
        return Verdict.VIOLATED
    if ruling.decision is Decision.PROVED:
        return Verdict.PROVED
    return Verdict.PROVED_WITH_SLACK if ruling.kept_with_slack else Verdict.INCONCLUSIVE


def reason_of(ruling: Ruling, first: Law, second: Law) -> str:
    """What two laws need, in words."""
    is_closed = first.closed and second.closed
    laws = f"{'closed ' if is_closed else ''}laws of {len(first)} and {len(second)} outcomes"
    if not is_closed:
        laws += f", {float(max(first.unresolved, second.unresolved)):.2g} of the mass left open"
    if ruling.certificate is not None:
        return f"{laws}: {_point_needed(ruling.certificate, is_closed=is_closed)}"
    if ruling.need is None:
        return laws
    return f"{laws}{'' if is_closed else ','} {_needed(ruling.need)}; claimed {ruling.need.claimed:g}"


def _needed(need: Need) -> str:
    if math.isinf(need.lower):
        return f"need more than any finite {need.symbol}"
    at = f" (by order α = {need.order:.10g})" if need.order is not None else ""
    return f"need {need.symbol} ≥ {lower_text(need.lower, 4)}{at}"


def _point_needed(certificate: Certificate, *, is_closed: bool) -> str:
    least, most = certificate.epsilon_bounds
    at_delta = f" at δ = {certificate.delta:g}" if certificate.delta else ""
    delta = upper_text(float_above(certificate.delta_bounds.upper))
    if is_closed:
        needed = "no finite ε" if math.isinf(most) else f"ε = {most:.12g}"
        return f"they need {needed}{at_delta}, and δ({certificate.epsilon:g}) = {delta}"
    return (
        f"outcomes known on both sides need ε ≥ {lower_text(least, 12)}{at_delta}, "
        f"and δ({certificate.epsilon:g}) ≤ {delta}"
    )


MOST_WRITTEN = 1 << 14
"""An event of more outcomes is not written as source."""


def _shown_event(target: Target, ruling: Ruling, first: Law, second: Law) -> dict[str, Any]:
    """The probabilities of the event, and its source where it is a set of not too many outcomes of a Python sampler."""
    rates = [
        (float_below(total(law.mass(outcome) for outcome in ruling.event)), law.unresolved) for law in (first, second)
    ]
    known = [Estimate(rate, rate, min(1.0, float_above(rate + open_))) for rate, open_ in rates]
    fields: dict[str, Any] = {"first": known[0], "second": known[1]}
    if len(ruling.event) > MOST_WRITTEN or isinstance(target.sampler, HasLaw):
        return fields
    texts = sorted({repr(with_python_numbers(outcome)) for outcome in ruling.event})
    source = f"{constant('OUTCOMES', map(repr, texts))}\n\n{_OF_OUTCOMES}"
    return fields | {"code": EventCode(source=source)}


_OF_OUTCOMES = '''
def event(output):
    """E: the output is one of these outcomes, whose exact probabilities break the claim."""
    return repr(output.item() if isinstance(output, np.generic) else output) in OUTCOMES
'''.lstrip()


def named(code: EventCode | None, spec: str | None) -> EventCode | None:
    """An event's source with the words that load its target; None where there are none."""
    return None if code is None or spec is None else replace(code, target=spec)


def _described_event(ruling: Ruling, first: Law, second: Law) -> str:
    """The outcomes of the event, the likeliest first."""
    likelier = second if ruling.reverse else first
    outcomes = sorted(ruling.event, key=lambda outcome: (-likelier.mass(outcome), str(outcome)))
    if not outcomes:
        return ""
    shown = ", ".join(str(with_python_numbers(outcome)) for outcome in outcomes[:8]) + (
        ", …" if len(outcomes) > 8 else ""
    )
    return f"{'second' if ruling.reverse else 'first'} input likelier than allowed: {shown}"
