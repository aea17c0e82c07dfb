"""The flaws of real libraries that are publicly known: where each is reported, and what audits are expected to find.

`data/expected_failures.json` holds them. Whatever else an audit refutes is new, and is not published before those who
maintain the library know of it; and what is expected but no longer found is reported just as loudly.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

from attacklab.attacks import ATTACKS
from attacklab.libraries import library
from attacklab.model.findings import Verdict

FILE = Path(__file__).parent.parent / "data" / "expected_failures.json"


class Status(enum.StrEnum):
    """How a verdict compares with what is publicly known."""

    KNOWN = "known flaw"
    NEW = "NEW FAILURE"
    PASSES = "UNEXPECTED PASS"
    UNDECIDED = "undecided"
    """A flaw is known, but the audit failed, could not have refuted the claim, or needs more trials to refute it."""
    NOTHING = ""
    """No flaw is known, and none was found."""


@dataclass(frozen=True)
class ExpectedFailure:
    """A publicly known flaw.

    Attributes:
        library: the name of the library.
        mechanisms: the names of its mechanisms that have the flaw.
        attack: the name of the attack that finds the flaw.
        reason: the flaw, in one line.
        link: the address of the public report.
        versions: a specifier (PEP 440) of the versions that have it; all by default.
    """

    library: str
    mechanisms: tuple[str, ...]
    attack: str
    reason: str
    link: str
    versions: str = ""

    def __post_init__(self) -> None:
        known = library(self.library).mechanisms
        unknown = [name for name in self.mechanisms if name not in known]
        if unknown or not self.mechanisms:
            raise ValueError(f"{self.library} has no mechanisms {unknown}; it has {', '.join(known)}")
        if self.attack not in {attack.name for attack in ATTACKS}:
            raise ValueError(f"there is no attack {self.attack!r}")
        if not self.reason or not self.link.startswith("https://"):
            raise ValueError(f"an expected failure of {self.library} needs a reason and a public link")
        SpecifierSet(self.versions)

    def is_of(self, version: str) -> bool:
        """Whether a version of the library has the flaw."""
        return SpecifierSet(self.versions).contains(version)


def expected_failures(path: Path = FILE) -> list[ExpectedFailure]:
    """Return the expected failures that a file lists.

    Raises:
        ValueError: an entry is malformed, or names what does not exist; the message names the file.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [ExpectedFailure(**{**entry, "mechanisms": tuple(entry["mechanisms"])}) for entry in entries]
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def expected(
    failures: Sequence[ExpectedFailure], library_name: str, version: str, mechanism: str, attack: str
) -> str | None:
    """Return the link of the known flaw that an attack on a mechanism is expected to find, or None."""
    for failure in failures:
        named = failure.library == library_name and mechanism in failure.mechanisms and failure.attack == attack
        if named and failure.is_of(version):
            return failure.link
    return None


def status(verdict: Verdict, *, is_expected: bool, too_few_trials: bool) -> Status:
    """Return how a verdict compares with what is publicly known.

    Args:
        verdict: the verdict of an attack on a mechanism.
        is_expected: whether a flaw that the attack finds is publicly known.
        too_few_trials: whether the rates seen so far would refute the claim with more trials.
    """
    if verdict is Verdict.VIOLATED:
        return Status.KNOWN if is_expected else Status.NEW
    if not is_expected:
        return Status.NOTHING
    return Status.PASSES if verdict is Verdict.NOT_DETECTED and not too_few_trials else Status.UNDECIDED
