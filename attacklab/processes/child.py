"""The child's side of an isolated Python target: loads it, then answers requests until its input ends.

Run by its path, `python child.py TARGET SETTINGS`, in an interpreter that may have nothing but numpy installed. So it
imports nothing of the package, and loads the few modules that both sides use from their files. It first writes one line
of greeting, which describes what was loaded, and then follows docs/reference/protocol.md. It looks for a fault that
makes findings meaningless and that only this process can see: arithmetic that does not follow IEEE 754.
"""

from __future__ import annotations

import enum
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import random
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

try:
    import numpy as np
except ImportError:
    sys.exit(f"{sys.executable} has no numpy, which targets in it need; install it there")

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120

LOADING = "cannot be loaded"
NEEDS_CLAIM = "looks like a release function; add --kind and --epsilon, or name a Target"


class _Fault(Exception):
    """A failure, with the protocol's word for its kind."""

    def __init__(self, failure: str, message: str) -> None:
        super().__init__(message)
        self.failure = failure


def _from_file(path: str, name: str) -> tuple[ModuleType, Any]:
    """A module that a file defines, not yet executed, and the loader that executes it."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _Fault(LOADING, f"{path} is not a Python file; its name must end in .py")
    return importlib.util.module_from_spec(spec), spec.loader


if TYPE_CHECKING:
    from attacklab.model import errors, releases
    from attacklab.processes import codec
else:
    # Under no name in `sys.modules`: there a target could find them, or take them for modules of its own.
    codec, _loader = _from_file(os.path.join(HERE, "codec.py"), "attacklab_codec")  # noqa: PTH118
    _loader.exec_module(codec)
    _package = os.path.dirname(HERE)  # noqa: PTH120

    def _ours(name: str) -> Any:
        module, loader = _from_file(os.path.join(_package, "model", f"{name}.py"), f"attacklab_{name}")  # noqa: PTH118
        loader.exec_module(module)
        return module

    errors, releases = map(_ours, ("errors", "releases"))


def arithmetic_fault() -> str | None:
    """How this process departs from IEEE 754, or None; the operands are variables, so that nothing is folded."""
    least_normal, one, half_ulp, least_subnormal = 2.0**-1022, 1.0, 2.0**-53, 5e-324
    if least_normal * 0.5 == 0 or least_subnormal * one == 0 or least_subnormal + least_subnormal == least_subnormal:
        return "subnormal numbers are flushed to zero"
    nearest = (one + half_ulp, one + 1.5 * half_ulp, one + 3 * half_ulp, -one - half_ulp)
    if nearest != (1.0, 1.0000000000000002, 1.0000000000000004, -1.0):
        return "sums are not rounded to nearest, ties to even"
    return None


def main() -> None:
    """Load the target that the command line names, greet, and answer every request."""
    spec, settings = sys.argv[1], json.loads(sys.argv[2])
    # The target must not find the modules beside this file under their short names.
    sys.path[:] = [os.getcwd(), *(place for place in sys.path if os.path.abspath(place) != HERE)]  # noqa: PTH100, PTH109
    requests, answers = _private_streams()
    try:
        release, greeting = _loaded(spec, settings)
    except BaseException as error:  # a panic is not an Exception
        message = str(error) if isinstance(error, _Fault) else f"{spec}: {errors.in_one_line(error)}"
        _send(answers, {"error": message, "failure": LOADING})
        return
    _send(answers, greeting)
    for line in requests:
        request = json.loads(line)
        try:
            _send(answers, _answer(_outputs(release, request)))
        except _Fault as fault:
            _send(answers, {"error": str(fault), "failure": fault.failure})
        except BaseException as error:  # a panic is not an Exception
            failure = {"failure": "memory limit"} if isinstance(error, MemoryError) else {}
            _send(answers, {"error": errors.in_one_line(error), **failure})


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes of the protocol private: the target reads an empty input and prints to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _send(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


def _loaded(spec: str, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The release that a command line names, and the greeting that describes it."""
    place, _, name = spec.rpartition(":")
    module = _module(place)
    named: Any = releases.member(module, name)
    if named is None:
        raise _Fault(LOADING, f"{place} has no {name!r}; check the name")
    _checked(releases.require_no_class, named)
    version, kind, parameters = _version(module), settings["kind"], codec.decoded(settings["parameters"])
    if settings["relation"] is not None:
        parameters["relation"] = settings["relation"]
    if hasattr(named, "release"):
        if kind is not None or parameters:
            surplus = "the parameters" if kind is None else "the kind and the parameters"
            raise _Fault(LOADING, f"{spec} is a target with a claim of its own; leave {surplus} out")
        return _described(spec, named, version)
    if not callable(named):
        wanted = "neither a Target nor a function" if kind is None else "not a release function"
        raise _Fault(LOADING, f"{spec} is of type {type(named).__name__}, {wanted}")
    if kind is not None:
        return _checked(releases.as_release, named), {"kind": kind, "version": version}
    return _described(spec, _made(spec, named, parameters), version)


