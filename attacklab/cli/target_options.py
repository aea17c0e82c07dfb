"""What the options say of the target: how it is loaded, what it claims, and the words that repeat this."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, get_type_hints

import typer

from attacklab.cli import COMMANDS, command_of, options
from attacklab.cli.mechanisms import line_of, takes_one_number
from attacklab.cli.messages import words_of
from attacklab.libraries import Library, library_of
from attacklab.libraries.environments import interpreter
from attacklab.model.domains import domain_from_text, read_pairs
from attacklab.model.errors import UsageError
from attacklab.model.findings import recorded_pairs
from attacklab.model.loading import claim_of, load_target
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import external, isolated
from attacklab.reporting.sarif import Place


def _pairs(path: Path) -> tuple[NeighbouringPair, ...]:
    """The pairs of a file of pairs, or of the refuted claims in a record."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(1) == b"{":
            return recorded_pairs(path)
    return read_pairs(path)


def _order_and_bound(text: str) -> tuple[float, float]:
    try:
        alpha, epsilon = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--rdp must be ALPHA,EPSILON, such as 2,0.5, not {text!r}") from None
    return alpha, epsilon


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The options that say what the target is; the attributes are the values of the options of these names.

    Can be pickled, so that workers load the target themselves.
    """

    target: options.Target = None
    program: options.Exec = None
    isolate: options.Isolate = False
    in_env: options.InEnv = None
    seconds: options.Seconds = None
    kind: options.Kind = None
    epsilon: options.Epsilon = None
    delta: options.Delta = None
    rho: options.Rho = None
    mu: options.Mu = None
    rdp: options.Rdp = None
    sensitivity: options.Sensitivity = None
    lower: options.Lower = None
    upper: options.Upper = None
    relation: options.Relation = None
    domain: options.Domain = None
    pairs: options.Pairs = None
    folder: Path | None = None
    """The folder to load it in, in a process that was started elsewhere."""

    @property
    def library(self) -> Library | None:
        """The library that the target belongs to, if it belongs to one."""
        return None if self.target is None else library_of(self.target)

    @property
    def place(self) -> Place | None:
        """The source file of the target, where its name says one."""
        file, _, name = (self.target or "").rpartition(":")
        return Place(Path(file).as_posix(), line_of(Path(file), name)) if file.endswith(".py") else None

    def load(self) -> Target:
        """Load the target.

        Raises:
            UsageError: the options contradict each other, or the target cannot be loaded.
            OSError: this system cannot run it in another process.
        """
        if self.folder is not None and self.folder.is_dir():  # on another machine there may be none of that name
            os.chdir(self.folder)
        declared = self._declared()
        return replace(self._loaded(), **declared) if declared else self._loaded()

    def _loaded(self) -> Target:
        if (self.target is None) == (self.program is None):
            message = "name a target, or a program after --exec" + ("" if self.target is None else ", not both")
            raise typer.BadParameter(message, param_hint="TARGET")
        claimed, limits = self.claimed(), self._limits()
        if self.program is not None:
            return external(self._words(self.program), **claimed, **limits)
        name = str(self.target)
        if self.in_env is not None:
            return isolated(name, python=interpreter(self.in_env, Path.cwd()), **claimed, **limits)
        if self.isolate or self.library is not None:
            return isolated(name, **claimed, **limits)
        if limits:
            raise UsageError("--seconds limits another process; add --isolate or --in-env, or leave it out")
        return load_target(name, **claimed)

    def elsewhere(self) -> TargetOptions:
        """The same target for a process that works in another folder."""
        target, python = self.target, self.in_env
        if target is not None:
            file, separator, name = target.rpartition(":")
            target = f"{Path(file).resolve()}{separator}{name}" if Path(file).is_file() else target
        if python is not None:  # absolute, not resolved: a link to an interpreter tells it where its packages are
            python = str(Path(interpreter(python, Path.cwd())).absolute())
        pairs = None if self.pairs is None else self.pairs.resolve()
        return replace(self, target=target, in_env=python, pairs=pairs, folder=Path.cwd())

    def beside(self, script: str) -> TargetOptions:
        """The same target, in the folder of a script if its file is there and not here."""
        file, folder = (self.target or "").rpartition(":")[0], Path(script).resolve().parent
        return replace(self, folder=folder) if not Path(file).is_file() and (folder / file).is_file() else self

    def spec(self, rest: Mapping[str, object] | None = None) -> str:
        """The words of a command line that load this target again, with the rest of its options by their names."""
        named = {_option(field.name): getattr(self, field.name) for field in fields(self)[1:-1]}
        words = [] if self.target is None else [shlex.quote(self.target)]
        for option, value in {**named, **(rest or {})}.items():
            for item in value if isinstance(value, list) else (value,):
                if item is True:
                    words.append(option)
                elif item is not None and item is not False:
                    words += [option, shlex.quote(str(item))]
        return " ".join(words)

    @classmethod
    def of_spec(cls, spec: str) -> TargetOptions:
        """The options that `spec` wrote, read again, without those that say which pairs are proved, and how.

        Raises:
            UsageError: it is not such a text.
        """
        words = shlex.split(spec)
        name = "prove" if {"--first", "--inputs", "--all"} & set(words) else "audit"
        try:
            read = command_of(next(known for known in COMMANDS if known.name == name)).make_context(name, words).params
        except Exception as error:  # whatever the parser says
            raise UsageError(f"{spec} does not name a target as attacklab audit does") from error
        if name == "prove":
            del read["seconds"]  # of the proof
        named = {one.name for one in fields(cls)}
        return cls(**{key: value for key, value in read.items() if key in named and value not in (None, (), [])})

    def claimed(self) -> dict[str, Any]:
        """What the target is told: its kind, its claim and the parameters of that kind.

        Raises:
            UsageError: the options contradict each other.
        """
        if (self.lower is None) != (self.upper is None):
            raise UsageError("--lower and --upper go together; give both or neither")
        bounds = None if self.lower is None else (self.lower, self.upper)
        values = {"sensitivity": self.sensitivity, "relation": self.relation, "bounds": bounds}
        rest = {name: value for name, value in values.items() if value is not None}
        claim, kind = self._claim(), self.kind
        file, _, name = (self.target or "").rpartition(":")
        if kind is None and claim and file.endswith(".py") and takes_one_number(Path(file), name):
            kind = Kind.NOISE
        return {"kind": kind, **claim, **rest}

    def _claim(self) -> dict[str, Any]:
        """The claim as what loads a target takes it: an epsilon and delta, or a claim, or nothing."""
        names = ("epsilon", "delta", "rho", "mu", "rdp")
        said = {name: getattr(self, name) for name in names if getattr(self, name) not in (None, [])}
        if len(said) > 1 and list(said) != ["epsilon", "delta"]:
            named = " and ".join(map(_option, said))
            raise UsageError(f"{named} exclude each other; give --epsilon (and --delta), --rho, --mu or --rdp")
        if self.rdp:
            said["rdp"] = [_order_and_bound(text) for text in self.rdp]
        for name in ("rho", "mu", "rdp"):
            if name in said:
                return {"claim": claim_of(name, said[name])}
        return said

    def _declared(self) -> dict[str, Any]:
        declared: dict[str, Any] = {} if self.domain is None else {"domain": domain_from_text(self.domain)}
        return declared if self.pairs is None else declared | {"pairs": _pairs(self.pairs)}

    def _limits(self) -> dict[str, Any]:
        return {} if self.seconds is None else {"seconds": self.seconds}

    def _words(self, command: str) -> list[str]:
        if self.isolate:
            raise UsageError("a program after --exec always runs in a process of its own; leave --isolate out")
        if self.in_env is not None:
            raise UsageError("a program after --exec does not run in a Python environment; leave --in-env out")
        if self.kind is None or all(value is None for value in (self.epsilon, self.rho, self.mu, self.rdp or None)):
            raise UsageError(
                "a program after --exec needs --kind and a claim; add --kind and one of --epsilon, --rho, --mu, --rdp"
            )
        return words_of(command)


def takes_target(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function whose first argument is a `TargetOptions`: each attribute of that is an option.

    Args:
        *left_out: attributes that the command has no option for.
    """

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(TargetOptions, include_extras=True)
        shared = [field for field in fields(TargetOptions)[:-1] if field.name not in left_out]
        given = [
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
            for one in shared
        ]
        _, *own = signature(function, eval_str=True).parameters.values()

        def command(**values: Any) -> None:
            asked = {one.name: values.pop(one.name) for one in shared}
            function(TargetOptions(**asked), **values)

        command.__doc__ = function.__doc__
        command.__signature__ = Signature([*given, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own)])  # type: ignore[attr-defined]
        command.__annotations__ = {}
        return command

    return decorated


def _option(name: str) -> str:
    """The option that sets an attribute."""
    return "--exec" if name == "program" else f"--{name.replace('_', '-')}"
