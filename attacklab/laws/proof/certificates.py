"""Proving a claim for every pair of neighbours, by a certificate that a checker in a process of its own accepts.

The checker is a program beside the project that is proved: `python checker/check.py FILE`. What it says is taken as it
stands, and nothing but its acceptance proves a claim. Before it is asked, the certificate's claim and neighbours are
compared with those of the target: a certificate of something else proves nothing of the target. Whatever else a
certificate holds is the checker's business alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from attacklab.laws.deadline import Deadline, OutOfTime
from attacklab.laws.proof.pairs import SECONDS
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.errors import UsageError, passes_through
from attacklab.model.files import require_writable, write_whole
from attacklab.model.findings import CERTIFICATE, Certificate, Finding, Reach, Scope, Verdict
from attacklab.model.targets import Kind, Target, described, in_one_line

CHECKER = Path("checker", "check.py")
ACCEPTED = re.compile(r"ACCEPTED +\S+: (?P<statement>.+)\n +checked (?P<checked>.+); readings (?P<readings>.+)\n?")
REFUSED = re.compile(r"REFUSED +\S+: (?P<reason>.+)")
NOT_IN_A_NAME = re.compile(r"[^\w.-]")
"""Matches a character that is replaced by _ in file names."""

TABLES = "tables"
"""The folder of tables beside the certificates, each in a file called by its SHA-256."""

NEIGHBOURS = {Kind.NOISE: "answers", Kind.SELECTION: "utilities"}
"""What a certificate states as its `relation` for these kinds; for all others it names relations between datasets."""

RECORDS = {"add-remove", "substitute"}
"""The relations that the claim of a sum or a mean covers if it names none."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The checker's answer on a certificate. The last three fields are empty unless it accepted the certificate."""

    verdict: Verdict
    reason: str
    statement: str = ""
    readings: tuple[str, ...] = ()
    checked: str = ""


def find_checker(folder: Path) -> Path:
    """Find the checker of a project: `checker/check.py` in a folder or the nearest one above it.

    Raises:
        UsageError: there is none.
    """
    for place in (folder, *folder.parents):
        if (place / CHECKER).is_file():
            return place / CHECKER
    raise UsageError(f"there is no {CHECKER} in {folder} or above it; run it in a clone of this repository")


def prove_every_pair(
    target: Target,
    *,
    checker: Path,
    folder: Path,
    seconds: float = SECONDS,
    progress: Callable[[str], None] | None = None,
    spec: str | None = None,
) -> Finding:
    """Write the certificate of a target and have it checked.

    Args:
        target: a target with a certificate.
        checker: the program that checks it.
        folder: where the certificate is written, as NAME.json, with its tables in the folder `tables` beside it.
        seconds: how long making and checking the certificate may take together.
        progress: as for `prove`.
        spec: as for `prove`.

    Returns:
        PROVED if the checker accepts the certificate; INCONCLUSIVE if it refuses it or the time is up; ERROR if the
        certificate could not be made or the checker failed.

    Raises:
        UsageError: the target has no certificate, or its certificate states something else than the target claims; or
            writing it would overwrite a file that is not a certificate.
    """
    make = target.certificate
    if make is None:
        raise UsageError(
            f"{target.name} has no certificate for every pair of neighbours; add one by "
            "Target.certified(certificate) (docs/how_to/proving.md), or leave --all out and prove single pairs"
        )
    began = time.perf_counter()
    deadline = Deadline(seconds)
    say = progress or (lambda _: None)
    say("the certificate and its tables")
    path = folder / f"{NOT_IN_A_NAME.sub('_', target.name)}.json"
    require_writable(path)
    try:
        certificate = deadline.run(make)
        require_same_claim(target, certificate)
        write_certificate(certificate, path)
    except UsageError:
        raise
    except BaseException as error:  # whatever makes the certificate raises
        if passes_through(error):
            raise
        verdict, reason = Verdict.ERROR, f"making the certificate raised {in_one_line(error)}; fix what makes it"
        if isinstance(error, OutOfTime):
            verdict = Verdict.INCONCLUSIVE
            reason = f"{seconds:.3g} s were not enough to make the certificate; allow more by --seconds"
        answer = Answer(verdict=verdict, reason=reason)
        return finding_of(target, "", None, answer, time.perf_counter() - began, spec)
    say("the checker, in a process of its own")
    answer = run_checker(path, checker, seconds=deadline.left)
    return finding_of(target, certificate["relation"], path, answer, time.perf_counter() - began, spec)


