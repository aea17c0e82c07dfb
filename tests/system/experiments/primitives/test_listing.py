"""The list of vulnerable primitives is read strictly and written as committed, and what it names is refuted."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from attacklab.auditing.attacks import ALL_ATTACKS
from attacklab.auditing.referee import audit
from attacklab.model.errors import UsageError
from attacklab.model.findings import Verdict
from attacklab.processes.targets import isolated
from experiments.common.expected_failures import expected_failures
from experiments.primitives import FILE, listing
from experiments.primitives.page import LIST, PAGE, json_text, page
from experiments.primitives.uses import USES

FALSE_ALARM = 1e-9
TRIALS = {"generator_state": 128, "generator_seed": 500}
ATTACKS = {attack.name: attack for attack in ALL_ATTACKS}
LISTING = listing()
ROOT = Path(__file__).parents[4]

PRIMITIVES = LISTING["primitives"]
SHOWN = [
    (each["attack"], each["use"])
    for entry in PRIMITIVES
    if entry["status"] == "shown"
    for each in entry["demonstrations"]
]
MEASURED = {
    name: [each for entry in PRIMITIVES if entry["library"] == name for each in entry["demonstrations"]]
    for name in {entry["library"]: None for entry in PRIMITIVES if entry["status"] == "measured"}
}
MEASURED["numpy"] = [{"attack": "low_bit_laplace", "use": "laplace"}]
"""Those of the lab's own adapter show that the test of libraries that may be missing works."""


@pytest.mark.parametrize(("attack", "use"), SHOWN)
def test_the_attack_that_an_entry_names_refutes_the_use_of_its_function(attack: str, use: str) -> None:
    """A sound use would be refuted with probability at most 1e-9; the seed is fixed."""
    findings = audit(USES[use](), [ATTACKS[attack]], trials=TRIALS.get(attack, 4000), alpha=FALSE_ALARM)
    assert Verdict.VIOLATED in {finding.verdict for finding in findings}


@pytest.mark.parametrize("name", MEASURED)
def test_so_it_does_where_a_library_that_was_measured_is_installed(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    for shown in MEASURED[name]:
        target = isolated(f"{name}:{shown['use']}", epsilon=1.0)
        findings = audit(target, [ATTACKS[shown["attack"]]], trials=20_000, alpha=FALSE_ALARM)
        assert Verdict.VIOLATED in {finding.verdict for finding in findings}, shown


def test_every_use_is_cited() -> None:
    assert {use for _, use in SHOWN} == set(USES)


@pytest.mark.parametrize("seed", range(3))
def test_gumbel_noise_of_numpy_lies_within_the_bounds_that_the_list_states(seed: int) -> None:
    """The extreme uniform numbers are put into the generator's state; draws of another seed lie between."""
    (entry,) = [entry for entry in PRIMITIVES if "numpy.random.Generator.gumbel" in entry["functions"]]
    least, largest = (float(text.replace("−", "-")) for text in re.findall(r"(−?\d+\.\d\d)", entry["why"])[:2])
    assert _gumbel_at(2**53 - 1) == -math.log(-math.log(2.0**-53))
    assert least <= _gumbel_at(2**53 - 1) <= least + 0.01
    assert largest - 0.01 <= _gumbel_at(1) <= largest
    drawn = np.random.default_rng(seed).gumbel(size=1000)
    assert least < drawn.min() < drawn.max() < largest


def _gumbel_at(uniform: int) -> float:
    """What `Generator.gumbel` makes of the uniform number `uniform`·2^−53."""
    bits = np.random.MT19937(0)
    state = bits.state
    state["state"]["key"][:2] = [_untempered((uniform >> 26) << 5), _untempered((uniform & (2**26 - 1)) << 6)]
    state["state"]["pos"] = 0
    bits.state = state
    return float(np.random.Generator(bits).gumbel())


def _untempered(output: int) -> int:
    """The word of the Mersenne Twister's state that gives this output, by elimination over GF(2)."""
    rows: dict[int, tuple[int, int]] = {}
    for place in range(32):
        image, source = _tempered(1 << place), 1 << place
        while image and (top := image.bit_length()) in rows:
            image, source = image ^ rows[top][0], source ^ rows[top][1]
        rows[image.bit_length()] = (image, source)
    word = 0
    while output:
        image, source = rows[output.bit_length()]
        output, word = output ^ image, word ^ source
    return word


def _tempered(word: int) -> int:
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return word ^ (word >> 18)


def test_the_page_and_the_list_are_those_that_the_data_give() -> None:
    assert page(LISTING).encode() == PAGE.read_bytes()
    assert json_text(LISTING).encode() == LIST.read_bytes()


def test_the_list_for_programs_holds_what_the_data_hold() -> None:
    read = json.loads(LIST.read_text("utf-8"))
    data = tomllib.loads(FILE.read_text("utf-8"))
    assert read["version"] == 1
    for plural, name in (("flaws", "flaw"), ("remedies", "remedy"), ("primitives", "primitive")):
        assert read[plural] == data[name]


def test_every_report_and_mechanism_that_an_entry_names_is_there() -> None:
    text = FILE.read_text("utf-8")
    named = re.findall(r'"(reports/[\w./]+)"', text) + re.findall(r"`(mechanisms/[\w./]+)`", text)
    assert len(named) > 5
    assert all((ROOT / name).exists() for name in named)


def test_no_entry_names_a_library_that_promises_privacy() -> None:
    private = {"diffprivlib", "opendp", "opacus", "jax_privacy", "pydp", "pipelinedp", "smartnoise", "tumult"}
    assert {failure.library for failure in expected_failures()} & private
    assert not {entry["library"] for entry in PRIMITIVES} & private


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('attack = "low_bit_laplace"', 'attack = "low_bits"', "no attack 'low_bits'"),
        ('use = "numpy_laplace"', 'use = "numpy_lapalce"', "no use 'numpy_lapalce'"),
        ('use = "laplace_float64"', 'use = "laplace_float128"', "no published flaw is recorded"),
        ('status = "documented"', 'status = "shown"', "demonstrations: .* should be non-empty"),
        ('status = "shown"', 'status = "documented"', "demonstrations: .* expected to be empty"),
        ('status = "shown"', 'status = "suspected"', "'suspected' is not one of"),
        ('remedy = "discrete Laplace noise"', 'remedy = "hope"', "remedies: defined"),
        ('flaws = ["low_bits"', 'flaws = ["unknown"', "flaws: defined"),
        ('link = "https://arxiv', 'link = "http://arxiv', "does not match"),
        ('since = "1.17.0"\n', "", "'since' is a required property"),
        ('since = "1.17.0"', 'sinse = ""\nsince = "1.17.0"', "'sinse' was unexpected"),
        ('since = "1.17.0"', 'since = ""', "since: '' should be non-empty"),
        ('functions = ["random.gauss"]', 'functions = ["random.choices"]', "stands in two entries"),
    ],
)
def test_a_malformed_list_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = FILE.read_text("utf-8")
    assert old in text
    broken = tmp_path / "broken.toml"
    broken.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=said) as raised:
        listing(broken)
    assert not isinstance(raised.value, UsageError)
