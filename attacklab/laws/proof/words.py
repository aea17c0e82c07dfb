"""The words and figures in which the finding of a proof shows what two laws say about a claim."""

from __future__ import annotations

import math
from typing import Any

from attacklab.laws.decide import Closeness, Decision, Need, Ruling
from attacklab.laws.divergences import advantage
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.law import Law, total
from attacklab.laws.outcomes import with_python_numbers
from attacklab.model.findings import EXACT_LAW, Estimate, Finding, Laws, Verdict, lower_text, upper_text
from attacklab.model.targets import Kind, Target

OTHER_PROOFS = {
    Kind.NOISE: "for all shifts of its noise",
    Kind.SELECTION: "from how far a utility moves each weight",
    Kind.SUM: "from how far a record moves the sum, and for all shifts of its noise,",
    Kind.MEAN: "from how far a record moves the mean, and for all shifts of its noise,",
    Kind.DATASET: "from how far a record moves what is released",
}
"""The proof, for each kind, that would decide a claim which enumeration leaves open."""


def finding_of(target: Target, proved: str, spec: str | None, verdict: Verdict, reason: str, **rest: Any) -> Finding:
    """Return the finding of a proof by exact laws.

    It is replayed by `attacklab prove SPEC` if `spec` is given, otherwise by `prove(TARGET, PROVED)`.
    """
    replay = f"attacklab prove {spec}" if spec else f"prove({target.name}, {proved})"
    return Finding.on(target, EXACT_LAW, verdict, reason, replay=replay, spec=spec or "", **rest)


def otherwise(target: Target) -> str:
    """Say what to do if enumeration leaves a claim open."""
    wanted = f"enumeration did not decide the claim; a proof {OTHER_PROOFS[target.kind]} would decide it"
    if target.certificate is not None:
        return f"{wanted}: --all writes a certificate and has it checked"
    return f"{wanted}, but this target has no certificate; audit it instead"


def verdict_of(ruling: Ruling) -> Verdict:
    """Return the verdict that follows from a ruling on two laws."""
    if ruling.decision is Decision.REFUTED:
        return Verdict.VIOLATED
    is_kept = ruling.decision is Decision.PROVED or ruling.kept_with_slack
    return Verdict.PROVED if is_kept else Verdict.INCONCLUSIVE


def reason_of(ruling: Ruling, first: Law, second: Law) -> str:
    """Return the reason of a finding: how many outcomes the laws have, and the ε and δ (or the ε, μ or ρ) they need."""
    is_closed = first.closed and second.closed
    laws = f"{'closed ' if is_closed else ''}laws of {len(first)} and {len(second)} outcomes"
    if not is_closed:
        laws += f", {float(max(first.unresolved, second.unresolved)):.2g} of the probability not found"
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


def _point_needed(certificate: Closeness, *, is_closed: bool) -> str:
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


def evidence_of(target: Target, ruling: Ruling, first: Law, second: Law) -> Laws:
    """Return the figures that two laws show: the advantage, bounds on ε and δ, and an event that refutes the claim."""
    distance, certificate = advantage(first, second), ruling.certificate
    is_refuted = ruling.decision is Decision.REFUTED
    return Laws(
        **(_shown_event(ruling, first, second) if is_refuted and ruling.event else {}),
        judged_at=None if ruling.point == target.claim else ruling.point,
        event=_described_event(ruling, first, second) if is_refuted else "",
        advantage=Estimate(float(distance.lower), float_below(distance.lower), float_above(distance.upper)),
        ceiling=target.claim.ceiling,
        epsilon_lower=certificate.epsilon_bounds[0] if certificate else None,
        delta_lower=float_below(certificate.delta_bounds.lower) if certificate else None,
        digests=(first.digest(), second.digest()),
        slack=ruling.decision is not Decision.PROVED and ruling.kept_with_slack,
    )


MOST_WRITTEN = 16
"""The most outcomes of an event that is written as a line of Python."""


def _shown_event(ruling: Ruling, first: Law, second: Law) -> dict[str, Any]:
    """Return the probabilities of the event and, if it has few outcomes, the line of Python that decides it."""
    rates = [
        (float_below(total(law.mass(outcome) for outcome in ruling.event)), law.unresolved) for law in (first, second)
    ]
    known = [Estimate(rate, rate, min(1.0, float_above(rate + open_))) for rate, open_ in rates]
    fields: dict[str, Any] = {"first": known[0], "second": known[1]}
    if len(ruling.event) > MOST_WRITTEN:
        return fields
    texts = sorted({repr(with_python_numbers(outcome)) for outcome in ruling.event})
    return fields | {"code": f"repr(output.item() if isinstance(output, np.generic) else output) in {texts!r}"}


def _described_event(ruling: Ruling, first: Law, second: Law) -> str:
    """Return the outcomes of the event as text, the likeliest first."""
    likelier = second if ruling.reverse else first
    outcomes = sorted(ruling.event, key=lambda outcome: (-likelier.mass(outcome), str(outcome)))
    if not outcomes:
        return ""
    shown = ", ".join([*(str(with_python_numbers(outcome)) for outcome in outcomes[:8]), *["…"][: len(outcomes) > 8]])
    return f"{'second' if ruling.reverse else 'first'} input likelier than allowed: {shown}"
