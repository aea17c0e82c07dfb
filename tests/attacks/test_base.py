"""What all attacks share: the registry, and outputs as doubles."""

from __future__ import annotations

import importlib
import pickle
import struct
from typing import Any

import numpy as np

from attacklab.attacks import ALL_ATTACKS, ATTACKS, MISSING_CLIP
from attacklab.attacks.base import FunctionAttack, as_floats
from attacklab.model.targets import Kind, Target


def test_every_attack_names_its_flaw_and_source_and_no_name_comes_twice() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
    for attack in ATTACKS:
        assert "\n" not in attack.flaw
        if isinstance(attack, FunctionAttack):
            assert attack.find.__doc__
            assert attack.source
        else:
            module = importlib.import_module(type(attack).__module__)
            assert module.__name__.split(".")[2] == attack.name
            assert "Source: " in (module.__doc__ or "")


def test_a_function_attack_shows_itself_as_it_is_written_and_travels() -> None:
    assert repr(MISSING_CLIP) == "MISSING_CLIP"
    given = MISSING_CLIP.given(size=8)
    assert repr(given) == "MISSING_CLIP.given(size=8)"
    assert pickle.loads(pickle.dumps(given)) == given  # noqa: S301 - our own bytes


NOISE, SELECTION, SUM, MEAN, DATASET = Kind
APPLIES: dict[str, set[Kind]] = {
    **{key: {SELECTION} for key in ("zero_rounding", "score_overflow", "truncated_addition")},
    **dict.fromkeys(("low_bit_laplace", "low_bit_gaussian", "precision"), set(Kind) - {SELECTION}),
    **{key: {NOISE} for key in ("integer_cast", "generator_seed")},
    **{key: {SUM, MEAN} for key in ("sum_sensitivity", "missing_clip", "failing_size")},
    **{key: {MEAN} for key in ("position_chunks", "double_budget")},
    "local_sensitivity": {SUM, MEAN, DATASET},
    **{key: {DATASET} for key in ("generator_state", "bare_part", "rare_keys")},
    "special_values": set(Kind) - {DATASET},
    "repeated_noise": set(Kind) - {DATASET},  # those of datasets say which pairs to try
    "black_box": set(Kind),
}


def of_kind(kind: Kind, **rest: Any) -> Target:
    bounds = {"bounds": (0.0, 1.0)} if kind in (SUM, MEAN) else {}
    target: Target = getattr(Target, kind.value)(lambda *_: np.empty(0), epsilon=1.0, **bounds, **rest)
    return target


def test_an_attack_applies_to_the_kinds_of_targets_that_can_have_its_flaw() -> None:
    for attack in ALL_ATTACKS:
        kinds = {kind for kind in Kind if attack.applies_to(of_kind(kind))}
        assert kinds, attack.name
        assert kinds == APPLIES.get(attack.name, kinds), attack.name


def test_outputs_become_doubles_with_every_bit_kept_and_failures_nan() -> None:
    values = [0.1, -0.0, 5e-324, float("inf"), -1.7976931348623157e308]
    for outputs in (np.array(values), np.array(values, dtype=object)):
        assert as_floats(outputs).tobytes() == struct.pack("=5d", *values)
    mixed = as_floats(np.array([None, 3, np.float32(0.1)], dtype=object))
    assert np.isnan(mixed[0])
    assert mixed[1:].tolist() == [3.0, float(np.float32(0.1))]
