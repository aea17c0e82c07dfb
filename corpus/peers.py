"""The ε that black-box methods prove of the mechanisms on which StatDP and DP-Sniper were measured, at equal samples.

The audit finds a pair, learns events and judges one. Everything it draws is recorded, and DP-Sniper's method is given
the same outputs of the pair that it bet on: the judging ones are the last that were drawn, and all before are for
learning. So it is spared the search for a pair, and neither method has a luckier sample than the other.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from attacklab.attacks.black_box import BlackBox
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from corpus.common import PARAGRAPHS
from corpus.common.peer_mechanisms import CLAIM, PEERS, Peer
from corpus.common.peer_methods import METHODS, Recorder
from experiments.common.curves import figure, line, marks, panel

QUESTION = (
    "How much of the ε that published mechanisms lose do black-box methods prove from the same outputs: ours and "
    "DP-Sniper's?"
)

ALPHA = 0.1
"""The peers state their bounds with 90 % confidence."""

PUBLISHED_TRIALS = 200_000_000
"""The outputs of each input from which the published bounds were computed."""

LEARNING = 1 << 15
"""The outputs that an audit learns events from; it uses several times as many to prove the largest ε."""

TRIALS, MORE_TRIALS = 1_000_000, 10_000_000
OF_MORE = ("Laplace", "TruncatedGeometric")
"""The mechanisms that are measured on more outputs too: their outputs are one number, so that all fit in memory."""

METHOD_STREAM = 30
"""The key that gives the methods a random stream of their own, apart from the outputs' stream."""

OURS = "ours"


def collect(settings: Settings) -> Collected:
    """Audit every mechanism, aiming at the largest ε that can be proved, and give its outputs to all other methods."""
    attack = BlackBox(learning=settings.budget(LEARNING, 1 << 13), kept=2)
    sizes = [(peer, settings.budget(TRIALS, 50_000)) for peer in PEERS]
    sizes += [(peer, settings.budget(MORE_TRIALS, 100_000)) for peer in PEERS if peer.name in OF_MORE]
    compared = [_compared(peer, attack, trials, settings.seed) for peer, trials in sizes]
    rows = [row for _, row in compared]
    return Collected([finding for proved, _ in compared for finding in proved], {"rows": rows, "trials": sizes[0][1]})


def _compared(peer: Peer, attack: BlackBox, trials: int, seed: int) -> tuple[list[Finding], dict[str, Any]]:
    """Audit a mechanism. Return the findings, and a row with the ε that each method proves from the same outputs."""
    recorder = Recorder(peer.release)
    target = replace(peer, release=recorder).target()
    proved = audit(target, [attack], trials=trials, alpha=ALPHA, seed=seed, maximise_epsilon=True)
    bounds = {OURS: max(finding.shown.epsilon_lower or 0.0 for finding in proved)}
    drawn = recorder.drawn(trials)
    for name, method in METHODS.items():
        bounds[name] = method(drawn, ALPHA, np.random.default_rng([seed, METHOD_STREAM]))
    row = {
        "mechanism": peer.name,
        "trials": trials,
        "learning": len(drawn.learning[0]),
        "true": None if math.isinf(peer.epsilon) else peer.epsilon,
        "published": peer.published,
        "statdp": peer.statdp,
        "bounds": bounds,
        "refuted": any(finding.verdict is Verdict.VIOLATED for finding in proved),
    }
    return proved, row


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw each mechanism's bounds beside the ε that it really keeps."""
    rows = _rows(data)[::-1]

    def bounds(label: str, role: Role, values: list[float | None]) -> Series:
        points = [(value, float(place)) for place, value in enumerate(values) if value]
        return marks(label, role, *zip(*points, strict=True))

    series = [
        bounds("ours", Role.NAIVE, [row["bounds"][OURS] for row in rows]),
        bounds("DP-Sniper's method", Role.OTHER, [row["bounds"]["DP-Sniper"] for row in rows]),
        bounds("really kept", Role.EXACT, [row["true"] for row in rows]),
        line("claim", Role.CEILING, [CLAIM] * 2, [-0.6, len(rows) - 0.4]),
    ]
    names, title = [row["mechanism"] for row in rows], f"mechanisms that claim ε = {CLAIM:g}"
    caption = "The ε that is proved from the same outputs. Where no triangle is, the mechanism keeps no ε at all."
    return [figure("peers", caption, [panel(title, "ε", "", series, x_scale="log", y_names=names)])]


def explain(data: dict[str, Any]) -> str:
    """Count where our bounds are ahead of each method's, name where they are behind, and give all in a table."""
    rows, measured = _rows(data), data["measured"]
    broken = [row for row in rows if row["true"] is None or row["true"] > CLAIM * (1 + 1e-9)]
    finite, learning = [row for row in rows if row["true"] is not None], [row["learning"] for row in rows]
    refuted = sum(row["refuted"] for row in broken)
    paragraph = PARAGRAPHS["peers"].format(
        claim=CLAIM,
        confidence=1 - ALPHA,
        trials=measured["trials"],
        least=min(learning),
        most=max(learning),
        published=PUBLISHED_TRIALS,
        ahead="; ".join(_ahead(rows, name) for name in METHODS),
        broken=len(broken),
        refuted=refuted,
        sound=len(rows) - len(broken),
        accused=sum(row["refuted"] for row in rows) - refuted or "none",
        finite=len(finite),
        over=", ".join(
            f"{sum(row['bounds'][name] > row['true'] for row in finite)} of {name}" for name in (OURS, *METHODS)
        ),
        largest=math.log(measured["trials"] / math.log(1 / ALPHA)),
    )
    return f"{paragraph}\n\n{_table(measured['rows'])}"


def _rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of all mechanisms at the same number of outputs."""
    measured = data["measured"]
    return [row for row in measured["rows"] if row["trials"] == measured["trials"]]


def _ahead(rows: list[dict[str, Any]], method: str) -> str:
    behind = [row for row in rows if row["bounds"][OURS] < row["bounds"][method]]
    bounds = ((row["mechanism"], row["bounds"][OURS], row["bounds"][method]) for row in behind)
    named = ", ".join(f"{mechanism} {ours:.4f} against {theirs:.4f}" for mechanism, ours, theirs in bounds)
    at_least = f"at least that of {method} on {len(rows) - len(behind)} of {len(rows)}"
    return f"{at_least} (behind: {named})" if behind else at_least


def _table(rows: list[dict[str, Any]]) -> str:
    head = ["mechanism", "outputs", OURS, *METHODS, "ε lost", "DP-Sniper as published", "StatDP as published"]
    body = [
        [
            row["mechanism"],
            f"{row['trials']:,}",
            *(f"{row['bounds'][name]:.4f}" for name in (OURS, *METHODS)),
            "∞" if row["true"] is None else f"{row['true']:.4f}",
            f"{row['published']:.4f}",
            f"{row['statdp']:.4f}" if row["statdp"] else "",
        ]
        for row in rows
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
