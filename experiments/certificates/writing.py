"""Writing the certificates of the lab's exact targets, and having each checked in a process of its own.

`python -m experiments.certificates`, which `make prove` runs, writes them to `reports/proofs`, with a record of what
the checker said, a record of the times, and the pages that show both. The certificates and the first record depend on
the sources alone.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from checker.lemmas import LEMMAS

from attacklab.certificates import Draft
from attacklab.claims import PrivacyClaim, ZeroConcentrated
from attacklab.files import write_whole
from attacklab.findings import CERTIFICATE, SCHEMA, Finding, Reach, Scope, Verdict, to_text
from attacklab.laws.enclosures import float_above
from attacklab.proof.certificates import Answer, finding_of, require_draft, run_checker, write_certificate
from attacklab.reporting.experiment import DATA, load_experiments, measured_here, replace_findings
from attacklab.reporting.pages import write_index
from attacklab.reporting.proofs import PROOFS, RECORD, TIMES
from attacklab.targets import Target
from experiments import matrix, targets
from experiments.certificates import DRAFTS
from experiments.certificates.committed import ROOT

CHECKER = ROOT / "checker" / "check.py"
PROCESSES = 2
SECONDS = 600.0
"""After so long a checker is ended."""


@dataclass(frozen=True)
class Written:
    """A certificate that was written and checked.

    Attributes:
        finding: what the checker said of it.
        write_seconds: how long it took to write, its evidence included.
        check_seconds: how long the checker ran, start and imports included.
    """

    finding: Finding
    write_seconds: float
    check_seconds: float


def write_one(folder: Path, name: str) -> Written:
    """Write the certificate of one target and have it checked."""
    path = folder / f"{name}.json"
    began = time.perf_counter()
    draft = DRAFTS[name]()
    target = getattr(targets, name)() if name in targets.__all__ else _of_no_target(name, draft)
    if target.draft is not None:
        require_draft(target, draft)
    write_certificate(name, draft, path)
    written = time.perf_counter()
    answer: Answer = run_checker(path, CHECKER, seconds=SECONDS)
    checked = time.perf_counter()
    spec = f"experiments.targets:{name} --all"
    finding = finding_of(target, draft.neighbours, path, answer, 0.0, spec)
    if finding.certificate is not None:
        finding = replace(finding, certificate=replace(finding.certificate, file=path.name))
    if name.startswith("small_"):
        finding = replace(finding, scope=Scope(Reach.INPUTS, neighbours=draft.neighbours))
    return Written(finding, written - began, checked - written)


def _of_no_target(name: str, draft: Draft) -> Target:
    """Return what a certificate speaks of that is not of one of the lab's targets."""
    claimed = {name: float_above(Fraction(number)) for name, number in draft.claim.items() if name != "kind"}
    claim = ZeroConcentrated(**claimed) if draft.claim["kind"] == "zcdp" else PrivacyClaim(**claimed)
    return Target.dataset(next(iter(draft.functions.values())), claim=claim, name=name)


def write_all(reports: Path, names: Iterable[str] = DRAFTS) -> Sequence[Written]:
    """Write the certificates of some targets, of all by default, and the records of what the checker said.

    Certificates of other targets are removed, so that the folder holds what the records speak of.
    """
    folder, chosen = reports / PROOFS, sorted(names)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.json"):
        if path.stem not in chosen:
            path.unlink()
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        written = list(pool.map(partial(write_one, folder), chosen))
    write_whole(folder / RECORD, to_text(_record(written)))
    write_whole(folder / TIMES, to_text(_times(written)))
    return written


def _record(written: Sequence[Written]) -> dict[str, Any]:
    findings = [one.finding.to_json() for one in written]
    for finding in findings:
        del finding["seconds"]
    used = {lemma for one in written if one.finding.certificate for lemma in one.finding.certificate.lemmas}
    lemmas = {name: statement for name, statement in LEMMAS.items() if name in used}
    return {"schema": SCHEMA, "findings": findings, "lemmas": lemmas}


def _times(written: Sequence[Written]) -> dict[str, Any]:
    times = [
        {
            "mechanism": one.finding.target,
            "write_seconds": round(one.write_seconds, 2),
            "check_seconds": round(one.check_seconds, 2),
        }
        for one in written
    ]
    return {"schema": SCHEMA, "environment": measured_here(), "findings": [], "times": times}


def main(reports: Path) -> int:
    """Write all certificates and the pages that show them; return 0 if each was accepted, else 1."""
    written = write_all(reports)
    for one in written:
        print(f"{one.finding.verdict:<12} {one.finding.target} ({one.write_seconds:.1f} + {one.check_seconds:.1f} s)")
        if one.finding.verdict is not Verdict.PROVED:
            print(f"             {one.finding.reason}")
    if (reports / DATA / "matrix.json").is_file():
        shown = [one.finding for one in written if one.finding.target in matrix.NAMES]
        replace_findings(load_experiments(ROOT)["matrix"], reports, CERTIFICATE, shown)
    print(f"written: {write_index(reports)}")
    return int(any(one.finding.verdict is not Verdict.PROVED for one in written))
