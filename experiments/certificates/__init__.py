"""Writing the certificate of every exact target to reports/proofs, and having each checked.

`python -m experiments.certificates`, which `make prove` runs, writes them with a record of what the checker said, a
record of the times, and the pages that show both. The certificates and the first record depend on the sources alone.
"""

from __future__ import annotations

import ast
import json
import multiprocessing
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from attacklab.laws.proof.certificates import TABLES, finding_of, require_same_claim, run_checker, write_certificate
from attacklab.model.errors import UsageError
from attacklab.model.files import write_whole
from attacklab.model.findings import CERTIFICATE, SCHEMA, Certificate, Finding, Verdict, to_text
from attacklab.reporting.experiment import DATA, load_experiments, measured_here, replace_findings
from attacklab.reporting.pages import write_index
from attacklab.reporting.proofs import PROOFS, RECORD, TIMES
from experiments import matrix, targets

ROOT = Path(__file__).resolve().parents[2]
CHECKER, READ = ROOT / "checker" / "check.py", ROOT / "checker" / "readings.json"
PROCESSES = 2
SECONDS = 600.0
"""The timeout of the checker, in seconds."""

NAMES = tuple(name for name in targets.__all__ if name.startswith("exact_"))
"""The targets that have a certificate."""


@dataclass(frozen=True)
class Written:
    """A certificate that was written and checked.

    Attributes:
        finding: the finding with the checker's verdict.
        tables: the files of the certificate's tables.
        write_seconds: how long writing took, tables included.
        check_seconds: how long the checker ran, start and imports included.
    """

    finding: Finding
    tables: tuple[Path, ...]
    write_seconds: float
    check_seconds: float


def write_one(folder: Path, name: str) -> Written:
    """Write the certificate of one target and have it checked.

    Raises:
        UsageError: the target has none, or it does not state what the target claims.
    """
    path, target = folder / f"{name}.json", getattr(targets, name)()
    if target.certificate is None:
        raise UsageError(f"{name} has no certificate; make its target from a term")
    began = time.perf_counter()
    certificate = target.certificate()
    require_same_claim(target, certificate)
    tables = write_certificate(certificate, path)
    written = time.perf_counter()
    answer = run_checker(path, CHECKER, seconds=SECONDS)
    checked = time.perf_counter()
    finding = finding_of(target, certificate["relation"], path, answer, 0.0, f"experiments.targets:{name} --all")
    if isinstance(finding.evidence, Certificate):
        finding = replace(finding, evidence=replace(finding.evidence, file=path.name))
    return Written(finding, tuple(tables), written - began, checked - written)


def write_all(reports: Path, names: Iterable[str] = NAMES) -> Sequence[Written]:
    """Write the certificates of some targets, of all by default, and the records of what the checker said.

    Other certificates and tables are removed, so that the folder has only those in the records.
    """
    folder = reports / PROOFS
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        written = list(pool.map(partial(write_one, folder), sorted(names)))
    kept = {path for result in written for path in (folder / f"{result.finding.target}.json", *result.tables)}
    for path in {*folder.glob("*.json"), *(folder / TABLES).glob("*.json")} - kept:
        path.unlink()
    write_whole(folder / RECORD, to_text(_record(written)))
    write_whole(folder / TIMES, to_text(_times(written)))
    return written


def _record(written: Sequence[Written]) -> dict[str, Any]:
    findings = [result.finding for result in written]
    read = {
        name for finding in findings if isinstance(finding.evidence, Certificate) for name in finding.evidence.readings
    }
    return {
        "schema": SCHEMA,
        "findings": [finding.to_json() for finding in findings],
        "lemmas": {name: _summary(name) for name in sorted(read)},
    }


def _summary(name: str) -> str:
    """Return the first paragraph of the docstring of the module `name`, which must be listed in `READ`."""
    places = (f"mechanisms/core/{name}.py", f"mechanisms/{name}.py")
    path = next(path for path in places if path in json.loads(READ.read_bytes()))
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_bytes())) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def _times(written: Sequence[Written]) -> dict[str, Any]:
    times = [
        {
            "mechanism": result.finding.target,
            "write_seconds": round(result.write_seconds, 2),
            "check_seconds": round(result.check_seconds, 2),
        }
        for result in written
    ]
    return {"schema": SCHEMA, "environment": measured_here(), "findings": [], "times": times}


def main(reports: Path) -> int:
    """Write all certificates and the pages that show them; return 0 if each was accepted, else 1."""
    written = write_all(reports)
    for result in written:
        finding = result.finding
        print(f"{finding.verdict:<12} {finding.target} ({result.write_seconds:.1f} + {result.check_seconds:.1f} s)")
        if finding.verdict is not Verdict.PROVED:
            print(f"             {finding.reason}")
    if (reports / DATA / "matrix.json").is_file():
        shown = [result.finding for result in written if result.finding.target in matrix.NAMES]
        replace_findings(load_experiments(ROOT)["matrix"], reports, CERTIFICATE, shown)
    size = sum(path.stat().st_size for path in (reports / PROOFS).rglob("*.json"))
    print(f"written: {write_index(reports, ROOT)}; the certificates, tables and records have {size / 1e6:.1f} MB")
    return int(any(result.finding.verdict is not Verdict.PROVED for result in written))
