"""The options of the pytest plugin, each an ini setting of the same name too."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Option:
    """An option, which is an ini setting as well."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        """How it is written on the command line."""
        return "--" + self.name.replace("_", "-")

    def value(self, config: pytest.Config) -> Any:
        """What was given on the command line, else in the ini file, else the default.

        Raises:
            pytest.UsageError: what the ini file says is out of range.
        """
        given = config.getoption(self.name)
        written = config.getini(self.name)
        if given is not None or not written:
            return self.default if given is None else given
        try:
            return self.parse(written)
        except (argparse.ArgumentTypeError, ValueError) as error:
            raise pytest.UsageError(f"ini setting {self.name}: {error}") from error


def _within(kind: Callable[[str], Parsed], allowed: Callable[[Parsed], bool], words: str) -> Callable[[str], Parsed]:
    def parse(text: str) -> Parsed:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}") from None
        if not allowed(value):
            raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}")
        return value

    return parse


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


OPTIONS = (
    Option(
        "dp_alpha",
        _within(float, lambda value: 0 < value < 1, "a number between 0 and 1"),
        1e-6,
        "P",
        "Probability of any false alarm in the whole run; 1e-6 by default.",
    ),
    Option(
        "dp_trials",
        _within(int, lambda value: value >= 1, "a whole number of at least 1"),
        None,
        "N",
        "Most outputs of either input to judge an event on; by default as many as fit in --dp-seconds.",
    ),
    Option(
        "dp_seconds",
        _within(float, lambda value: 0 < value < math.inf, "a number greater than 0"),
        3.0,
        "S",
        "About how long an audit may take, unless --dp-trials is given; 3 by default.",
    ),
    Option(
        "dp_seed",
        _within(int, lambda value: value >= 0, "a whole number of at least 0"),
        0,
        "N",
        "What all randomness of the audits is derived from; 0 by default.",
    ),
    Option("dp_attacks", _names, (), "NAMES", "Only these attacks, separated by commas; all by default."),
    Option("dp_json", Path, None, "PATH", "Write all findings to this file."),
    Option("dp_sarif", Path, None, "PATH", "Write refuted claims to this file, as SARIF for code-scanning pages."),
)
