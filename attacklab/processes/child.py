"""The child's side of an isolated Python target: loads it, then answers requests until its input ends.

Run by its path, `python child.py TARGET SETTINGS`, in an interpreter that may have nothing but numpy installed. So it
imports nothing of the package, loads the few modules that both sides use from their files, and keeps to what Python 3.8
can read. It first writes one line of greeting, which describes what was loaded, and then follows
docs/reference/protocol.md. It also looks for a fault that makes findings meaningless and that only this process can
see: arithmetic that does not follow IEEE 754.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import os
import random
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

try:
    import numpy as np
except ImportError:
    sys.exit(f"{sys.executable} has no numpy, which targets in it need; install it there")

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120

LOADING = "cannot be loaded"


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
    from attacklab import gathering, loaded_code, raised, releases
    from attacklab.processes import codec
else:
    # Under no name in `sys.modules`: there a target could find them, or take them for modules of its own.
    codec, _loader = _from_file(os.path.join(HERE, "codec.py"), "attacklab_codec")  # noqa: PTH118
    _loader.exec_module(codec)
    _package = os.path.dirname(HERE)  # noqa: PTH120

    def _ours(name: str) -> Any:
        module, loader = _from_file(os.path.join(_package, f"{name}.py"), f"attacklab_{name}")  # noqa: PTH118
        loader.exec_module(module)
        return module

    gathering, loaded_code, raised, releases = map(_ours, ("gathering", "loaded_code", "raised", "releases"))


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
        message = str(error) if isinstance(error, _Fault) else f"{spec}: {raised.in_one_line(error)}"
        _send(answers, {"error": message, "failure": LOADING})
        return
    _send(answers, {**greeting, "code": loaded_code.loaded_modules()[0]})
    for line in requests:
        request = json.loads(line)
        if isinstance(request["input"], dict) and "binary" in request["input"]:
            code, shape = request["input"]["binary"], request["input"]["shape"]
            request["frame"] = requests.read(codec.frame_size(code, math.prod(shape)))
        try:
            head, frame = _answer(_outputs(release, request))
        except _Fault as fault:
            head, frame = {"error": str(fault), "failure": fault.failure}, b""
        except MemoryError as error:
            head, frame = {"error": raised.in_one_line(error), "failure": "memory limit"}, b""
        except BaseException as error:  # a panic is not an Exception
            head, frame = {"error": raised.in_one_line(error)}, b""
        _send(answers, head, frame)


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes of the protocol private: the target reads an empty input and prints to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _send(answers: BinaryIO, head: dict[str, Any], frame: bytes = b"") -> None:
    answers.write(json.dumps(head).encode() + b"\n")
    answers.write(frame)
    answers.flush()


def _loaded(spec: str, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    place, _, name = spec.rpartition(":")
    module = _module(place)
    found: Any = releases.member(module, name)
    if found is None:
        raise _Fault(LOADING, f"{place} has no {name!r}; check the name")
    try:
        releases.require_no_class(found)
    except TypeError as error:
        raise _Fault(LOADING, str(error)) from error
    version = _version(module)
    if settings["kind"] is not None:
        if hasattr(found, "release"):
            raise _Fault(LOADING, f"{spec} is a target with a claim of its own; leave the kind and the parameters out")
        if not callable(found):
            raise _Fault(LOADING, f"{spec} is of type {type(found).__name__}, not a release function")
        return _as_release(found), {"kind": settings["kind"], "version": version}
    parameters = {
        key: tuple(codec.decoded(value)) if isinstance(value, list) else codec.decoded(value)
        for key, value in settings["parameters"].items()
    }
    if settings["relation"] is not None:
        parameters["relation"] = settings["relation"]
    needed = f"{spec} looks like a release function; add --kind and --epsilon, or name a Target"
    if not hasattr(found, "release"):
        if not callable(found):
            raise _Fault(LOADING, f"{spec} is of type {type(found).__name__}, neither a Target nor a function")
        taken = inspect.signature(found)
        try:
            taken.bind(**parameters)
        except TypeError as error:
            unknown = [name for name in parameters if name not in taken.parameters]
            if all(one.default is not one.empty for one in taken.parameters.values()):
                raise _Fault(LOADING, f"{spec} takes no {' or '.join(unknown)}; leave that out") from error
            raise _Fault(LOADING, f"{needed} ({error})") from error
        found = _from_description(found(**parameters), name)
    elif parameters:
        raise _Fault(LOADING, f"{spec} is a target with a claim of its own; leave the parameters out")
    if not (hasattr(found, "release") and hasattr(found, "claim")):
        raise _Fault(LOADING, needed)
    return _as_release(found.release), {
        "kind": str(found.kind),
        "version": version if found.version == "unknown" else found.version,
        "name": found.name,
        "relation": found.relation,
        "claim": codec.encoded_claim(_plain_claim(found.claim)),
        "domain": _plain_domain(getattr(found, "domain", None)),
        "target": {
            key: codec.encoded(value)
            for key, value in {
                "sensitivity": found.sensitivity,
                "bounds": found.bounds,
                "noise_scale": found.noise_scale,
            }.items()
        },
    }


def _as_release(function: Any) -> Any:
    try:
        return releases.as_release(function)
    except TypeError as error:
        raise _Fault(LOADING, str(error)) from error


def _plain_domain(domain: Any) -> dict[str, Any] | None:
    """A domain as a dict of plain values; it is one already in a description."""
    return domain if domain is None or isinstance(domain, dict) else domain.to_json()


def _plain_claim(claim: Any) -> dict[str, Any]:
    """A claim as a dict of plain values; it is one, or an object of the attacklab there, which may be an old one."""
    if isinstance(claim, dict):
        return claim
    if hasattr(claim, "to_json"):
        plain: dict[str, Any] = claim.to_json()
        return plain
    if not hasattr(claim, "epsilon"):
        raise _Fault(LOADING, f"a claim must be a JSON object, not of type {type(claim).__name__}")
    return {"epsilon": claim.epsilon, "delta": claim.delta}


def _from_description(made: Any, name: str) -> Any:
    """What a function returned, with the attributes of a target: a dict describes one in plain values."""
    if not isinstance(made, dict):
        return made
    needed, claims = {"kind", "release"}, {"epsilon", "claim"}
    optional = {"sensitivity", "bounds", "domain", "noise_scale", "relation"}
    optional |= {"delta"} if "epsilon" in made else set()
    if not needed <= set(made) <= needed | claims | optional or len(claims & set(made)) != 1:
        told = f"{name} returned a dict with {', '.join(map(str, made)) or 'no keys'}; it must have kind, release and "
        may = "bounds, domain, noise_scale, relation, sensitivity"
        raise _Fault(LOADING, f"{told}either epsilon (and delta) or claim, and may have {may}")
    return SimpleNamespace(
        kind=made["kind"],
        name=name,
        release=made["release"],
        claim=made["claim"] if "claim" in made else {"epsilon": made["epsilon"], "delta": made.get("delta", 0.0)},
        sensitivity=made.get("sensitivity", 1.0),
        bounds=made.get("bounds"),
        noise_scale=made.get("noise_scale"),
        relation=made.get("relation"),
        domain=made.get("domain"),
        version="unknown",
    )


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
    """Call the release once; the global generators are seeded too, so that a target that draws from them replays."""
    fault = arithmetic_fault()
    if fault is not None:
        raise _Fault("arithmetic mode", f"{fault} before a call")
    seed, trials = request["seed"], request["trials"]
    random.seed(seed)
    np.random.seed([seed >> 32, seed & 0xFFFFFFFF])
    try:
        with releases.in_one_process(release), np.errstate(all="ignore"):
            released = release(_input(request), trials, np.random.default_rng(seed))
            outputs = gathering.gathered(released, trials)
    except releases.Forked as error:
        raise _Fault("garbage", str(error)) from None
    fault = arithmetic_fault()
    if fault is not None:
        raise _Fault("arithmetic mode", f"{fault} after a call")
    if outputs is None:
        raise _Fault("garbage", f"it returned {type(released).__name__}, not an array or a list of outputs")
    return outputs


def _input(request: dict[str, Any]) -> Any:
    """A copy of the input, which the target may alter in place."""
    if "frame" in request:
        code, shape = request["input"]["binary"], request["input"]["shape"]
        return codec.unframed(request["frame"], code, math.prod(shape)).reshape(shape).copy()
    return codec.Reader().read(request["input"])


def _answer(outputs: Any) -> tuple[dict[str, Any], bytes]:
    code = codec.binary_code(outputs)
    if code is not None:
        return {"binary": code, "count": len(outputs), "shape": outputs.shape[1:]}, codec.framed(outputs)
    try:
        return {"values": [codec.written(output) for output in outputs]}, b""
    except TypeError as error:
        raise _Fault("garbage", f"its outputs: {error}") from error


if __name__ == "__main__":
    main()
