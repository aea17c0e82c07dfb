"""Proving a claim for every pair of neighbours, by a certificate that a checker in a process of its own accepts.

The checker is a program beside the project that is proved: `python checker/check.py FILE`. What it says is taken as it
stands, and nothing but its acceptance proves a claim. Before it is asked, the draft's statement is compared with what
the target claims: a certificate of something else proves nothing of the target.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from attacklab.certificates import Draft, certificate, to_text
from attacklab.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.errors import UsageError, passes_through
from attacklab.files import Made, require_writable, write_whole
from attacklab.findings import CERTIFICATE, CheckedCertificate, Finding, Reach, Scope, Verdict
from attacklab.laws import Deadline, OutOfTime
from attacklab.proof.pairs import SECONDS
from attacklab.targets import Kind, Target, described, in_one_line

CHECKER = Path("checker", "check.py")
ACCEPTED = re.compile(
    r"ACCEPTED +\S+: (?P<statement>.+)\n +checked (?P<checked>.+); (?:lemmas|readings) (?P<lemmas>.+)\n?"
)
REFUSED = re.compile(r"REFUSED +\S+: (?P<reason>.+)")
NOT_IN_A_NAME = re.compile(r"[^\w.-]")
"""What the name of a file is spared."""

NEIGHBOURS = {Kind.NOISE: ("answers",), Kind.SELECTION: ("utilities",)}
"""What the neighbours of a draft must speak of where a target has no relation: other kinds, of both relations."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the checker said of a certificate.

    Attributes:
        verdict: PROVED if it accepts it, INCONCLUSIVE if it refuses it or the time is up, ERROR if it failed.
        reason: why, in one line.
        statement: what it says that the certificate shows; empty unless it accepts it.
        lemmas: the lemmas that this rests on.
        checked: how much it checked, in its own words.
    """

    verdict: Verdict
    reason: str
    statement: str = ""
    lemmas: tuple[str, ...] = ()
    checked: str = ""


def find_checker(folder: Path) -> Path:
    """Find the checker of a project: `checker/check.py` in a folder or the nearest one above it.

    Raises:
        UsageError: there is none.
    """
    for place in (folder, *folder.parents):
        if (place / CHECKER).is_file():
            return place / CHECKER
    raise UsageError(f"there is no {CHECKER} in {folder} or above it; name the checker by --checker")


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
        target: one that has the draft of a certificate.
        checker: the program that checks it.
        folder: where the certificate is written, as NAME.json.
        seconds: how long both may take together.
        progress: called with a line that says what is being done.
        spec: the words after `attacklab prove` that repeat this, for the line that replays the finding.

    Returns:
        PROVED if the checker accepts the certificate; INCONCLUSIVE if it refuses it or the time is up; ERROR if the
        draft or the checker failed.

    Raises:
        UsageError: the target has no draft, or its draft states something else than the target claims; or the
            certificate would overwrite a file that is not one.
    """
    draft_of = _draft_of(target)
    began = time.perf_counter()
    deadline = Deadline(seconds)
    say = progress or (lambda _: None)
    say("the certificate's evidence")
    path = folder / f"{NOT_IN_A_NAME.sub('_', target.name)}.json"
    require_writable(path, Made.CERTIFICATE)
    try:
        draft = deadline.run(draft_of)
        require_draft(target, draft)
        write_certificate(target.name, draft, path)
    except UsageError:
        raise
    except OutOfTime:
        answer = Answer(verdict=Verdict.INCONCLUSIVE, reason=f"{seconds:.3g} s were not enough for the evidence")
        return finding_of(target, None, None, answer, time.perf_counter() - began, spec)
    except BaseException as error:  # whatever the draft raises
        if passes_through(error):
            raise
        reason = f"the draft of the certificate raised {in_one_line(error)}; mend it"
        answer = Answer(verdict=Verdict.ERROR, reason=reason)
        return finding_of(target, None, None, answer, time.perf_counter() - began, spec)
    say("the checker, in a process of its own")
    answer = run_checker(path, checker, seconds=deadline.left)
    return finding_of(target, draft.neighbours, path, answer, time.perf_counter() - began, spec)


def write_certificate(name: str, draft: Draft, path: Path) -> None:
    """Write the certificate of a draft; the same draft and sources give the same bytes."""
    write_whole(path, to_text(certificate(name, draft)))


def run_checker(path: Path, checker: Path, *, seconds: float | None = None) -> Answer:
    """Run the checker on a certificate, in a process of its own.

    Args:
        path: the certificate.
        checker: the program.
        seconds: after so long it is ended; None for no limit.
    """
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
        lemmas = () if accepted["lemmas"] == "none" else tuple(accepted["lemmas"].split(", "))
        told = f"{accepted['statement']}; checked: {accepted['checked']}; lemmas: {accepted['lemmas']}"
        return Answer(
            verdict=Verdict.PROVED,
            reason=told,
            statement=accepted["statement"],
            lemmas=lemmas,
            checked=accepted["checked"],
        )
    if done.returncode == 1 and refused:
        told = f"the checker refused the certificate: {refused['reason']}; mend the draft or the mechanism"
        return Answer(verdict=Verdict.INCONCLUSIVE, reason=told)
    said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()] or ["it said nothing"]
    told = f"the checker ended with status {done.returncode}: {said[-1]}; run {checker} on {path}"
    return Answer(verdict=Verdict.ERROR, reason=told)


