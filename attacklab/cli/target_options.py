"""The options that describe a target: how it is loaded, what it claims, and the command line that loads it again."""

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import typer

from attacklab.cli import COMMANDS, command_of
from attacklab.cli.mechanisms import line_of, takes_one_number
from attacklab.cli.messages import CLAIM, INPUTS, WHERE, option, words_of
from attacklab.libraries import library_of
from attacklab.loading.environments import interpreter
from attacklab.loading.inputs import domain_from_text, read_pairs
from attacklab.loading.targets import CLAIM_PARAMETERS, claim_of, load_function, load_target
from attacklab.model.claims import Metric
from attacklab.model.domains import Records
from attacklab.model.errors import UsageError
from attacklab.model.findings import recorded_pairs
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.stage import Stage
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import external, isolated
from attacklab.reporting.sarif import Place

AnyKind: TypeAlias = Literal["noise", "selection", "sum", "mean", "dataset", "stage"]
"""The values of --kind: the kinds in `Kind`, and "stage" for a function that draws nothing."""

TARGETS = "path/file.py:name, package.module:name or library:mechanism"
CLAIMS = (
    "Another claim, instead of ε and δ: rho=0.5 (ρ-zCDP), mu=1 (μ-GDP) or rdp=2:0.5,8:3 (ε of each order α); "
    "or how far one record moves a stage: absolute=1, l1=1, l2=1, linf=1 or symmetric=1"
)
BOUNDS = "Least and largest record of a sum or mean"
RELATIONS = "Which datasets are neighbours [default: any; of a stage: add-remove]"
DOMAINS = (
    "Inputs that TARGET takes: integers, non-negative, floats, finite, special, LOW..HIGH, separated by commas; "
    "records of a stage: these, float, int, str or a JSON list; or JSON, which says how many records a dataset has: "
    '{"shape": {"form": "records", "least": 0, "most": 9}} [default: all of its kind]'
)
PAIRS = (
    "JSON file of neighbouring pairs to try too, [{first, second, relation}, ...]; or an earlier record of findings, "
    "for the pairs that refuted a claim"
)
ENVIRONMENTS = "Run TARGET in a process of its own: the Python of an environment, one at a path, or here for this one"


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The options that describe a target. Each attribute is the value of the option of that name.

    Can be pickled, so that workers load the target themselves.
    """

    target: Annotated[str | None, typer.Argument(metavar="TARGET", help=TARGETS)] = None
    kind: Annotated[AnyKind | None, option(CLAIM, "Kind of TARGET, where it is a function without a claim")] = None
    epsilon: Annotated[float | None, option(CLAIM, "Claimed ε [default: what TARGET claims]")] = None
    delta: Annotated[float | None, option(CLAIM, "Claimed δ [default: 0]")] = None
    claim: Annotated[str | None, option(CLAIM, CLAIMS, metavar="NAME=NUMBER")] = None
    bounds: Annotated[tuple[float, float] | None, option(CLAIM, BOUNDS, metavar="LOW HIGH")] = None
    relation: Annotated[Relation | None, option(INPUTS, RELATIONS)] = None
    domain: Annotated[str | None, option(INPUTS, DOMAINS, metavar="WORDS")] = None
    pairs: Annotated[Path | None, option(INPUTS, PAIRS, metavar="FILE")] = None
    program: Annotated[str | None, option(WHERE, "Audit this program instead", "--exec", metavar="COMMAND")] = None
    in_env: Annotated[str | None, option(WHERE, ENVIRONMENTS, metavar="NAME")] = None
    folder: Path | None = None
    """The folder to load the target in, for a process that was started in another one."""

    @property
    def place(self) -> Place | None:
        """The source file of the target and its line; None if the target's name has no file."""
        file = (self.target or "").rpartition(":")[0]
        return Place(Path(file).as_posix(), line_of(str(self.target))) if file.endswith(".py") else None

    def load(self) -> Target | Stage:
        """Return the target that the options describe. Raise UsageError if they contradict each other."""
        if self.folder is not None and self.folder.is_dir():  # on another machine there may be none of that name
            os.chdir(self.folder)
        if (self.target is None) == (self.program is None):
            raise UsageError("name one target or one --exec COMMAND, or list targets in pyproject.toml")
        reads, path = (_records if self.kind == "stage" else domain_from_text), list(sys.path)
        declared: dict[str, Any] = {} if self.domain is None else {"domain": reads(self.domain)}
        declared |= {} if self.pairs is None else {"pairs": _pairs(self.pairs)}
        loaded = self._stage(declared) if self.kind == "stage" else replace(self._loaded(), **declared)
        sys.path += [entry for entry in path if entry not in sys.path]  # the target may have changed it
        return loaded

    def _loaded(self) -> Target | Stage:
        claimed = self.claimed()
        if self.program is not None:
            if self.in_env is not None:
                raise UsageError("a program does not run in a Python environment; leave --in-env out")
            if self.kind is None or not {"epsilon", "claim"} & claimed.keys():
                raise UsageError("a program needs a kind and a claim; add --kind, and --epsilon or --claim")
            return external(words_of(self.program), **claimed)
        name = str(self.target)
        if self.in_env is None and library_of(name) is None:
            return load_target(name, **claimed)
        python = sys.executable if self.in_env in (None, "here") else interpreter(str(self.in_env), Path.cwd())
        return isolated(name, python=python, **claimed)

    def _stage(self, declared: Mapping[str, Any]) -> Stage:
        """Load a stage, whose claim is a stability. `declared` holds its domain and its pairs, if there are any."""
        given = {"epsilon", "delta", "bounds", "program", "in_env"}
        if refused := [option_of(name) for name in sorted(given) if getattr(self, name) is not None]:
            raise UsageError(f"a stage takes no {' or '.join(refused)}; leave that out")
        metric, stability = _claim_words(self.claim) if self.claim else ("", None)
        if metric not in list(Metric):
            raise UsageError(
                "a stage claims how far one record moves it; add --claim absolute=1 (or l1, l2, linf, symmetric)"
            )
        by, function = self.relation or Relation.ADD_REMOVE, load_function(str(self.target))
        return Target.stage(function, stability=stability, metric=metric, relation=by, **declared)

    def beside(self, script: str) -> Self:
        """Return the same options, but load from the folder of a script if the target's file is there and not here."""
        file, folder = (self.target or "").rpartition(":")[0], Path(script).resolve().parent
        return replace(self, folder=folder) if not Path(file).is_file() and (folder / file).is_file() else self

    def spec(self, rest: Mapping[str, object] | None = None) -> str:
        """Return a command line that loads this target again; `rest` holds the values of further options by name."""
        named = {option_of(field.name): getattr(self, field.name) for field in fields(self)[1:-1]}
        words = ["--exec", named.pop("--exec")] if self.target is None else [self.target]
        for name, value in {**named, **(rest or {})}.items():
            if value is not None and value is not False:
                values = value if isinstance(value, tuple) else () if value is True else (value,)
                words += [name, *map(str, values)]
        return shlex.join(words)

    @classmethod
    def of_spec(cls, spec: str, where: str = "") -> Self:
        """Read the options of a target from a command line, and ignore others. `where` names it in errors."""
        audit = command_of(next(command for command in COMMANDS if command.name == "audit"))
        try:
            read = audit.make_context("audit", shlex.split(spec), ignore_unknown_options=True, allow_extra_args=True)
        except Exception as error:  # whatever the parser says
            raise UsageError(f"{where or spec}: {getattr(error, 'format_message', error.__str__)()}") from error
        return cls(**{field.name: read.params[field.name] for field in fields(cls)[:-1]})

    def claimed(self) -> dict[str, Any]:
        """Return the arguments for loading the target: its kind, its claim, its relation and its bounds."""
        names = ("epsilon", "delta", "relation", "bounds")
        told = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.claim is not None:
            if told.keys() & {"epsilon", "delta"}:
                raise UsageError("--claim takes the place of --epsilon and --delta; leave them out")
            name, value = _claim_words(self.claim)
            if name in list(Metric):
                raise UsageError(f"--claim {self.claim} is the claim of a stage; add --kind stage")
            told["claim"] = claim_of(name, value)
        kind = None if self.kind is None else Kind(self.kind)
        if kind is None and {"epsilon", "claim"} & told.keys() and takes_one_number(self.target or ""):
            kind = Kind.NOISE
        return {"kind": kind, **told}