def _described(spec: str, target: Any, version: str) -> tuple[Any, dict[str, Any]]:
    """The release of a target, or of the dict that describes it, and the greeting."""
    if isinstance(target, dict):
        plain = {key: None if key == "release" else _plain(value) for key, value in target.items()}
        release = _checked(releases.as_release, target["release"]) if "release" in target else None
        return release, {"kind": plain.get("kind"), "version": version, "described": codec.written(plain)}
    if not (hasattr(target, "release") and hasattr(target, "claim")):
        raise _Fault(LOADING, f"{spec} {NEEDS_CLAIM}")
    properties = {key: codec.encoded(getattr(target, key)) for key in ("sensitivity", "bounds", "noise_scale")}
    return _checked(releases.as_release, target.release), {
        "kind": str(target.kind),
        "version": version if target.version == "unknown" else target.version,
        "name": target.name,
        "relation": target.relation,
        "claim": codec.written(_plain(target.claim)),
        "domain": _plain(getattr(target, "domain", None)),
        "target": properties,
    }


def _checked(check: Any, value: Any) -> Any:
    try:
        return check(value)
    except TypeError as error:
        raise _Fault(LOADING, str(error)) from error


def _made(spec: str, function: Any, parameters: dict[str, Any]) -> Any:
    """The target that a function makes of the parameters, or the dict that describes it."""
    signature = inspect.signature(function)
    try:
        signature.bind(**parameters)
    except TypeError as error:
        unknown = [name for name in parameters if name not in signature.parameters]
        if all(parameter.default is not parameter.empty for parameter in signature.parameters.values()):
            raise _Fault(LOADING, f"{spec} takes no {' or '.join(unknown)}; leave that out") from error
        raise _Fault(LOADING, f"{spec} {NEEDS_CLAIM} ({error})") from error
    return function(**parameters)


def _plain(value: Any) -> Any:
    """A part of a target as JSON; it may be an object of the attacklab there, which may be an old one."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "epsilon"):
        return {"epsilon": value.epsilon, "delta": value.delta}
    return value.value if isinstance(value, enum.Enum) else value


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    stem = os.path.splitext(os.path.basename(place))[0]  # noqa: PTH119, PTH122
    module, loader = _from_file(place, stem)
    sys.modules.setdefault(stem, module)
    folder = os.path.dirname(os.path.abspath(place))  # noqa: PTH100, PTH120
    if folder not in sys.path:  # last, so that it hides no installed module
        sys.path.append(folder)
    loader.exec_module(module)
    return module


def _version(module: ModuleType) -> str:
    distribution = getattr(module, "DISTRIBUTION", None)
    if distribution is not None:
        from importlib import metadata  # here, since only targets that name a distribution need it

        try:
            return f"{distribution} {metadata.version(distribution)}"
        except metadata.PackageNotFoundError as error:
            raise _Fault(LOADING, f"{distribution} is not installed in {sys.prefix}") from error
    declared = getattr(module, "__version__", None)
    if declared is not None:
        return str(declared)
    if module.__file__ is None:
        return "unknown"
    with open(module.__file__, "rb") as file:  # noqa: PTH123
        return "sha256:" + hashlib.sha256(file.read()).hexdigest()[:16]


def _outputs(release: Any, request: dict[str, Any]) -> Any:
    """Call the release once.

    The global generators are seeded too, so that a target that draws from them replays.
    """
    _require_arithmetic("before")
    seed, trials = request["seed"], request["trials"]
    random.seed(seed)
    np.random.seed([seed >> 32, seed & 0xFFFFFFFF])
    with releases.in_one_process(), np.errstate(all="ignore"):
        input_, rng = codec.decoded(request["input"]), np.random.default_rng(seed)
        released = release(input_, trials, rng)
        outputs = releases.gathered(released, trials)  # which runs what gives one output after another
    _require_arithmetic("after")
    if outputs is None:
        raise _Fault("garbage", f"it returned {type(released).__name__}, not an array or a list of outputs")
    return outputs


def _require_arithmetic(when: str) -> None:
    fault = arithmetic_fault()
    if fault is not None:
        raise _Fault("arithmetic mode", f"{fault} {when} a call")


def _answer(outputs: Any) -> dict[str, Any]:
    try:
        if type(outputs) is np.ndarray and codec.NUMBERS.fullmatch(outputs.dtype.str[1:]):
            return {"values": codec.written(outputs)}
        return {"values": [codec.written(output) for output in outputs]}
    except TypeError as error:
        raise _Fault("garbage", f"its outputs: {error}") from error


if __name__ == "__main__":
    main()