def write_certificate(certificate: Mapping[str, Any], path: Path) -> list[Path]:
    """Write a certificate in one line, and each of its tables to a file named by its SHA-256; return these files.

    Tables are large, and several certificates have the same ones. The same certificate gives the same bytes.
    """
    files = []
    for text in map(_to_text, certificate.get("tables", ())):
        files.append(path.parent / TABLES / f"{hashlib.sha256(text.encode()).hexdigest()}.json")
        write_whole(files[-1], text)
    write_whole(path, _to_text({**certificate, "tables": [{"sha256": file.stem} for file in files]}))
    return files


def _to_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def run_checker(path: Path, checker: Path, *, seconds: float | None = None) -> Answer:
    """Run the checker on a certificate, in a process of its own that is ended after `seconds`."""
    command = [sys.executable, str(checker.resolve()), str(path.resolve())]
    try:
        done = subprocess.run(  # noqa: S603 - the user's own checker
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer(verdict=Verdict.INCONCLUSIVE, reason="the checker did not end in time; allow more by --seconds")
    except OSError as error:
        return Answer(verdict=Verdict.ERROR, reason=f"the checker could not be started: {error}")
    accepted, refused = ACCEPTED.fullmatch(done.stdout), REFUSED.match(done.stdout)
    if done.returncode == 0 and accepted:
        code = "the code of mechanisms" if ", if `" in accepted["statement"] else "its code"
        return Answer(
            verdict=Verdict.PROVED,
            reason=f"{accepted['statement']}; checked: {accepted['checked']}; {code} is as it was read",
            statement=accepted["statement"],
            readings=tuple(accepted["readings"].split(", ")),
            checked=accepted["checked"],
        )
    if done.returncode == 1 and refused:
        reason = f"the checker refused the certificate: {refused['reason']}; fix the mechanism or its claim"
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=reason)
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()] or ["it said nothing"]
    reason = f"the checker ended with status {done.returncode}: {lines[-1]}; run {checker} on {path}"
    return Answer(verdict=Verdict.ERROR, reason=reason)


def finding_of(
    target: Target, relation: str, path: Path | None, answer: Answer, seconds: float, spec: str | None
) -> Finding:
    """Return the finding for a checker's answer. If no certificate was written, `path` is None, `relation` empty."""
    written = None
    if path is not None:
        content = path.read_bytes()
        written = Certificate(
            file=path.as_posix(),
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
            statement=answer.statement,
            readings=answer.readings,
            checked=answer.checked,
        )
    return Finding.on(
        target,
        CERTIFICATE,
        answer.verdict,
        answer.reason,
        scope=Scope(Reach.NEIGHBOURS, neighbours=relation),
        evidence=written,
        seconds=seconds,
        replay=f"attacklab prove {spec}" if spec else f"prove_every_pair({target.name})",
    )


def require_same_claim(target: Target, certificate: Any) -> None:
    """Refuse a certificate that states something else than the target claims.

    Raises:
        UsageError: the certificate promises less or is about other neighbours, or it is not a certificate.
    """
    if not isinstance(certificate, Mapping) or not {"claim", "relation"} <= certificate.keys():
        raise UsageError(
            f"the certificate of {target.name} is {described(certificate)} without a claim and a relation; "
            "return what mechanisms.core.certificate writes"
        )
    difference = ""
    if not implies(certificate["claim"], target.claim):
        difference = f"proves {json.dumps(certificate['claim'], default=str)}, but the target claims {target.claim}"
    elif not _covers_neighbours(target, certificate["relation"]):
        wanted = NEIGHBOURS.get(target.kind) or " or ".join(sorted(_relations(target)))
        difference = f"is about {certificate['relation']}, but the neighbours of the target are {wanted}"
    elif not _moves_as_far(target, certificate):
        difference = f"covers smaller moves than the target's sensitivity, {_sensitivity(target)}"
    if difference:
        advice = "claim what is proved, or certify what the target claims"
        raise UsageError(f"the certificate of {target.name} {difference}; {advice}")


