"""Public functions that are unfit for the noise or the selections of differential privacy.

`data/vulnerable_primitives.toml` says which, why, and what to use instead; the schema beside it says what an entry
holds. It is edited by hand; `python -m experiments.primitives` writes the page and the machine-readable list from it.
Whatever it says is public, or shown by the lab's own published reports.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema

from attacklab.auditing.attacks import ALL_ATTACKS
from experiments.common.expected_failures import expected_failures
from experiments.primitives.uses import USES

FILE = Path(__file__).parent.parent / "data" / "vulnerable_primitives.toml"
SCHEMA = FILE.with_suffix(".schema.json")
VERSION = 1

Entry: TypeAlias = Mapping[str, Any]
Listing: TypeAlias = Mapping[str, Any]
"""The list as it stands in `docs/reference/vulnerable_primitives.json`: its version, flaws, remedies and primitives."""


def listing(path: Path = FILE) -> Listing:
    """Read the list.

    Raises:
        ValueError: it lacks something, has something unknown, or names what does not exist; the message says where.
    """
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    error = jsonschema.exceptions.best_match(validator.iter_errors(whole))
    if error is not None:
        raise ValueError(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    flaws, remedies, primitives = (whole[name] for name in ("flaw", "remedy", "primitive"))
    _require_same("flaws", flaws, {flaw for entry in primitives for flaw in entry["flaws"]})
    _require_same("remedies", remedies, {entry["remedy"] for entry in primitives})
    names = [(entry["language"], function) for entry in primitives for function in entry["functions"]]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name[1]} ({name[0]}) stands in two entries; join them")
    for entry in primitives:
        _require_backing(entry)
    return {"version": VERSION, "flaws": flaws, "remedies": remedies, "primitives": primitives}


def _require_same(label: str, defined: Sequence[Entry], named: set[str]) -> None:
    names = [entry["id"] for entry in defined]
    if len(names) != len(set(names)) or set(names) != named:
        raise ValueError(f"{label}: defined {sorted(names)}, named by entries {sorted(named)}")


def _require_backing(entry: Entry) -> None:
    """Refuse a demonstration by an attack or of a use that there is not."""
    where = f"{entry['library']}: {entry['functions']}"
    known = {attack.name for attack in ALL_ATTACKS}
    recorded = {
        (failure.library, mechanism, failure.attack)
        for failure in expected_failures()
        for mechanism in failure.mechanisms
    }
    for shown in entry["demonstrations"]:
        if shown["attack"] not in known:
            raise ValueError(f"{where}: there is no attack {shown['attack']!r}")
        if entry["status"] == "shown" and shown["use"] not in USES:
            raise ValueError(f"{where}: there is no use {shown['use']!r}")
        if entry["status"] == "measured" and (entry["library"], shown["use"], shown["attack"]) not in recorded:
            raise ValueError(f"{where}: no published flaw is recorded of {shown['use']} by {shown['attack']}")
