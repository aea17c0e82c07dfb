"""Loads a target by its name, as the command line writes it."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from attacklab.libraries import adapter_module, library_of, near_library
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Renyi, ZeroConcentrated, claim_from_json
from attacklab.model.domains import Domain
from attacklab.model.errors import UsageError, UsageTypeError, in_one_line, passes_through
from attacklab.model.random_bits import SeededBits
from attacklab.model.releases import as_release, member, module_at, name_of, parameters_of, require_no_class, version_of
from attacklab.model.stage import Stage
from attacklab.model.targets import Kind, Sampler, Target, described

CLAIM_PARAMETERS = ("rho", "mu", "rdp")
"""The parameters (of options, markers, and functions that make targets) for claims other than (ε, δ)-DP."""


def load_target(
    spec: str, *, kind: Kind | None = None, claim: Claim | None = None, **parameters: Any
) -> Target | Stage:
    """Load a target or a stage by its name.

    Args:
        spec: `path/to/file.py:name`, `package.module:name` or `library:mechanism`. Without a `kind`, the name is a
            `Target`, a stage, or a function that makes one or returns a dict that describes one; the function is called
            with `epsilon`, and the parameters of `claim`, if they are set. With a `kind`, the name is a release
            function, a sampler, or a function (or `object.method`) of one value.
        kind: the kind of target to make from a bare function.
        claim: a claim of any other kind, instead of ε and δ.
        **parameters: other arguments of the constructor of that kind (epsilon, delta, sensitivity, bounds,
            noise_scale, relation). A bare function needs an epsilon or a claim.

    Raises:
        UsageError: the name cannot be found or is not a target; the message says what to write instead.
    """
    place, name = place_and_name(spec)
    bare = "not a function; name a sampler or a release function"
    module, value = _found(spec, "neither a Target nor a function" if kind is None else bare, Target | Stage)
    require_no_class(value)
    target: Target | Stage
    if isinstance(value, Target | Stage):
        if kind is not None or claim is not None or parameters:
            also = "the kind and " * (kind is not None)
            raise UsageError(f"{spec} is a target with a claim of its own; leave {also}the parameters out")
        target = value
    elif kind is not None:
        target = made_target(kind, value, **{"claim": claim, "name": name, **parameters})
    else:
        target = _called(value, spec, {**claim_parameters(claim), **parameters})
    if adapter_module(place):
        target = replace(target, name=spec)
    return replace(target, version=version_of(module)) if target.version == "unknown" else target


def _found(spec: str, wanted: str, also: Any = ()) -> tuple[ModuleType, Any]:
    """Return the module and object of `spec`. If it is neither callable nor of type `also`, an error says `wanted`."""
    place, name = place_and_name(spec)
    module = _module(adapter_module(place) or place)
    with _as_usage_error(f"{spec} cannot be looked up: it raised "):  # an object may compute its attributes
        value = member(module, name)
    if value is None:
        library = library_of(spec)
        known = sorted(library.mechanisms if library else _targets_in(module))
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"targets in it: {', '.join(known) or 'none'}"
        raise UsageError(f"{place} has no {name!r}; {hint}")
    if not (callable(value) or isinstance(value, also)):
        raise UsageTypeError(f"{spec} is {described(value)}, {wanted}")
    return module, value


def load_function(spec: str) -> Callable[..., Any]:
    """Load a plain function by its name, `path/to/file.py:name` or `package.module:name`.

    Raises:
        ValueError: the name cannot be found or cannot be called; the message says what to write instead.
    """
    function: Callable[..., Any] = _found(spec, f"not a function; name one that {place_and_name(spec)[0]} defines")[1]
    return function


@contextlib.contextmanager
def _as_usage_error(prefix: str, hint: str = "") -> Iterator[None]:
    """Turn an exception in the `with` block into a UsageError: `prefix`, the exception and `hint`, in one line."""
    try:
        yield
    except BaseException as error:
        if passes_through(error):
            raise
        if isinstance(error, ModuleNotFoundError) and error.name:
            hint = hint or f"; install {error.name} in {sys.prefix}, or check its name"
        raise UsageError(f"{prefix}{in_one_line(error)}{hint}") from error


def place_and_name(spec: str) -> tuple[str, str]:
    """Split a target's name at its last colon: a file, module or library, and a name in it.

    Raises:
        UsageError: one of the two parts is missing.
    """
    place, separator, name = spec.rpartition(":")
    if not separator or not place or not name:
        raise UsageError(
            f"target {spec!r} must be written path/file.py:name or package.module:name or library:mechanism"
        )
    return place, name


def made_target(kind: Kind, release: Callable[..., Any], **parameters: Any) -> Target:
    """Make a target of this kind from a release or a sampler.

    Args:
        kind: the kind of target, which says what its input is.
        release: a release `release(input, trials, rng)`; a function of one value, which is called once a trial; or a
            sampler `sampler(input, bits)`, which is audited on seeded bits, and can be proved.
        **parameters: the claim, and other arguments of the constructor of that kind.

    Raises:
        UsageError: the constructor of this kind does not take these parameters, one is out of range, or the function
            cannot be called as any of these.
    """
    require_no_class(release)
    if takes_bits(release):
        return _from_sampler(kind, release, **parameters)
    if kind in (Kind.SUM, Kind.MEAN):
        parameters.setdefault("bounds", None)  # which the target refuses by name
    target: Target = getattr(Target, kind)(as_release(release), **parameters)
    return target


def takes_bits(function: Callable[..., Any]) -> bool:
    """Whether a function is a sampler: it has a parameter named `bits`."""
    return any(parameter.name == "bits" for parameter in parameters_of(function))


def _from_sampler(kind: Kind, sampler: Sampler, **parameters: Any) -> Target:
    name, accepted = name_of(sampler), parameters_of(sampler)
    needed = [parameter for parameter in accepted if parameter.default is parameter.empty]
    if [parameter.name for parameter in accepted[1:2]] != ["bits"] or len(needed) > 2:
        told = ", ".join(parameter.name for parameter in accepted)
        raise UsageError(
            f"{name} takes ({told}), but a sampler is called as sampler(input, bits); "
            "wrap it in a function of these two"
        )

    def release(input_: Any, trials: int, rng: np.random.Generator) -> list[Any]:
        bits = SeededBits(rng)
        return [sampler(input_, bits) for _ in range(trials)]

    return made_target(kind, release, **{"name": name, **parameters}).exact(sampler)


def claim_of(parameter: str, value: Any) -> Claim:
    """Return the claim that one of `CLAIM_PARAMETERS` stands for.

    Args:
        parameter: rho, mu or rdp.
        value: ρ for rho, μ for mu; for rdp a mapping from α to ε, or pairs (α, ε).

    Raises:
        UsageError: the value is out of range. If its type is wrong, this is a `UsageTypeError`.
    """
    if parameter != "rdp":
        return {"rho": ZeroConcentrated, "mu": GaussianDP}[parameter](value)
    try:
        alphas, epsilons = zip(*(value.items() if isinstance(value, Mapping) else value), strict=True)
    except (TypeError, ValueError):
        raise UsageTypeError(f"rdp must be {{alpha: epsilon}} or pairs (alpha, epsilon), not {value!r}") from None
    return Renyi(alphas, epsilons)


def claim_parameters(claim: Claim | None) -> dict[str, Any]:
    """Return the keyword arguments by which a function makes a target with this claim; {} for None.

    Raises:
        UsageError: there are no such arguments for this kind of claim.
    """
    if claim is None:
        return {}
    if isinstance(claim, Renyi):
        return {"rdp": claim.pairs}
    if isinstance(claim, PrivacyClaim | ZeroConcentrated | GaussianDP):
        return {name: value for name, value in claim.to_json().items() if name != "kind" and (value or name != "delta")}
    raise UsageError(f"a function that makes a target cannot be asked for {claim}; give it a kind, or make the target")


def _called(maker: Callable[..., Any], spec: str, parameters: dict[str, Any]) -> Target | Stage:
    guess = "a sampler" if takes_bits(maker) else "a release function"
    needed = f"{spec} looks like {guess}; add --kind and --epsilon, or name a Target"
    signature = inspect.signature(maker)
    try:
        signature.bind(**parameters)
    except TypeError as error:
        unknown = [name for name in parameters if name not in signature.parameters]
        if all(parameter.default is not parameter.empty for parameter in signature.parameters.values()):
            raise UsageError(f"{spec} takes no {' or '.join(unknown)}; leave that out") from error
        raise UsageError(f"{needed} ({error})") from error
    with _as_usage_error(f"{spec} raised "):
        result = maker(**parameters)
    if isinstance(result, dict):
        return described_target(result, spec, getattr(maker, "__name__", spec.rpartition(":")[2]))
    if not isinstance(result, Target | Stage):
        raise UsageError(f"{needed} (it returned {described(result)})")
    return result


def described_target(description: dict[str, Any], spec: str, name: str) -> Target:
    """Make the target that a dict of plain values describes.

    Args:
        description: the kind, the release, the claim, and other arguments of the constructor of that kind.
        spec: what messages call the description.
        name: the target's name, unless the description has a name.

    Raises:
        UsageError: an entry is missing, out of range or not one that this kind of target has.
    """
    rest = {key: value for key, value in description.items() if key not in ("kind", "release")}
    if description.get("kind") not in list(Kind) or "release" not in description:
        message = f"{spec} returned a dict with {', '.join(map(str, description)) or 'no keys'}"
        raise UsageError(f"{message}; it must have a release, and a kind out of {', '.join(Kind)}")
    if not all(isinstance(key, str) for key in rest):
        raise UsageError(f"{spec} returned a dict with keys that are not strings; name its entries by strings")
    if not isinstance(rest.get("claim"), Claim | None):
        with _as_usage_error(f"the claim in what {spec} returned: "):
            rest["claim"] = claim_from_json(rest["claim"])
    if isinstance(rest.get("domain"), dict):
        rest["domain"] = Domain.from_json(rest["domain"])
    return made_target(Kind(description["kind"]), description["release"], **{"name": name, **rest})


def _module(place: str) -> ModuleType:
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise UsageError(f"there is no file {place}; check the path")
        with _as_usage_error(f"{place} cannot be loaded: "):
            return module_at(place)
    if Path(place).is_file():
        raise UsageError(f"{place} is not a Python file: its name must end in .py")
    here, is_new = str(Path.cwd()), str(Path.cwd()) not in sys.path
    sys.path[:0] = [here] * is_new
    try:
        with _as_usage_error(f"module {place} cannot be imported: ", near_library(place)):
            return module_at(place)
    finally:
        if is_new:  # from now on last, so that no file here hides a module that this lab has yet to import
            sys.path.sort(key=here.__eq__)


def _targets_in(module: ModuleType) -> list[str]:
    functions = {name: value.__module__ for name, value in vars(module).items() if inspect.isfunction(value)}
    public = [name for name, home in functions.items() if home == module.__name__ and not name.startswith("_")]
    offered = functions.keys() & set(getattr(module, "__all__", None) or public)
    return [name for name, value in vars(module).items() if isinstance(value, Target) or name in offered]
