"""The catalogue of flaws: every attack and every flaw has an entry, and every example has the flaw that it is for."""

import importlib
import inspect
import pkgutil
from typing import Any

import pytest

from attacklab import Target, Verdict, attacks
from attacklab.attacks import ALL_ATTACKS
from attacklab.attacks.base import FunctionAttack
from attacklab.auditing.flaws import LATTICE, NAMES, ROUNDING, Flaw, catalogue, exact_call, flaw_of
from attacklab.auditing.referee import audit
from attacklab.model.findings import FAILURE, ON_LATTICE, ROUNDED, TOO_LITTLE

WEAKNESSES = (20, 190, 203, 335, 338, 339, 369, 681, 682, 703, 1339)
LONGEST_LINE, LONGEST_EXAMPLE, LONGEST_REPAIR = 100, 10, 200
TRIALS = {"double_budget": 4_000_000, "generator_state": 100, "score_overflow": 1_000}
"""A budget that is spent twice shows in rare outputs only; a generator that is predicted, in nearly every one."""


def test_every_attack_and_every_flaw_has_an_entry_and_no_entry_is_left_over() -> None:
    named = {attack.name for attack in ALL_ATTACKS}
    assert set(catalogue()) == named | set(NAMES.values())
    assert {flaw.weakness.number for flaw in catalogue().values()} == set(WEAKNESSES)


def test_an_attack_that_no_list_names_has_one_too() -> None:
    """Whatever is written into the package with a name and a flaw is an attack."""
    found = set()
    for module in pkgutil.walk_packages(attacks.__path__, f"{attacks.__name__}."):
        for _, member in inspect.getmembers(importlib.import_module(module.name)):
            if isinstance(member, FunctionAttack):
                found.add(member.name)
            fields = getattr(member, "__dataclass_fields__", {})
            if {"name", "flaw"} <= set(fields) and inspect.isclass(member) and hasattr(member, "scenarios"):
                found.add(fields["name"].default)
    assert found | set(NAMES.values()) == set(catalogue())


@pytest.mark.parametrize("flaw", catalogue().values(), ids=lambda flaw: flaw.name)
def test_an_entry_says_all_that_a_reader_needs(flaw: Flaw) -> None:
    assert flaw.read
    assert all(source.url.startswith("https://") and source.title for source in flaw.read)
    assert flaw.what.endswith(".")
    assert flaw.leak.endswith(".")
    assert 0 < len(flaw.repair) <= LONGEST_REPAIR
    assert "\n" not in flaw.repair
    lines = flaw.example.splitlines()
    assert len([line for line in lines if line and not line.startswith(("import ", "from "))]) <= LONGEST_EXAMPLE
    assert all(len(line) <= LONGEST_LINE for line in lines)


def made(flaw: Flaw) -> Target:
    names: dict[str, Any] = {}
    exec(flaw.example, names)  # noqa: S102 - our own
    target = names["target"]
    assert isinstance(target, Target)
    return target


@pytest.mark.parametrize("flaw", catalogue().values(), ids=lambda flaw: flaw.name)
def test_the_attack_refutes_the_example(flaw: Flaw) -> None:
    by_name = {attack.name: attack for attack in ALL_ATTACKS}
    shown = {name: line for line, name in NAMES.items()}.get(flaw.name)
    comes_across = {LATTICE: "low_bit_laplace", ROUNDING: "score_overflow"}.get(flaw.name, "special_values")
    attack = by_name[comes_across if shown else flaw.name]
    target = made(flaw)
    findings = audit(target, [attack], trials=TRIALS.get(flaw.name, 5_000), alpha=1e-9)
    refuting = [finding for finding in findings if finding.refutes]
    assert refuting, [str(finding) for finding in findings]
    assert all(finding.verdict is Verdict.VIOLATED for finding in refuting)
    of_any_attack = {FAILURE: 703, TOO_LITTLE: 682, ON_LATTICE: 1339, ROUNDED: 681}
    assert all(
        flaw_of(finding).weakness.number == of_any_attack.get(finding.flaw, flaw.weakness.number)
        for finding in refuting
    )
    assert {finding.repair_code for finding in refuting} == {exact_call(target)}
    if shown:
        assert {finding.flaw for finding in refuting} == {shown}
