"""False alarms at the claim's edge: whole default audits of sound targets that spend all of what they claim.

Few trials and a large α make many audits affordable: an audit accuses such a target with probability α at the most,
whatever α is. Counts are kept in files of `bench/data`, a line a chunk of audits, so that a run may be interrupted;
they count again only while the code that decides is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.findings import Finding
from attacklab.model.targets import Target
from attacklab.reporting.sources import digests
from bench.detection import SPECIMENS, Specimen

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "bench" / "data"

ALPHA = 0.05
TRIALS = 500
AUDITS = 10_000
CHUNK = 20
CONFIDENCE = 0.95
"""The confidence of the bounds on the rate of false alarms."""

NAMES = (
    "two_answers",
    "of_seven_answers",
    "noise_of_five",
    "binary32_of_integer",
    "uniform_of_many",
    "truth_or_response",
    "integer_sum",
    "response_on_the_best",
    "full_histogram",
    "sum_as_json",
    "fresh_answers",
    "site_by_response",
)
"""Sound specimens with a pair and an event at which the claim is an equation, but for rounding in its last digits."""


@dataclass(frozen=True)
class Edge:
    """Sound targets that spend all of their claim.

    Attributes:
        specimens: the targets.
        alpha: of each of their audits.
        path: where the counts of those audits are kept.
        trials: of each audit; None for as many as a default audit draws, which follow cost and evidence.
    """

    specimens: tuple[Specimen, ...]
    alpha: float
    path: Path
    trials: int | None = TRIALS

    @property
    def names(self) -> tuple[str, ...]:
        """What the targets are called."""
        return tuple(specimen.name for specimen in self.specimens)


EDGE = Edge(
    tuple(specimen for name in NAMES for specimen in SPECIMENS if specimen.name == name),
    ALPHA,
    DATA / "edge_alarms.jsonl",
)
"""Claims on outputs alone."""

MANY = Edge(EDGE.specimens, ALPHA, DATA / "many_trials_alarms.jsonl", trials=None)
"""The same targets, with all the trials that evidence warrants."""

Alarms: TypeAlias = Mapping[str, list[str]]
"""The attacks that accused a target, by the seed of the audit, for those audits in which some did."""


@dataclass(frozen=True)
class Rate:
    """How often one target was accused.

    Attributes:
        target: its name.
        audits: how many there were.
        alarms: those in which some attack accused it.
    """

    target: str
    audits: int
    alarms: Alarms

    def to_json(self) -> dict[str, Any]:
        """Its counts, with the rate between its bounds."""
        lower, upper = clopper_pearson(len(self.alarms), self.audits, 1 - CONFIDENCE)
        rate = [float(lower), len(self.alarms) / self.audits, float(upper)]
        return {"target": self.target, "audits": self.audits, "alarms": self.alarms, "rate": rate}


def accusers(findings: list[Finding]) -> list[str]:
    """The attacks that refuted a claim, each once."""
    return list(dict.fromkeys(finding.attack for finding in findings if finding.refutes))


def audited(target: Target, seeds: range, alpha: float = ALPHA, trials: int | None = TRIALS) -> Alarms:
    """The alarms of one audit by all attacks a seed."""
    accused = {str(seed): accusers(audit(target, trials=trials, alpha=alpha, seed=seed)) for seed in seeds}
    return {seed: attacks for seed, attacks in accused.items() if attacks}


def digest() -> str:
    """A digest of the code that decides and of the specimens, whatever docstrings and comments say."""
    return "-".join(digests(ROOT, __name__).values())


class Journal:
    """The chunks of audits that have been done with the present code.

    Args:
        path: where they are kept; by default where `edge` says.
        chunk: how many audits to do before they are kept.
        edge: the targets.
    """

    def __init__(self, path: Path | None = None, chunk: int = CHUNK, edge: Edge = EDGE) -> None:
        self._path = path or edge.path
        self._edge = edge
        self._chunk = chunk
        self._digest = digest()

    def rates(self) -> list[Rate]:
        """What is known of each target, in their order."""
        known: dict[str, tuple[int, dict[str, list[str]]]] = {}
        for chunk in self._chunks():
            audits, alarms = known.get(chunk["target"], (0, {}))
            if chunk["first"] == audits:  # a chunk that two runs did at once counts once
                known[chunk["target"]] = (audits + chunk["audits"], {**alarms, **chunk["alarms"]})
        return [Rate(name, *known[name]) for name in self._edge.names if name in known]

    def extend(self, audits: int, say: Callable[[str], object]) -> None:
        """Audit all targets in turn until there are so many audits together, a chunk at a time.

        Args:
            audits: how many there shall be, the known ones among them.
            say: is told after each chunk how many there are.
        """
        done = dict.fromkeys(self._edge.names, 0) | {rate.target: rate.audits for rate in self.rates()}
        while sum(done.values()) < audits:
            name = min(done, key=done.__getitem__)
            target = self._edge.specimens[self._edge.names.index(name)].make()
            first = done[name]
            alarms = audited(target, range(first, first + self._chunk), self._edge.alpha, self._edge.trials)
            self._keep({"target": name, "first": first, "audits": self._chunk, "alarms": alarms})
            done[name] += self._chunk
            say(f"{sum(done.values())} of {audits} audits")

    def _chunks(self) -> Iterator[dict[str, Any]]:
        if not self._path.is_file():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                chunk = json.loads(line)
            except ValueError:  # the last line of a run that was interrupted
                continue
            if chunk["digest"] == self._digest:
                yield chunk

    def _keep(self, chunk: dict[str, Any]) -> None:
        line = json.dumps({"digest": self._digest, **chunk})
        whole = not self._path.is_file() or self._path.read_bytes().endswith(b"\n")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(("" if whole else "\n") + line + "\n")
