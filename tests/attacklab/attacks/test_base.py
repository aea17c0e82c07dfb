"""What all attacks share: the registry, and outputs as doubles."""

from __future__ import annotations

import dataclasses
import importlib
import struct

import numpy as np
import pytest

from attacklab.attacks import ATTACKS
from attacklab.attacks.base import as_floats
from attacklab.targets import Kind, Target


def test_every_attack_lives_in_the_module_of_its_name_and_no_name_comes_twice() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
    for attack in ATTACKS:
        module = importlib.import_module(type(attack).__module__)
        assert module.__name__.split(".")[:3] == ["attacklab", "attacks", attack.name]
        assert "Source: " in (module.__doc__ or "")
        assert "\n" not in attack.flaw


def test_attacks_are_frozen_so_that_a_registered_one_cannot_change() -> None:
    for attack in ATTACKS:
        with pytest.raises(dataclasses.FrozenInstanceError):
            attack.name = "other"  # type: ignore[misc] # deliberately


def test_every_attack_applies_to_some_kind_of_target() -> None:
    made = [
        Target(name=kind.value, kind=kind, claim=target.claim, release=target.release, bounds=(0.0, 1.0))
        for target in [Target.noise(lambda *_: np.empty(0), epsilon=1.0)]
        for kind in Kind
    ]
    for attack in ATTACKS:
        assert any(attack.applies_to(target) for target in made)


def test_outputs_become_doubles_with_every_bit_kept_and_failures_nan() -> None:
    values = [0.1, -0.0, 5e-324, float("inf"), -1.7976931348623157e308]
    for outputs in (np.array(values), np.array(values, dtype=object)):
        assert as_floats(outputs).tobytes() == struct.pack("=5d", *values)
    mixed = as_floats(np.array([None, 3, np.float32(0.1)], dtype=object))
    assert np.isnan(mixed[0])
    assert mixed[1:].tolist() == [3.0, float(np.float32(0.1))]
