"""The child's side of an isolated Python target: loads it, then answers requests until its input ends.

Run by its path, `python child.py TARGET SETTINGS`, in an interpreter that may have nothing but numpy installed. It
first writes one line of greeting, which describes what was loaded, and then follows docs/reference/protocol.md. It
looks for a fault that makes findings meaningless and that only this process can see: arithmetic that does not follow
IEEE 754.
"""

from __future__ import annotations

import enum
import json
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

try:
    import numpy as np
except ImportError:
    sys.exit(f"{sys.executable} has no numpy, which targets in it need; install it there")

if __name__ == "__main__":  # some modules of this package, which need numpy alone, without the package
    _stand_in = ModuleType("attacklab")
    _stand_in.__path__ = [str(Path(__file__).resolve().parents[1])]
    sys.modules["attacklab"] = _stand_in

from attacklab.model import errors, floats, releases
from attacklab.processes import codec

if __name__ == "__main__":  # a target must not take them for an attacklab of its own
    for _name in [name for name in sys.modules if name.partition(".")[0] == "attacklab"]:
        del sys.modules[_name]

DESCRIBED: dict[str, Any] = dict.fromkeys(
    ("release", "name", "kind", "claim", "relation", "domain", "bounds", "noise_scale"), None
)
DESCRIBED.update(version="unknown", sensitivity=1.0)
"""The attributes of a target that the greeting holds, unless they have these default values."""


def main() -> None:
    """Load the target that the command line names, greet, and answer every request."""
    spec, settings = sys.argv[1], json.loads(sys.argv[2])
    # The target must not find the modules beside this file under their short names.
    here = Path(__file__).resolve().parent
    sys.path[:] = [str(Path.cwd()), *(place for place in sys.path if Path(place).resolve() != here)]
    requests, answer = codec.private_streams()
    try:
        release, greeting = _loaded(spec, bare=settings["bare"], parameters=codec.read(settings["parameters"]))
    except BaseException as error:  # a panic is not an Exception
        raised = "" if isinstance(error, errors.LabError) else f"{spec}: "
        answer({"error": raised + errors.in_one_line(error), "failure": "cannot be loaded"})
        return
    answer(greeting)
    for line in requests:
        answer(_answer(release, json.loads(line)))


def _loaded(spec: str, *, bare: bool, parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Load what `spec` names. Return the release and the greeting, which describes the target unless `bare`."""
    place, _, name = spec.rpartition(":")
    module = releases.module_at(place)
    named: Any = releases.member(module, name)
    if named is None:
        raise errors.UsageError(f"{place} has no {name!r}; check the name")
    if hasattr(named, "release") and (bare or parameters):
        surplus = "the kind and the parameters" if bare else "the parameters"
        raise errors.UsageError(f"{spec} is a target with a claim of its own; leave {surplus} out")
    if not (hasattr(named, "release") or callable(named)):
        raise errors.UsageError(f"{spec} is of type {type(named).__name__}, neither a Target nor a function")
    greeting = {"version": releases.version_of(module)}
    if bare:
        return releases.as_release(named), greeting
    try:
        target = named if hasattr(named, "release") else named(**parameters)
        declared = target if isinstance(target, dict) else {key: getattr(target, key) for key in DESCRIBED}
    except (TypeError, AttributeError) as error:
        needed = "does not make a target of these options; a release function needs --kind and --epsilon"
        raise errors.UsageError(f"{spec} {needed} ({error})") from error
    described = {key: _plain(value) for key, value in declared.items() if value != DESCRIBED.get(key)}
    release = releases.as_release(described.pop("release"))
    greeting["version"] = described.pop("version", greeting["version"])
    return release, {**greeting, "target": codec.written(described)}


def _plain(value: Any) -> Any:
    """Return an attribute of a target as a plain value: for an object of attacklab its JSON, for an enum its value."""
    if hasattr(value, "to_json"):
        return value.to_json()
    return value.value if isinstance(value, enum.Enum) else value


def _answer(release: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Call the release. Return its outputs, the exception that it raised, or a fault of this process.

    The global generators are seeded too, so that a target that draws from them replays.
    """
    seed, trials = request["seed"], request["trials"]
    random.seed(seed)
    np.random.seed([seed >> 32, seed & 0xFFFFFFFF])
    try:
        floats.require_ieee_arithmetic()
        with releases.in_one_process(), np.errstate(all="ignore"):
            released = release(codec.read(request["input"]), trials, np.random.default_rng(seed))
            outputs = releases.gathered(released, trials)  # which runs what gives one output after another
        floats.require_ieee_arithmetic()
    except errors.ArithmeticModeError as error:
        return {"error": str(error), "failure": "arithmetic mode"}
    except BaseException as error:  # a panic is not an Exception
        return {"error": errors.in_one_line(error)}
    try:
        is_plain = type(outputs) is np.ndarray and outputs.dtype.kind in "iuf"
        return {"values": codec.written(outputs if is_plain else list(outputs))}
    except TypeError as error:
        told = f"its outputs: {error}" if outputs is not None else f"it returned {type(released).__name__}, not outputs"
        return {"error": told, "failure": "garbage"}


if __name__ == "__main__":
    main()
