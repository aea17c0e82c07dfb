"""Mechanisms with an error, a piece of their source replaced in the module where they are, and their certificates."""

from __future__ import annotations

import inspect
import json
import textwrap
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from attacklab.certificates import certificate
from checker.check import check
from checker.core.certificate import Certificate, Conclusion
from experiments.certificates import DRAFTS


def mutate(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Replace a piece of the source of a function, method or property, which `owner` has under a name."""
    found = vars(owner)[name]
    function = found.fget if isinstance(found, property) else found
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} is {source.count(old)} times in {name}"
    made: dict[str, Any] = {}
    exec(compile(source.replace(old, new), f"<mutant of {name}>", "exec"), function.__globals__, made)  # noqa: S102
    monkeypatch.setattr(owner, name, made[function.__name__])


@cache
def certificate_of(name: str) -> Certificate:
    """The certificate of a target, read back."""
    return Certificate(**json.loads(json.dumps(certificate(name, DRAFTS[name]()))))


def rechecked(name: str, **changes: Any) -> Conclusion:
    """Check the certificate of a target, some of its fields replaced, whatever the sources are now."""
    return check(replace(certificate_of(name), **changes), sources=False)
