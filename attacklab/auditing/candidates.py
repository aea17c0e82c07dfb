"""Which functions and methods of a module look like mechanisms, and what they seem to claim.

Each is called a few times on a small input, in a fresh process, with the samplers that it calls watched. What is passed
to it follows from the names of its parameters. Names alone decide only where a function cannot be called, and that is
said. Nothing is told for certain: whoever writes a test has to check every guess.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from attacklab.auditing.drawn_noise import watch_noise
from attacklab.model.errors import UsageError, in_one_line, passes_through
from attacklab.model.plain_text import plain
from attacklab.model.targets import Kind, Target
from attacklab.processes.fresh import NoAnswer, run_in_fresh_process

SECONDS = 20.0
"""How long the calls of one function may take."""

CALLS = 3
"""How often each is called; outputs that differ are random, whatever they were drawn from."""

TRIALS = 8
"""How many outputs a release is asked for."""

ROLES: Mapping[str, tuple[str, ...]] = {
    "epsilon": ("epsilon", "eps"),
    "delta": ("delta",),
    "rho": ("rho",),
    "mu": ("mu",),
    "sensitivity": ("sensitivity", "sens", "l1_sensitivity", "l2_sensitivity"),
    "scale": ("scale", "noise_scale", "sigma", "std", "stddev", "b"),
    "lower": ("lower", "lower_bound", "low", "minimum", "min_value"),
    "upper": ("upper", "upper_bound", "high", "maximum", "max_value"),
    "bounds": ("bounds",),
    "trials": ("trials", "size"),
    "rng": ("rng", "generator", "random_state", "prng"),
    "bits": ("bits",),
}
"""What a parameter is for, by its name."""

VALUES: Mapping[str, str] = {
    "epsilon": "1.0",
    "delta": "1e-05",
    "rho": "0.5",
    "mu": "1.0",
    "sensitivity": "1.0",
    "scale": "1.0",
    "lower": "0.0",
    "upper": "1.0",
    "bounds": "(0.0, 1.0)",
}
"""What is passed for it, in Python, unless its default is a number."""

TELLING = {"epsilon", "rho", "mu", "sensitivity", "trials", "rng"}
"""A function that has a parameter for one of these is called whatever its input is named; of others only some are."""

UTILITIES = ("utilities", "scores", "qualities", "weights")
VECTORS = (*UTILITIES, "records", "data", "dataset", "values", "xs", "rows", "column")
NUMBERS = ("value", "answer", "x", "count", "total", "number", "true_answer", "true_value", "true_count")
SELECTING = {"select", "choose", "exponential", "noisy", "max", "argmax", "best"}
SUMMING, AVERAGING = {"sum", "total"}, {"mean", "average", "avg"}
PRIVATE = {"private", "privately", "dp", "noise", "noisy", "laplace", "gaussian", "randomise", "randomize", "mechanism"}
"""Words in the names of functions."""

GAUSSIAN = ("normal", "gauss", "randn")

QUESTIONS: Mapping[str, tuple[str, str]] = {
    "release": ("how is {} called?", "a function of one value, or release(input, trials, rng)"),
    "epsilon": ("which ε does {} claim?", "a number, such as 1.0"),
    "sensitivity": ("how far may the answer of {} move between neighbours?", "a number, such as 1.0"),
    "bounds": ("to which bounds does {} clip a record?", "such as (0.0, 1.0)"),
    "relation": ("which datasets are neighbours for {}?", "'add-remove', 'substitute', or None for both"),
    "pairs": (
        "on which neighbours shall {} be tried?",
        "such as [NeighbouringPair.records([1.0, 2.0], [1.0], Relation.ADD_REMOVE)]",
    ),
}
"""What only the author knows: the question about a mechanism, and what an answer looks like."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What looks like a mechanism.

    Attributes:
        name: `function`, `Class.method`, or the name of a `Target`.
        made_with: of a method, the arguments that its object is made with, in Python; None for a function.
        input: the name of the parameter that takes the input; empty for a target, and where nothing could be called.
        is_named: whether the input is passed by its name.
        passed: the other arguments in Python, by the names of the parameters.
        many: whether one call gives an output for each trial.
        kind: of the target.
        claim: the arguments of the target's constructor in Python; empty where only the author knows.
        seen: what it did, in words.
        guesses: what follows from names or from what was seen, each with its reason.
    """

    name: str
    made_with: Mapping[str, str] | None = None
    input: str = ""
    is_named: bool = False
    passed: Mapping[str, str] = field(default_factory=dict)
    many: bool = False
    kind: Kind = Kind.DATASET
    claim: Mapping[str, str] = field(default_factory=dict)
    seen: str
    guesses: tuple[str, ...] = ()

    @property
    def unknown(self) -> list[str]:
        """The arguments that only the author knows."""
        return [name for name, value in self.claim.items() if not value]


@dataclass(frozen=True)
class Rejected:
    """What does not look like a mechanism, and why."""

    name: str
    reason: str


def candidates(module: str, root: str) -> list[Candidate | Rejected]:
    """Look at every public function, method and target that a module defines, each in a fresh process.

    Args:
        module: its name.
        root: a folder to import it from; empty for one that can be imported as it is.

    Raises:
        UsageError: it cannot be imported, or is another module than that in the folder.
    """
    looked: list[Candidate | Rejected] = []
    try:
        names = run_in_fresh_process(names_in, module, root, seconds=SECONDS)
    except NoAnswer as error:
        raise UsageError(f"module {module} cannot be imported: {in_one_line(error)}") from error
    for name in names:
        try:
            looked.append(run_in_fresh_process(look_at, module, root, name, seconds=SECONDS))
        except NoAnswer as error:
            looked.append(_by_name(name, (), f"not called to its end: {in_one_line(error)}"))
    return looked


def names_in(module: str, root: str) -> list[str]:
    """The public functions, methods and targets that a module defines itself, as `candidates` names them."""
    loaded, names = _loaded(module, root), []
    for name, value in vars(loaded).items():
        if name.startswith("_") or (inspect.isroutine(value) and value.__module__ != loaded.__name__):
            continue
        if inspect.isfunction(value) or isinstance(value, Target):
            names.append(name)
        elif inspect.isclass(value) and value.__module__ == loaded.__name__:
            methods = [key for key, member in vars(value).items() if inspect.isfunction(member) and key[0] != "_"]
            names += [f"{name}.{key}" for key in methods]
    return names


def look_at(module: str, root: str, name: str) -> Candidate | Rejected:
    """Look at one of them, in this process, whose samplers are watched from now on."""
    drawn = watch_noise()
    loaded = _loaded(module, root)
    first, _, method = name.partition(".")
    thing = getattr(loaded, first)
    if isinstance(thing, Target):
        return Candidate(name=name, kind=thing.kind, seen=f"a Target of kind {thing.kind}, which has its own claim")
    made_with = _Arguments.of(thing, name) if method else None
    if made_with is not None and (made_with.inputs or made_with.roles.keys() & {"trials", "bits"}):
        return _by_name(name, made_with.roles, f"not called: nothing says how a {first} is made")
    function = getattr(thing, method) if method else thing
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        return Rejected(name, "gives a coroutine or a generator; write a function that returns what is released")
    taken = _Arguments.of(function, name, skipped=1 if method else 0)
    roles = {**(made_with.roles if made_with else {}), **taken.roles}
    if "bits" in roles:
        return Rejected(name, "takes its random bits from a source, so that it can be proved: see attacklab prove")
    if not taken.inputs:
        return Rejected(name, "takes no input")
    if len(taken.inputs) > 1:
        return _by_name(name, roles, f"not called: nothing says what to pass for {' and '.join(taken.inputs)}")
    if taken.inputs[0] not in (*VECTORS, *NUMBERS) and not roles.keys() & TELLING:
        return _by_name(name, roles, f"not called: {taken.inputs[0]} may be anything, and no other parameter is known")
    return _called(name, thing, method, made_with, taken, drawn)


@dataclass
class _Arguments:
    """What is known of the parameters of a function: what each is for, and which are left over as inputs."""

    roles: dict[str, str]
    passed: dict[str, str]
    inputs: list[str]
    is_named: bool
    takes_integers: bool

    @classmethod
    def of(cls, function: Callable[..., Any], name: str, skipped: int = 0) -> _Arguments:
        try:
            parameters = list(inspect.signature(function).parameters.values())[skipped:]
        except (TypeError, ValueError) as error:
            raise UsageError(f"{name} does not say which parameters it takes: {in_one_line(error)}") from error
        roles, passed, inputs = {}, {}, []
        for parameter in parameters:
            role = next((role for role, names in ROLES.items() if parameter.name.lower() in names), "")
            if role:
                roles[role] = passed[parameter.name] = _passed(role, parameter)
            elif parameter.default is parameter.empty and parameter.kind not in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                inputs.append(parameter)
        is_named = bool(inputs) and (inputs[0] is not parameters[0] or inputs[0].kind is inputs[0].KEYWORD_ONLY)
        takes_integers = bool(inputs) and inputs[0].annotation in (int, "int")
        return cls(roles, passed, [parameter.name for parameter in inputs], is_named, takes_integers)


def _passed(role: str, parameter: inspect.Parameter) -> str:
    default = parameter.default
    if role not in VALUES or not isinstance(default, Real) or isinstance(default, bool) or not math.isfinite(default):
        return VALUES.get(role, role)
    return repr(int(default) if isinstance(default, Integral) else float(default))


def _called(
    name: str,
    thing: Any,
    method: str,
    made_with: _Arguments | None,
    taken: _Arguments,
    drawn: list[str],
) -> Candidate | Rejected:
    """What a few calls show, on the first of the small inputs that it takes."""
    roles = {**(made_with.roles if made_with else {}), **taken.roles}
    many, failed = "trials" in taken.roles, ""
    for value in _inputs(taken):
        rng = np.random.default_rng(1)
        given = {"rng": rng, "trials": TRIALS}
        values = {key: given[text] if text in given else ast.literal_eval(text) for key, text in taken.passed.items()}
        try:
            function = thing
            if made_with is not None:
                made = {key: rng if text == "rng" else ast.literal_eval(text) for key, text in made_with.passed.items()}
                function = getattr(thing(**made), method)
            drawn.clear()
            outputs = [
                function(**{taken.inputs[0]: value}, **values) if taken.is_named else function(value, **values)
                for _ in range(CALLS)
            ]
        except BaseException as error:
            if passes_through(error):
                raise
            failed = in_one_line(error)
            continue
        samplers = list(dict.fromkeys(drawn))
        if not samplers and len({repr(output) for output in outputs}) == 1:
            return Rejected(name, "drew no noise, and gave the same output every time")
        if all(output is None for output in outputs):
            return Rejected(name, "returns nothing")
        return _described(name, made_with, taken, roles, many, value, outputs, samplers)
    return _by_name(name, roles, f"not called to its end: it raised {failed}")


def _inputs(taken: _Arguments) -> list[Any]:
    """Small inputs to try, the likeliest first."""
    numbers: list[Any] = [3, 3.0] if taken.takes_integers else [3.0, 3]
    vectors: list[Any] = [np.array([0.0, 1.0, 1.0, 0.0]), [0.0, 1.0, 1.0, 0.0]]
    return [*vectors, *numbers] if taken.inputs[0] in VECTORS else [*numbers, *vectors]


def _described(
    name: str,
    made_with: _Arguments | None,
    taken: _Arguments,
    roles: Mapping[str, str],
    many: bool,
    value: Any,
    outputs: Sequence[Any],
    samplers: Sequence[str],
) -> Candidate:
    single = [np.asarray(output).ravel()[0] if many and np.size(output) else output for output in outputs]
    kind, why = _kind(name, taken.inputs[0], value, single)
    claim, guesses = _claim(kind, roles, samplers)
    passed = {**(made_with.passed if made_with else {}), **taken.passed}
    chosen = ", ".join(f"{key}={text}" for key, text in passed.items() if text not in ("rng", "trials"))
    guesses[:0] = [f"it is passed {chosen}"] if chosen else []
    if kind in (Kind.NOISE, Kind.SELECTION) and isinstance(value, int):
        reason = "is declared as int" if taken.takes_integers else "was refused where it was not whole"
        claim["domain"] = "Domain(integers=True)"
        guesses.append(f"it takes integers, because {taken.inputs[0]} {reason}")
    elif kind is Kind.NOISE:
        guesses.append("it takes every number; if not, add a domain, such as domain=Domain(integers=True)")
    shown = ", ".join(_short(output) for output in single)
    noise = f"drew {', '.join(samplers)}" if samplers else "called no sampler that is known, yet its outputs differ"
    return Candidate(
        name=name,
        made_with=made_with.passed if made_with else None,
        input=taken.inputs[0],
        is_named=taken.is_named,
        passed=taken.passed,
        many=many,
        kind=kind,
        claim=claim,
        seen=f"on {_short(value)} it gave {shown}, and {noise}",
        guesses=(f"kind {kind}, because {why}", *guesses),
    )


def _short(value: Any) -> str:
    return plain(repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)[:60])


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _kind(name: str, input_name: str, value: Any, outputs: Sequence[Any]) -> tuple[Kind, str]:
    """The kind of target, and what speaks for it."""
    words = _words(name)
    if not all(map(_is_number, outputs)):
        return Kind.DATASET, "its outputs are not numbers"
    if not isinstance(value, list | np.ndarray):
        return Kind.NOISE, "it takes a number and gives a number"
    is_index = all(isinstance(output, Integral) and 0 <= int(output) < len(value) for output in outputs)
    if is_index and (input_name in UTILITIES or words & SELECTING):
        return Kind.SELECTION, f"it takes {input_name}, and its outputs are places in it"
    for kind, known in ((Kind.SUM, SUMMING), (Kind.MEAN, AVERAGING)):
        if words & known:
            return kind, f"it takes {input_name} and gives a number, and its name says {' and '.join(words & known)}"
    return Kind.DATASET, f"it takes {input_name}, and its name does not say which number it gives"


def _claim(kind: Kind, roles: Mapping[str, str], samplers: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The claim and what else a target of this kind is told, in Python, and which of it is a guess."""
    claim: dict[str, str] = {}
    guesses: list[str] = []
    scale = roles.get("scale", "")
    inverse = repr(1 / float(scale)) if scale and float(scale) > 0 else ""
    drew = {sampler.rpartition(".")[2] for sampler in samplers}
    if "epsilon" in roles:
        claim |= {role: roles[role] for role in ("epsilon", "delta") if role in roles}
        guesses.append(f"it claims that {' and that '.join(claim)}")
    elif "rho" in roles or "mu" in roles:
        role, name = ("rho", "ZeroConcentrated") if "rho" in roles else ("mu", "GaussianDP")
        claim["claim"] = f"{name}({roles[role]})"
        guesses.append(f"it claims that {role}")
    elif inverse and kind is Kind.NOISE and "laplace" in drew:
        claim |= {"epsilon": inverse, "sensitivity": "1.0"}
        guesses.append(f"Laplace noise of scale {scale} is for ε = {inverse} at sensitivity 1")
    elif inverse and kind is Kind.NOISE and any(word in name for name in drew for word in GAUSSIAN):
        claim |= {"claim": f"GaussianDP({inverse})", "sensitivity": "1.0"}
        guesses.append(f"Gaussian noise of scale {scale} is for μ = {inverse} at sensitivity 1")
    else:
        claim["epsilon"] = ""
    if kind in (Kind.NOISE, Kind.SELECTION):
        claim.setdefault("sensitivity", roles.get("sensitivity", ""))
    if kind in (Kind.SUM, Kind.MEAN):
        pair = f"({roles['lower']}, {roles['upper']})" if {"lower", "upper"} <= roles.keys() else ""
        claim |= {"bounds": roles.get("bounds", pair), "relation": ""}
    if kind is Kind.DATASET:
        claim["pairs"] = ""
    return claim, guesses


def _by_name(name: str, roles: Mapping[str, str] | Sequence[str], why: str) -> Candidate | Rejected:
    """What its names alone say of a function that was not called."""
    telling = [*(_words(name) & PRIVATE), *({"epsilon", "rho", "mu", "sensitivity"} & set(roles))]
    if not telling:
        return Rejected(name, why)
    unknown = {"release": "", "epsilon": "", "pairs": ""}
    guess = f"a mechanism, by its names alone ({', '.join(sorted(telling))})"
    return Candidate(name=name, claim=unknown, seen=why, guesses=(guess,))


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+", name)}


def _loaded(module: str, root: str) -> ModuleType:
    sys.path[:0] = [root] if root else []
    try:
        loaded = importlib.import_module(module)
    except BaseException as error:
        if passes_through(error):
            raise
        raise UsageError(f"module {module} cannot be imported: {in_one_line(error)}") from error
    file = Path(loaded.__file__ or "")
    if root and not file.resolve().is_relative_to(Path(root).resolve()):
        raise UsageError(f"{module} is another module here, {file}; rename the one in {root}")
    return loaded
