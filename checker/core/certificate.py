"""Certificates: what they state, which sources they speak of, and how they are read.

A certificate names a theorem, the functions and the public parameters that it speaks of, and the evidence that the
theorem's checker asks for. Nothing in it is believed: whatever the checker concludes it has found itself.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

SCHEMA = "attacklab-certificate/1"
PACKAGE = "mechanisms"
"""The package that the functions of a certificate belong to, unless whoever checks it names others that it trusts."""

ROOT = Path(__file__).resolve().parents[2]


class Refused(Exception):
    """The certificate does not show what it states; the message says what is missing."""


@dataclass(frozen=True)
class Certificate:
    """A statement and the evidence for it.

    Args:
        schema: the version of this format.
        mechanism: the name of what is proved.
        theorem: the theorem that is applied, a key of `checker.theorems.THEOREMS`.
        functions: the functions that run, as module:name, by their role in the theorem.
        parameters: the public parameters that they are called with, encoded (see `decoded`).
        neighbours: which inputs are neighbours, in the theorem's words.
        claim: what is promised for every pair of neighbours.
        sources: SHA-256 of each source file that the functions are made of, by path.
        evidence: what the theorem's checker asks for.
    """

    schema: str
    mechanism: str
    theorem: str
    functions: Mapping[str, str]
    parameters: Mapping[str, Any]
    neighbours: str
    claim: Mapping[str, Any]
    sources: Mapping[str, str]
    evidence: Mapping[str, Any]

    def function(self, role: str) -> Callable[..., Any]:
        """Import the function of a role."""
        name: str = require(self.functions.get(role), str, f"function {role!r}")
        found = imported(name, self.package)
        if not callable(found):
            raise Refused(f"{name} is not a function")
        return found  # type: ignore[no-any-return]

    def arguments(self) -> dict[str, Any]:
        """Return the public parameters, decoded."""
        return {name: decoded(value, self.package) for name, value in self.parameters.items()}

    @property
    def package(self) -> str:
        """The one package that the functions belong to."""
        names: list[str] = [require(name, str, "a function") for name in self.functions.values()]
        found = sorted({name.partition(":")[0].partition(".")[0] for name in names})
        if len(found) != 1:
            raise Refused(f"the functions are of {found}, not of one package")
        return found[0]


@dataclass(frozen=True)
class Conclusion:
    """What a theorem's checker has found.

    Args:
        statement: what is proved, in words, with the figures that were computed.
        lemmas: the lemmas used, each a key of `checker.lemmas.LEMMAS`.
        checked: how many things of each kind were checked.
    """

    statement: str
    lemmas: tuple[str, ...]
    checked: Mapping[str, int]


def load(path: Path) -> Certificate:
    """Read a certificate.

    Raises:
        Refused: it is not JSON of this schema.
    """
    try:
        given = json.loads(path.read_text("utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError) as error:
        raise Refused(f"{path} is not a certificate: {error}") from error
    require(given, dict, "a certificate")
    if given.get("schema") != SCHEMA:
        raise Refused(f"the schema is {given.get('schema')!r}, not {SCHEMA!r}")
    expected = {field.name: dict if "Mapping" in str(field.type) else str for field in fields(Certificate)}
    if set(given) != set(expected):
        raise Refused(f"the fields are {sorted(given)}, not {sorted(expected)}")
    return Certificate(**{name: require(given[name], kind, name) for name, kind in expected.items()})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def require(value: Any, kind: type, what: str) -> Any:
    """Return a value of the very type that is expected (a bool is not an int).

    Raises:
        Refused: it is of another type.
    """
    if type(value) is not kind:
        raise Refused(f"{what} must be of type {kind.__name__}, not {type(value).__name__}")
    return value


def rational(value: Any, what: str = "a number") -> Fraction:
    """Read a rational: an int, or text as Fraction writes it."""
    if type(value) is int or (type(value) is str and value.isascii()):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError) as error:
            raise Refused(f"{what}: {error}") from error
    raise Refused(f"{what} must be a rational number, not {value!r}")


def decoded(value: Any, package: str = PACKAGE) -> Any:
    """Decode a parameter: numbers, texts, truth values and null are themselves, lists are tuples.

    {"rational": "p/q"} is a Fraction, {"float": hex} a float, {"of": "module:Class", field: value, …} an object.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is list:
        return tuple(decoded(item, package) for item in value)
    if type(value) is dict:
        if set(value) == {"rational"}:
            return rational(value["rational"])
        if set(value) == {"float"}:
            return float.fromhex(require(value["float"], str, "a float"))
        if "of" in value:
            kind = imported(require(value["of"], str, "a class"), package)
            return kind(**{name: decoded(field, package) for name, field in value.items() if name != "of"})
    raise Refused(f"a parameter is {value!r}")


def imported(name: str, package: str) -> Any:
    """Import module:name from a package."""
    module, colon, attribute = name.partition(":")
    if not colon or module.split(".")[0] != package:
        raise Refused(f"{name!r} is not of the form {package}.module:name")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise Refused(f"{name} cannot be imported: {error}") from error


def require_sources(certificate: Certificate, root: Path | None = None) -> None:
    """Check that the certificate names every source file its functions are made of, and that each is as it was.

    The files are those that the functions' modules, and the classes of the parameters, import from the package.

    Raises:
        Refused: a file is missing, changed, or not of those.
    """
    names = [*certificate.functions.values(), *_classes(certificate)]
    root = root or _root(certificate.package)
    needed = _closure({name.partition(":")[0] for name in names}, certificate.package, root)
    if needed != set(certificate.sources):
        raise Refused(f"the sources named differ from those that run: {sorted(needed ^ set(certificate.sources))}")
    for path in sorted(needed):
        digest = hashlib.sha256((root / path).read_bytes()).hexdigest()
        if digest != certificate.sources[path]:
            raise Refused(f"{path} is not the source that the certificate was written for")


def _classes(certificate: Certificate) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = list(certificate.parameters.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found.extend(name for name in [value.get("of")] if isinstance(name, str))
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return found


def _root(package: str) -> Path:
    """Return the folder that a package lies in."""
    if package == PACKAGE:
        return ROOT
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise Refused(f"the package {package} was not found")
    return Path(found.origin).parents[1 if found.submodule_search_locations else 0]


def _closure(modules: set[str], package: str, root: Path) -> set[str]:
    """Return the files of some modules and of all that they import from the package."""
    files: set[str] = set()
    waiting = set(modules)
    while waiting:
        name = waiting.pop()
        path = Path(*name.split("."))
        found = path / "__init__.py" if (root / path).is_dir() else path.with_suffix(".py")
        if name.split(".")[0] != package or found.as_posix() in files or not (root / found).is_file():
            continue
        files.add(found.as_posix())
        waiting.add(name.rpartition(".")[0])
        for node in ast.walk(ast.parse((root / found).read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                waiting |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                waiting |= {alias.name for alias in node.names}
    return files
