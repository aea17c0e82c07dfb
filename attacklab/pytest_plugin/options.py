"""The options of the pytest plugin, each an ini setting of the same name too."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

Parsed = TypeVar("Parsed")


class Option(NamedTuple):
    """An option of pytest, and the ini setting of the same name, which has underscores for dashes."""

    name: str
    parse: Callable[[str], Any]  # raises `argparse.ArgumentTypeError`
    default: Any
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        return "--" + self.name.replace("_", "-")

    def value(self, config: pytest.Config) -> Any:
        """The value given on the command line, or else in the ini file, or else the default.

        Raises:
            pytest.UsageError: the value in the ini file is out of range.
        """
        entered, written = config.getoption(self.name), config.getini(self.name)
        if entered is not None or not written:
            return self.default if entered is None else entered
        try:
            return self.parse(written)
        except argparse.ArgumentTypeError as error:
            raise pytest.UsageError(f"ini setting {self.name}: {error}") from error


def _within(kind: Callable[[str], Parsed], allowed: Callable[[Parsed], bool], words: str) -> Callable[[str], Parsed]:
    def parse(text: str) -> Parsed:
        try:
            if allowed(value := kind(text)):
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}")

    return parse


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


PROBABILITY = _within(float, lambda value: 0 < value < 1, "a number between 0 and 1")
COUNT = _within(int, lambda value: value >= 1, "a whole number of at least 1")
SECONDS = _within(float, lambda value: 0 < value < math.inf, "a number greater than 0")
SEED = _within(int, lambda value: value >= 0, "a whole number of at least 0")
MOST = "Most outputs of each input to judge an event on [default: as many as fit in --dp-seconds]"
LENGTH = "Approximate length of each audit, in seconds; --dp-trials overrides it [default: 10]"

OPTIONS = (
    Option("dp_alpha", PROBABILITY, 1e-6, "P", "Probability of a false alarm in the whole run [default: 1e-6]"),
    Option("dp_trials", COUNT, None, "N", MOST),
    Option("dp_seconds", SECONDS, 10.0, "S", LENGTH),
    Option("dp_seed", SEED, 0, "N", "Seed of all randomness in the audits [default: 0]"),
    Option("dp_attacks", _names, (), "NAMES", "Run only these attacks, separated by commas [default: all]"),
    Option("dp_json", Path, None, "PATH", "Write all findings to this file, as JSON"),
    Option("dp_sarif", Path, None, "PATH", "Write refuted claims to this file, as SARIF 2.1.0 for code-scanning pages"),
)
