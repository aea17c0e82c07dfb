"""The ε that a black-box search proves of the mechanisms on which StatDP and DP-Sniper were measured."""

from __future__ import annotations

import math
import time
from typing import Any

from attacklab.auditing.attacks.black_box import BlackBox
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from bench.common import PARAGRAPHS
from bench.common.peer_mechanisms import CLAIM, PEERS, Peer
from experiments.common.curves import figure, line, marks, panel

QUESTION = (
    "How much of the ε that published mechanisms lose does a black-box search prove, beside DP-Sniper and StatDP?"
)

ALPHA = 0.1
"""The peers state their bounds with 90 % confidence."""

PUBLISHED_TRIALS = 200_000_000
"""The outputs of each input from which the peers' bounds were computed."""

LEARNING = 1 << 15
"""What an audit would learn events from; to prove the largest ε, several times as many are."""

TRIALS = 1_000_000


def collect(settings: Settings) -> Collected:
    """Audit every mechanism, aiming at the largest ε that can be proved."""
    trials = settings.budget(TRIALS, 50_000)
    attack = BlackBox(learning=settings.budget(LEARNING, 1 << 13), kept=2)
    findings: list[Finding] = []
    rows, seconds = [], []
    for peer in PEERS:
        started = time.perf_counter()
        proved = audit(peer.target(), [attack], trials=trials, alpha=ALPHA, seed=settings.seed, maximise_epsilon=True)
        seconds.append(time.perf_counter() - started)
        findings += proved
        rows.append(_row(peer, proved))
    measured = {"rows": rows, "trials": trials, "learning": attack.proving_within(trials).learning}
    return Collected(findings, measured, {"seconds": seconds})


def _row(peer: Peer, findings: list[Finding]) -> dict[str, Any]:
    return {
        "mechanism": peer.name,
        "true": None if math.isinf(peer.epsilon) else peer.epsilon,
        "published": peer.published,
        "statdp": peer.statdp,
        "ours": max(finding.epsilon_lower or 0.0 for finding in findings),
        "refuted": any(finding.verdict is Verdict.VIOLATED for finding in findings),
    }


def figures(data: dict[str, Any]) -> list[Figure]:
    """Each mechanism's bounds beside the ε that it really keeps."""
    rows = data["measured"]["rows"][::-1]

    def bounds(label: str, key: str, role: Role) -> Series:
        points = [(row[key], float(place)) for place, row in enumerate(rows) if row[key]]
        return marks(label, role, *zip(*points, strict=True))

    series = [
        bounds("proved here", "ours", Role.NAIVE),
        bounds("DP-Sniper", "published", Role.OTHER),
        bounds("really kept", "true", Role.EXACT),
        line("claim", Role.CEILING, [CLAIM] * 2, [-0.6, len(rows) - 0.4]),
    ]
    names, title = [row["mechanism"] for row in rows], f"mechanisms that claim ε = {CLAIM:g}"
    caption = "The ε that is proved of the peers' benchmark. Where no triangle is, the mechanism keeps no ε at all."
    return [figure("peers", caption, [panel(title, "ε", "", series, x_scale="log", y_names=names)])]


def explain(data: dict[str, Any]) -> str:
    """Count where the bounds are ahead, and name where they are behind."""
    measured = data["measured"]
    rows = measured["rows"]
    behind = [
        f"{row['mechanism']} ({row['ours']:.3f} against {row['published']:.3f})"
        for row in rows
        if row["ours"] < row["published"]
    ]
    broken = [row for row in rows if row["true"] is None or row["true"] > CLAIM * (1 + 1e-9)]
    sound = [row for row in rows if row not in broken]
    over = [
        f"{row['ours']:.4f} for {row['mechanism']}, which loses {row['true']:.4f}"
        for row in rows
        if row["true"] is not None and row["ours"] > row["true"]
    ]
    return PARAGRAPHS["peers"].format(
        claim=CLAIM,
        confidence=1 - ALPHA,
        trials=measured["trials"],
        learning=measured["learning"],
        published=PUBLISHED_TRIALS,
        statdp=", ".join(f"{row['statdp']:.3f} of {row['mechanism']}" for row in rows if row["statdp"]),
        ahead=len(rows) - len(behind),
        all=len(rows),
        behind=f"; behind: {', '.join(behind)}" if behind else "",
        broken=len(broken),
        refuted=sum(row["refuted"] for row in broken),
        sound=len(sound),
        accused=sum(row["refuted"] for row in sound) or "none",
        over=f"here {'; '.join(over)}" if over else "none is here",
        most=math.log(measured["trials"] / math.log(1 / ALPHA)),
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say how long it took."""
    seconds = data["timings"]["seconds"]
    return f"The whole benchmark took {sum(seconds):,.0f} s, one mechanism {min(seconds):.0f} to {max(seconds):.0f} s."
