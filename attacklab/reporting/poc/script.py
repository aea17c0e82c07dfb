"""The script of a finding: what is claimed, the pair, the event, the call, the draws and an honest test.

Its text is the template `proof_of_concept.py.j2`. The test bounds the two probabilities of the event by Chernoff's
inequality in the form with the relative entropy (Hoeffding 1963, theorem 1), which holds for any number of trials, and
compares the bounds with what the claim allows. It judges fresh outputs in the one direction in which the finding broke
the claim, so its confidence is its own.

How the target is called follows from its name:

- `FILE.py:name` and `module:name`: the script loads the file or module, and takes what it finds as the lab does.
- `library:mechanism`: it has the few lines with which the lab calls that library's mechanism.
- `--exec COMMAND`: it starts the program and speaks the protocol of docs/protocol.md, a line of JSON each way.
"""

from __future__ import annotations

import importlib
import re
import shlex
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacklab.libraries import adapter_module
from attacklab.model.claims import Claim
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, recovered_pair
from attacklab.model.loading import parameters_of, place_and_name
from attacklab.model.plain_text import escaped
from attacklab.model.releases import gathered, member
from attacklab.model.source_bundle import source_bundle
from attacklab.reporting.poc.choice import ALPHA, bound, direction_and_trials
from attacklab.reporting.rendering import render
from attacklab.reporting.wording import claim_text, repair_text

WIDTH = 100

IMPORTED = re.compile(r"^import (?:copy|dataclasses|math|random|sys|numpy as np)\n", re.MULTILINE)
"""What the script imports at its top, whatever it shows."""


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


def proof_of_concept(finding: Finding, call: Call) -> str:
    """A Python script that draws outputs for both inputs and says whether the event still breaks the claim.

    It exits with status 1 if so, with 0 if these outputs do not show it, and with 2 if the target cannot be called.

    Args:
        finding: of a refuted claim; it has its event as Python source.
        call: how its target is called.

    Raises:
        UsageError: the finding does not hold what it takes, or the target's name cannot be found.
    """
    if finding.code is None or finding.pair is None:
        raise UsageError(f"the finding of {finding.attack} holds no event or no pair that could be shown")
    direction, trials = direction_and_trials(finding)
    pair = recovered_pair(finding.pair)
    script = render(
        "proof_of_concept.py",
        FILTERS,
        finding=finding,
        call=call,
        trials=trials,
        inputs=(pair.first, pair.second) if direction.of_first else (pair.second, pair.first),
        complement=direction.complement,
        alpha=f"{ALPHA:g}",
        gathered=_source(gathered, "gathered"),
        bound=_source(bound, "bound"),
        **_called(call),
    )
    return escaped(script, "\n\t", ascii)


def _called(call: Call) -> dict[str, str]:
    """The source of a library's mechanism, and with which arguments a target is made."""
    if call.target is None:
        return {"library": ""}
    place, name = place_and_name(call.target)
    given = {**({} if call.claim is None else parameters_of(call.claim)), **(call.parameters or {})}
    arguments = ", ".join(f"{key}={value!r}" for key, value in given.items())
    module_name = adapter_module(place)
    if module_name is None:
        return {"library": "", "arguments": arguments}
    module = importlib.import_module(module_name)
    mechanism = member(module, name)
    if mechanism is None:
        raise UsageError(f"there is no mechanism {name} of {module.DISTRIBUTION} in this version of attacklab")
    source = _source(mechanism, name)
    return {"library": module.DISTRIBUTION, "arguments": arguments, "name": name, "mechanism": source}


def _input(value: Any, name: str, label: str) -> str:
    """The lines that define an input, below a comment that shows it."""
    shown = np.array2string(value, threshold=8, separator=", ") if isinstance(value, np.ndarray) else repr(value)
    text = textwrap.shorten(" ".join(shown.split()), 90, placeholder=" …")
    return _source(value, name).replace(f"{name} = ", f"# {label}: {text}\n{name} = ", 1)


def _source(value: Any, name: str) -> str:
    return _without_imports(source_bundle(value, name))


def _without_imports(source: str) -> str:
    return IMPORTED.sub("", source).strip("\n")


def _title(text: str) -> str:
    rule = "# " + "-" * (WIDTH - 2)
    return f"{rule}\n# {text}\n{rule}"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "claim": claim_text,
    "input": _input,
    "repair": repair_text,
    "repr": repr,
    "title": _title,
    "without_imports": _without_imports,
}
"""What the template calls."""
