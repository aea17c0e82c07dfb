"""How a proof of concept calls the target: the part of the script that defines `load()`, which gives a release.

- `FILE.py:name` and `module:name`: the script loads the file or module, and takes what it finds as the lab does.
- `library:mechanism`: it has the few lines with which the lab calls that library's mechanism.
- `--exec COMMAND`: it starts the program and speaks the protocol of docs/protocol.md, a line of JSON each way.
"""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attacklab.libraries import adapter_module
from attacklab.model.claims import Claim
from attacklab.model.errors import UsageError
from attacklab.model.loading import parameters_of, place_and_name
from attacklab.model.releases import member
from attacklab.model.source_bundle import source_bundle


@dataclass(frozen=True, slots=True)
class Call:
    """How the target is called.

    Attributes:
        target: its name, `place:name`; None for a program.
        program: the words of the command that starts it; None for any other target.
        kind: what the input is, where it was said: the target is then a bare function.
        claim: what was said that it claims; None for a target with a claim of its own.
        parameters: the other arguments that a function which makes the target was given.
    """

    target: str | None
    program: tuple[str, ...] | None = None
    kind: str | None = None
    claim: Claim | None = None
    parameters: Mapping[str, Any] | None = None

    @property
    def words(self) -> str:
        """The target as a person would name it."""
        return self.target or shlex.join(self.program or ())

    def source(self) -> str:
        """The part of the script.

        Raises:
            UsageError: the target's name cannot be found.
        """
        if self.program is not None:
            return _OF_PROGRAM.format(command=list(self.program), kind=self.kind)
        place, name = place_and_name(str(self.target))
        arguments = ", ".join(f"{key}={value!r}" for key, value in self._arguments().items())
        library = adapter_module(place)
        if library is not None:
            return _of_library(library, name, arguments)
        load = _BARE if self.kind is not None else _MADE.format(arguments=arguments)
        return _OF_PYTHON.format(target=str(self.target)) + load + _AS_RELEASE

    def _arguments(self) -> dict[str, Any]:
        return {**({} if self.claim is None else parameters_of(self.claim)), **(self.parameters or {})}


def _of_library(module_name: str, name: str, arguments: str) -> str:
    module = importlib.import_module(module_name)
    mechanism = member(module, name)
    if mechanism is None:
        raise UsageError(f"there is no mechanism {name} of {module.DISTRIBUTION} in this version of attacklab")
    source = source_bundle(mechanism, name)
    return f'''# How the mechanism of {module.DISTRIBUTION} is called.
{source}

def load():
    """The function under test: it draws so many outputs for an input."""
    return {name}({arguments})["release"]
'''


_OF_PYTHON = '''TARGET = sys.argv[1] if len(sys.argv) > 1 else {target!r}


def found():
    """What the name of the target stands for; FILE.py:name or module:name."""
    place, _, name = TARGET.rpartition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location(pathlib.Path(place).stem, place)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(place)
    return functools.reduce(getattr, name.split("."), module)

'''

_BARE = '''
def load():
    """The function under test, so that it draws so many outputs for an input."""
    return as_release(found())

'''

_MADE = '''
def load():
    """The function under test, so that it draws so many outputs for an input."""
    target = found()
    if not hasattr(target, "release"):
        target = target({arguments})  # a function that makes the target
    return as_release(target["release"] if isinstance(target, dict) else target.release)

'''

_AS_RELEASE = '''
class Bits:
    """The random bits of a sampler that is called as sampler(input, bits)."""

    def __init__(self, rng):
        self.rng = rng

    def take(self, count):
        """An integer of so many random bits."""
        return int.from_bytes(self.rng.bytes(-(-count // 8)), "big") >> (-count % 8)

    def words(self, count):
        """So many random words of 64 bits."""
        return self.rng.integers(0, 2**64, size=count, dtype=np.uint64)

    def call(self, sampler, *arguments):
        """One output of another sampler."""
        return sampler(*arguments, self)

    def repeat(self, sampler, *arguments):
        """The first output of another sampler that is not None."""
        while (outcome := sampler(*arguments, self)) is None:
            pass
        return outcome


def as_release(function):
    """A function of (input, trials, rng) as it is; one of one value, or a sampler, is called once a trial."""
    parameters = inspect.signature(function).parameters
    if "bits" in parameters:
        return lambda value, trials, rng: [function(value, bits) for bits in [Bits(rng)] for _ in range(trials)]
    if len(parameters) == 1:
        return lambda value, trials, rng: [function(copy.deepcopy(value)) for _ in range(trials)]
    return function
'''

_OF_PROGRAM = '''COMMAND = shlex.split(sys.argv[1]) if len(sys.argv) > 1 else {command!r}
KIND = {kind!r}


def as_json(value):
    """An input as JSON: floats are text in hexadecimal, which keeps every bit."""
    if isinstance(value, float):
        return value.hex()
    return [as_json(one) for one in value] if isinstance(value, (list, tuple)) else value


def from_json(value):
    """An output from JSON: numbers are text in hexadecimal or integers; other values say what they are."""
    if isinstance(value, str):
        return float.fromhex(value)
    if isinstance(value, list):
        return [from_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array([from_json(one) for one in value["values"]], value["array"]).reshape(value["shape"])[()]
    ((word, held),) = value.items()
    if word == "dict":
        return {{from_json(key): from_json(one) for key, one in held}}
    made = {{"text": str, "bytes": bytes.fromhex, "decimal": decimal.Decimal}}
    if word in made:
        return made[word](held)
    if word == "fraction":
        return fractions.Fraction(*held)
    return {{"tuple": tuple, "set": frozenset, "complex": lambda parts: complex(*parts)}}[word](from_json(held))


def load():
    """The program under test, so that it draws so many outputs for an input."""
    program = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def release(value, trials, rng):
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        request = {{"kind": KIND, "input": as_json(plain), "trials": trials, "seed": int(rng.integers(1 << 62))}}
        if isinstance(value, np.ndarray):
            request["dtype"] = str(value.dtype)
        program.stdin.write(json.dumps(request).encode() + b"\\n")
        program.stdin.flush()
        line = program.stdout.readline()
        if not line:
            sys.exit(cannot(f"{{COMMAND}} ended without an answer"))
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        if "binary" in answer:
            form = np.dtype("<" + answer["binary"])
            shape = (answer["count"], *answer.get("shape", ()))
            return np.frombuffer(program.stdout.read(form.itemsize * math.prod(shape)), form).reshape(shape)
        return [from_json(one) for one in answer.get("outputs", answer.get("values"))]

    return release
'''
