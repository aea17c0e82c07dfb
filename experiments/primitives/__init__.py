"""Public functions that are unfit for the noise or the selections of differential privacy.

`data/vulnerable_primitives.toml` says which, why, and what to use instead. It is edited by hand; `python -m
experiments.primitives` writes the page and the machine-readable list from it. Whatever it says is public, or shown by
the lab's own published reports.
"""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from attacklab.auditing.attacks import ALL_ATTACKS
from experiments.common.expected_failures import expected_failures
from experiments.primitives.uses import USES

FILE = Path(__file__).parent.parent / "data" / "vulnerable_primitives.toml"
VERSION = 1

Record = TypeVar("Record")


class Status(enum.StrEnum):
    """How the list knows that a function is unfit."""

    SHOWN = "shown"
    """A test of the lab runs the function, and an attack refutes the use of it."""
    MEASURED = "measured"
    """Audits of the library by the lab refuted it; the library is not among the lab's own dependencies."""
    DOCUMENTED = "documented"
    """Its own documentation or source says what makes it unfit; the lab did not run it."""


@dataclass(frozen=True, kw_only=True)
class Flaw:
    """What makes a function unfit.

    Attributes:
        id: how entries name it.
        title: a few words.
        effect: what an adversary gains.
    """

    id: str
    title: str
    effect: str


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What to use instead.

    Attributes:
        id: how entries name it.
        advice: one or two sentences, in Markdown; its links are relative to `docs/reference/`.
    """

    id: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Something public.

    Attributes:
        what: a paper, a page of documentation, source or an issue, in a few words.
        link: its address, or the path of a report of the lab.
    """

    what: str
    link: str


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """An attack that refutes a use of the function.

    Attributes:
        attack: its name.
        use: the name of the use among `uses.USES`, or of the mechanism of a library's adapter.
    """

    attack: str
    use: str


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """Functions of one library that share flaws.

    Attributes:
        language: the programming language.
        library: its name, or "standard library".
        functions: their public names.
        purpose: what programs use them for.
        flaws: identifiers of `Flaw`, the worst first.
        why: one or two sentences on these functions.
        since: the first version that is known to have the flaws, or "all known".
        until: the last version that is known to have them, or "all known".
        status: how the list knows.
        evidence: what is public about it.
        demonstrations: what refutes it; only of what is shown or measured.
        remedy: an identifier of `Remedy`.
    """

    language: str
    library: str
    functions: tuple[str, ...]
    purpose: str
    flaws: tuple[str, ...]
    why: str
    since: str
    until: str
    status: Status
    evidence: tuple[Evidence, ...]
    demonstrations: tuple[Demonstration, ...]
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The whole list.

    Attributes:
        flaws: every flaw that an entry names.
        remedies: every remedy that an entry names.
        primitives: the entries, by language and library.
    """

    flaws: tuple[Flaw, ...]
    remedies: tuple[Remedy, ...]
    primitives: tuple[Primitive, ...]

    def to_json(self) -> dict[str, Any]:
        """As it stands in `docs/reference/vulnerable_primitives.json`."""
        return {"version": VERSION, **asdict(self)}


def listing(path: Path = FILE) -> Listing:
    """Read the list.

    Raises:
        ValueError: it lacks something, has something unknown, or names what does not exist; the message says where.
    """
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    if set(whole) != {"flaw", "remedy", "primitive"}:
        raise ValueError(f"{path}: must hold flaws, remedies and primitives, not {sorted(whole)}")
    flaws = tuple(_record(Flaw, entry, f"flaw {number}") for number, entry in enumerate(whole["flaw"]))
    remedies = tuple(_record(Remedy, entry, f"remedy {number}") for number, entry in enumerate(whole["remedy"]))
    primitives = tuple(map(_primitive, whole["primitive"]))
    _require_same("flaws", [flaw.id for flaw in flaws], {flaw for entry in primitives for flaw in entry.flaws})
    _require_same("remedies", [remedy.id for remedy in remedies], {entry.remedy for entry in primitives})
    names = [(entry.language, function) for entry in primitives for function in entry.functions]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name[1]} ({name[0]}) stands in two entries; join them")
    return Listing(flaws=flaws, remedies=remedies, primitives=primitives)


def _primitive(entry: Mapping[str, Any]) -> Primitive:
    where = f"{entry.get('library')}: {entry.get('functions')}"
    nested = {
        "functions": tuple(entry.get("functions", ())),
        "flaws": tuple(entry.get("flaws", ())),
        "evidence": tuple(_record(Evidence, item, where) for item in entry.get("evidence", ())),
        "demonstrations": tuple(_record(Demonstration, item, where) for item in entry.get("demonstrations", ())),
    }
    primitive = _record(Primitive, {**entry, **nested}, where)
    try:
        primitive = _record(Primitive, {**vars(primitive), "status": Status(primitive.status)}, where)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    _require_backing(primitive, where)
    return primitive


def _require_backing(primitive: Primitive, where: str) -> None:
    for name in ("functions", "flaws", "evidence"):
        if not getattr(primitive, name):
            raise ValueError(f"{where}: has no {name}")
    for evidence in primitive.evidence:
        if not evidence.link.startswith(("https://", "reports/")):
            raise ValueError(f"{where}: {evidence.link} is neither a public address nor a report of the lab")
    if bool(primitive.demonstrations) is (primitive.status is Status.DOCUMENTED):
        raise ValueError(f"{where}: is {primitive.status} with {len(primitive.demonstrations)} demonstrations")
    known = {attack.name for attack in ALL_ATTACKS}
    recorded = {
        (failure.library, mechanism, failure.attack)
        for failure in expected_failures()
        for mechanism in failure.mechanisms
    }
    for shown in primitive.demonstrations:
        if shown.attack not in known:
            raise ValueError(f"{where}: there is no attack {shown.attack!r}")
        if primitive.status is Status.SHOWN and shown.use not in USES:
            raise ValueError(f"{where}: there is no use {shown.use!r}")
        if primitive.status is Status.MEASURED and (primitive.library, shown.use, shown.attack) not in recorded:
            raise ValueError(f"{where}: no published flaw is recorded of {shown.use} by {shown.attack}")


def _record(kind: type[Record], entry: Mapping[str, Any], where: str) -> Record:
    """A record of exactly these fields, each a text, or a tuple that is already made."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if set(entry) != names:
        raise ValueError(f"{where}: lacks {sorted(names - set(entry))}, has unknown {sorted(set(entry) - names)}")
    for name, value in entry.items():
        texts = value if isinstance(value, tuple) else (value,)
        if not all(text and isinstance(text, str | Evidence | Demonstration) for text in texts):
            raise ValueError(f"{where}: {name} must be text that is not empty, not {value!r}")
    return kind(**entry)


def _require_same(label: str, defined: list[str], named: set[str]) -> None:
    if len(defined) != len(set(defined)) or set(defined) != named:
        raise ValueError(f"{label}: defined {sorted(defined)}, named by entries {sorted(named)}")