def implies(stated: Any, claim: Claim) -> bool:
    """Whether the claim of a certificate, as JSON, is this claim or a stronger one.

    As in Bun and Steinke 2016, proposition 1.4, ε-DP is ε²/2-zCDP, and ρ-zCDP is (α, αρ)-RDP for every α; Rényi DP at
    one order holds at every smaller one.
    """
    try:
        return _implies(stated, claim)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return False


def _implies(stated: Mapping[str, Any], claim: Claim) -> bool:
    if isinstance(claim, PrivacyClaim | Profile):
        wanted = claim.pairs if isinstance(claim, Profile) else ((claim.epsilon, claim.delta),)
        points = [
            (_rational(point["epsilon"]), _rational(point["delta"]))
            for point in (stated["points"] if stated["is"] == "ProfileDP" else [stated])
            if point["is"] == "ApproximateDP"
        ]
        return all(any(e <= Fraction(epsilon) and d <= Fraction(delta) for e, d in points) for epsilon, delta in wanted)
    if isinstance(claim, GaussianDP):
        return stated["is"] == "GaussianDP" and _rational(stated["mu_squared"]) <= Fraction(claim.mu) ** 2
    if isinstance(claim, ZeroConcentrated):
        return _rho(stated) <= Fraction(claim.rho)
    return isinstance(claim, Renyi) and all(
        _divergence(stated, Fraction(alpha)) <= Fraction(bound) for alpha, bound in claim.pairs
    )


def _pure_epsilon(stated: Mapping[str, Any]) -> Fraction | float:
    """Return the ε of a stated claim of ε-DP; infinite for any other claim."""
    is_pure = stated["is"] == "ApproximateDP" and _rational(stated["delta"]) == 0
    return _rational(stated["epsilon"]) if is_pure else math.inf


def _rho(stated: Mapping[str, Any]) -> Fraction | float:
    """Return the ρ of the ρ-zCDP that a stated claim implies; infinite if it implies none."""
    return _rational(stated["rho"]) if stated["is"] == "ZeroConcentratedDP" else _pure_epsilon(stated) ** 2 / 2


def _divergence(stated: Mapping[str, Any], alpha: Fraction) -> Fraction | float:
    """Return the bound on D_α that a stated claim implies; infinite if it implies none."""
    if stated["is"] == "RenyiDP":
        return _rational(stated["epsilon"]) if alpha <= _rational(stated["alpha"]) else math.inf
    return min(_pure_epsilon(stated), alpha * _rho(stated))


def _rational(value: Any) -> Fraction:
    return Fraction(value) if type(value) is int else Fraction(value["rational"])


def _covers_neighbours(target: Target, relation: Any) -> bool:
    if target.kind in NEIGHBOURS:
        return bool(relation == NEIGHBOURS[target.kind])
    return isinstance(relation, str) and _relations(target) <= set(relation.split(" or "))


def _relations(target: Target) -> set[str]:
    """Return the relations that make a target's datasets neighbours; empty if only declared pairs say which are."""
    if target.relation is not None:
        return {target.relation}
    if target.kind is not Kind.DATASET:
        return RECORDS
    shape = target.domain.shape if target.domain is not None else None
    return set(shape.relations) if shape is not None else set()


def _sensitivity(target: Target) -> float | None:
    """Return how far an answer, a utility or a vector of answers moves between neighbours; None for other inputs."""
    if target.kind in NEIGHBOURS:
        return target.sensitivity
    return getattr(target.domain.shape, "sensitivity", None) if target.domain is not None else None


def _moves_as_far(target: Target, certificate: Mapping[str, Any]) -> bool:
    """Whether every sensitivity in a certificate is at least the target's; a certificate that states none has 1."""
    sensitivity, fields = _sensitivity(target), list(_fields(certificate.get("term")))
    if target.kind is Kind.SELECTION and any(value is True for name, value in fields if name == "monotone"):
        return False  # its utilities move in one direction only
    stated = [_rational(value) for name, value in fields if name == "sensitivity"] or [Fraction(1)]
    return sensitivity is None or min(stated) >= Fraction(sensitivity)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each field in JSON data, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _fields(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name, item
            yield from _fields(item)
