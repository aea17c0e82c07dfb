"""A first pytest file for a module: a test for each thing that looks like a mechanism, with every guess marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attacklab.auditing.candidates import QUESTIONS, Candidate
from attacklab.model.plain_text import plain

FROM_LAB = ("Domain", "GaussianDP", "NeighbouringPair", "Target", "ZeroConcentrated", "one_by_one")


def first_test(module: str, path: str, found: Sequence[Candidate]) -> str:
    """The text of the file.

    What only the author knows is a line marked TODO, in which `pytest.fail` stands for the value: the test fails with
    the question until somebody writes the answer in its place.

    Args:
        module: the name of the module.
        path: the folder to import it from, in Python; empty where it can be imported as it is.
        found: what looks like mechanisms; at least one.
    """
    tests = "\n\n\n".join(_test(candidate, name) for candidate, name in zip(found, _names(found), strict=True))
    code = re.sub("(?m)^ *#.*", "", tests)
    used = [name for name in FROM_LAB if re.search(rf"\b{name}\(|\b{name}\.", code)]
    standard = ["import sys", "from pathlib import Path"] if path else []
    others = (["import pytest"] if "pytest.fail" in tests else []) + (
        [f"from attacklab import {', '.join(used)}"] if used else []
    )
    head = [
        f'"""Privacy tests of {module}, begun by attacklab init: check each guess, and fill in what is marked TODO."""',
        "\n".join(standard),
        "\n".join(others),
        f"sys.path.insert(0, str({path}))" if path else "",
        f"import {module} as _module" + ("  # noqa: E402" if path else ""),
    ]
    return "\n\n".join(filter(None, head)) + f"\n\n\n{tests}\n"


def _names(found: Sequence[Candidate]) -> list[str]:
    """A name for each test: of two that would be the same, the later one is numbered."""
    names: list[str] = []
    for candidate in found:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", candidate.name).replace(".", "_").lower()
        same = sum(re.fullmatch(rf"{name}(_\d+)?", earlier) is not None for earlier in names)
        names.append(f"{name}_{same + 1}" if same else name)
    return names


def _test(candidate: Candidate, name: str) -> str:
    comments = [f"seen: {candidate.seen}", *(f"guess: {guess}" for guess in candidate.guesses)]
    return "\n".join(
        [
            f"def test_{name}_keeps_its_claim(dp_audit):",
            *(f"    # {plain(comment)}" for comment in comments),
            *(f"    {line}".rstrip() for line in _body(candidate)),
        ]
    )


def _body(candidate: Candidate) -> list[str]:
    if not candidate.claim:
        return [f"dp_audit(_module.{candidate.name})"]
    asked = [_question(candidate.name, name) for name in candidate.unknown]
    claim = {name: value or name for name, value in candidate.claim.items() if name != "release"}
    release, defined = ("release", list[str]()) if "release" in candidate.claim else _release(candidate)
    return [*defined, *asked, f"dp_audit(Target.{candidate.kind}({release}, {_arguments(claim)}))"]


def _question(mechanism: str, name: str) -> str:
    question, answer = QUESTIONS[name]
    return f'{name} = pytest.fail("{question.format(mechanism)}")  # TODO: {answer}'


def _release(candidate: Candidate) -> tuple[str, list[str]]:
    """What the target releases by, and the lines that define it."""
    owner, _, method = candidate.name.rpartition(".")
    made, lines = [], []
    called = f"_module.{candidate.name}"
    if candidate.made_with is not None:
        made, called = [f"mechanism = _module.{owner}({_arguments(candidate.made_with)})"], f"mechanism.{method}"
    given = f"{candidate.input}={candidate.input}" if candidate.is_named else candidate.input
    call = f"{called}({', '.join(filter(None, [given, _arguments(candidate.passed)]))})"
    is_seeded = "rng" in {*(candidate.made_with or {}).values(), *candidate.passed.values()}
    if not (candidate.many or is_seeded):
        lines = [*made, "", f"def {method}({candidate.input}):", f"    return {call}", ""]
        return f"one_by_one({method})", lines if made else lines[1:]
    outputs = call if candidate.many else f"[{call} for _ in range(trials)]"
    inside = [f"    {line}" for line in (*made, f"return {outputs}")]
    return method, [f"def {method}({candidate.input}, trials, rng):", *inside, ""]


def _arguments(passed: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={text}" for name, text in passed.items())