def _pairs(path: Path) -> tuple[NeighbouringPair, ...]:
    """Read pairs from a file of pairs, or take the pairs of the refuted claims in a record."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(1) == b"{":
            return recorded_pairs(path)
    return read_pairs(path)


def _claim_words(text: str) -> tuple[str, Any]:
    """Split the value of --claim into the name of the claim and its number; for rdp, a list of pairs (α, ε)."""
    name, _, value = text.partition("=")
    with contextlib.suppress(ValueError):
        if name == "rdp":
            return name, [tuple(map(float, order.split(":"))) for order in value.split(",")]
        if name in (*CLAIM_PARAMETERS, *Metric):
            return name, float(value)
    raise UsageError(
        "--claim must look like rho=0.5, mu=1 or rdp=2:0.5,8:3; for a stage, like absolute=1, l1=1, l2=1, linf=1 or "
        f"symmetric=1; not {text!r}"
    )


def _records(text: str) -> Any:
    """Read the domain of a stage: float, int or str, a JSON list of all possible records, or a domain of numbers."""
    types = {"float": float, "int": int, "str": str}
    if text in types:
        return types[text]
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError as error:
            raise UsageError(f"--domain is not JSON: {error}; write a list of records such as [0, 1]") from error
    domain = domain_from_text(text)
    return domain if domain.shape else replace(domain, shape=Records(most=1 << 10))


def takes_target(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command: options other than `left_out` replace the argument `TargetOptions`."""

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        options = signature(TargetOptions).parameters
        shared = [name for name in options if name not in (*left_out, "folder")]
        own = list(signature(function).parameters.values())[1:]

        def command(**values: Any) -> None:
            function(TargetOptions(**{name: values.pop(name) for name in shared}), **values)

        command.__signature__ = Signature([*(options[name] for name in shared), *own])  # type: ignore[attr-defined]
        command.__doc__, command.__annotations__ = function.__doc__, {}
        return command

    return decorated


def option_of(name: str) -> str:
    """Return the option that sets an attribute of `TargetOptions`."""
    return "--exec" if name == "program" else f"--{name.replace('_', '-')}"