def finding_of(
    target: Target, neighbours: str | None, path: Path | None, answer: Answer, seconds: float, spec: str | None
) -> Finding:
    """The finding that an answer of the checker makes.

    Args:
        target: what the certificate speaks of.
        neighbours: which inputs it calls neighbours, in its words.
        path: where it is; None where none was written.
        answer: what the checker said.
        seconds: how long all of it took.
        spec: as for `prove_every_pair`.
    """
    written = None
    if path is not None:
        content = path.read_bytes()
        written = CheckedCertificate(
            file=path.as_posix(),
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
            statement=answer.statement,
            lemmas=answer.lemmas,
            checked=answer.checked,
        )
    return Finding(
        target=target.name,
        target_version=target.version,
        attack=CERTIFICATE,
        verdict=answer.verdict,
        reason=answer.reason,
        claim=target.claim,
        relation=target.relation,
        ceiling=target.claim.ceiling,
        scope=Scope(Reach.NEIGHBOURS, neighbours=neighbours or ""),
        certificate=written,
        seconds=seconds,
        replay=f"attacklab prove {spec}" if spec else f"prove_every_pair({target.name})",
    )


def _draft_of(target: Target) -> Callable[[], Draft]:
    if target.draft is None:
        raise UsageError(
            f"{target.name} brings no draft of a certificate for every pair of neighbours; add one by "
            "Target.certified(draft) (docs/how_to/proving.md), or leave --all out and prove single pairs"
        )
    return target.draft


def require_draft(target: Target, draft: Any) -> None:
    """Refuse a draft that states something else than the target claims.

    Raises:
        UsageError: it claims less, or speaks of other neighbours, or is not a draft.
    """
    if not isinstance(draft, Draft):
        raise UsageError(f"the draft of {target.name} returned {described(draft)}; let it return a Draft")
    told = ""
    if not implies(draft.claim, target.claim):
        told = f"claims {dict(draft.claim)}, and the target {target.claim}"
    elif not _speaks_of_neighbours(target, draft.neighbours):
        told = f"calls neighbours {draft.neighbours!r}, and the target is one of {target.relation or target.kind}"
    elif not _moves_as_far(target, draft.parameters):
        told = f"has another sensitivity than {target.sensitivity}"
    if told:
        raise UsageError(f"the draft of {target.name} {told}; draft what the target claims")


def implies(stated: Mapping[str, Any], claim: Claim) -> bool:
    """Whether the claim of a certificate, as JSON, is this claim, or one of its kind with smaller numbers."""
    try:
        return _implies(stated, claim)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return False


def _implies(stated: Mapping[str, Any], claim: Claim) -> bool:
    match stated["kind"], claim:
        case "pure", PrivacyClaim():
            return Fraction(stated["epsilon"]) <= Fraction(claim.epsilon)
        case "approximate", PrivacyClaim():
            is_smaller = Fraction(stated["epsilon"]) <= Fraction(claim.epsilon)
            return is_smaller and Fraction(stated["delta"]) <= Fraction(claim.delta)
        case "zcdp", ZeroConcentrated():
            return Fraction(stated["rho"]) <= Fraction(claim.rho)
        case "gdp", GaussianDP():
            return Fraction(stated["mu"]) <= Fraction(claim.mu)
        case "rdp", Renyi():
            most = dict(zip(map(Fraction, stated["orders"]), map(Fraction, stated["epsilons"]), strict=True))
            bounds = zip(claim.orders, claim.epsilons, strict=True)
            return all(most.get(Fraction(order), bound + 1) <= Fraction(bound) for order, bound in bounds)
        case "profile", Profile():
            least = {Fraction(epsilon): Fraction(delta) for epsilon, delta in stated["points"]}
            return all(least.get(Fraction(epsilon), 2) <= Fraction(delta) for epsilon, delta in claim.pairs)
    return False


def _speaks_of_neighbours(target: Target, neighbours: str) -> bool:
    if target.relation is not None:
        return neighbours == target.relation
    if target.kind is Kind.DATASET:
        return True
    return all(word in neighbours for word in NEIGHBOURS.get(target.kind, ("add-remove", "substitute")))


def _moves_as_far(target: Target, parameters: Mapping[str, Any]) -> bool:
    if target.kind not in NEIGHBOURS:
        return True
    return Fraction(parameters.get("sensitivity", 1)) == Fraction(target.sensitivity)
