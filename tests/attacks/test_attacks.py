"""Each attack refutes specimens with its flaw and accuses no sound one of the same kind; what all attacks share."""

import dataclasses
import importlib
import pickle
import struct
from typing import Any

import numpy as np
import pytest

from attacklab import ATTACKS, Kind, Target, Verdict
from attacklab.attacks import ALL_ATTACKS, MISSING_CLIP
from attacklab.attacks.base import FunctionAttack, as_floats
from attacklab.auditing.referee import audit
from corpus.known import KNOWN

ATTACK = {attack.name: attack for attack in ATTACKS}
SPECIMEN = {specimen.name: specimen for specimen in KNOWN}

REFUTED: dict[str, str] = {
    "zero_rounding": "unscaled_exponentials same_noise_for_all",
    "truncated_addition": "cumulative_binary32 thousand_tickets gumbel_binary16 squared_utilities",
    "score_overflow": "softmax_binary16 unscaled_exponentials integer_noisy_max",
    "low_bit_laplace": (
        "laplace_of_numpy difference_of_exponentials printed_binary32 percentages json_record one_draw_for_all_queries"
    ),
    "low_bit_gaussian": "python_gauss inverse_normal half_precision binary32_ziggurat",
    "precision": "double_of_binary32 grid_of_noise_only truncated_to_bfloat16 json_record",
    "integer_cast": "half_precision unit_scale rounded_at_halves",
    "generator_seed": "fixed_seed pool_of_noise",
    "sum_sensitivity": "total_in_a_byte",
    "local_sensitivity": "mean_of_private_count",
    "missing_clip": "upper_clip_only",
    "double_budget": "mean_of_private_count",
    "special_values": "upper_clip_only nan_passes_the_clamp",
    "bare_part": "sparse_histogram",
    "rare_keys": "threshold_truncated low_threshold",
    "repeated_noise": "fixed_seed pool_of_noise keyed_by_answer distinct_values",
    "black_box": (
        "sparse_histogram ordered_by_truth raises_on_empty laplace_of_numpy triangular bits_of_noise "
        "upper_clip_only total_in_a_byte triangles "
        "rounded_at_halves truth_with_one_percent low_threshold quantile_of_records noisy_unary fresh_noise_on_totals "
        "cancelled_middle three_values even_noise modulo_of_a_byte"
    ),
}
"""Attacks, and specimens whose claim each refutes by itself."""

SOUND: dict[str, str] = {
    "zero_rounding": "exact_weights exact_noisy_max",
    "truncated_addition": "exact_weights exact_noisy_max",
    "score_overflow": "exact_weights exact_noisy_max",
    "low_bit_laplace": "dyadic_laplace rounded_laplace tenths binary32_of_integer rows_in_half_precision",
    "low_bit_gaussian": "discrete_normal",
    "precision": "dyadic_laplace rounded_laplace tenths binary32_of_integer",
    "integer_cast": "clamped_answer snapped discrete_normal",
    "sum_sensitivity": "integer_sum public_size_mean",
    "local_sensitivity": "integer_sum public_size_mean",
    "missing_clip": "integer_sum public_size_mean nan_is_skipped",
    "special_values": "integer_sum public_size_mean nan_is_skipped exact_weights",
    "bare_part": "full_histogram sum_as_json",
    "rare_keys": "threshold_rounded_up known_keys",
    "repeated_noise": "two_answers table_of_weights known_keys site_by_response",
    "black_box": (
        "full_histogram sum_as_json clamped_to_a_byte sometimes_nothing two_answers dyadic_laplace "
        "skew_within_claim integer_sum rounded_with_room exact_weights answers_with_eight "
        "name_and_shame sampled_rightly above_threshold known_keys noisy_stream "
        "site_by_response clamped_to_its_bounds even_answers_even_noise table_of_weights clamped_answer"
    ),
}
"""Attacks, and sound specimens that come near to their flaws."""

ALPHA = 1e-9
"""The probability of a false alarm of each audit of a sound specimen; for the others the seed is fixed."""

SECONDS = {"gumbel_binary16", "ordered_by_truth", "sparse_histogram", "low_threshold", "fresh_noise_on_totals"}
"""Specimens of which an audit takes that long."""


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(attack, specimen) for attack, names in table.items() for specimen in names.split()]


def rows(table: dict[str, str]) -> list[Any]:
    return [pytest.param(*row, marks=[pytest.mark.slow] * (row[1] in SECONDS)) for row in pairs(table)]


@pytest.mark.parametrize(("attack", "specimen"), rows(REFUTED))
def test_a_flaw_is_shown_by_its_attack_alone(attack: str, specimen: str) -> None:
    findings = audit(SPECIMEN[specimen].make(), [ATTACK[attack]])
    assert any(finding.refutes for finding in findings), findings


@pytest.mark.parametrize(("attack", "specimen"), pairs(SOUND))
def test_a_sound_specimen_is_not_accused(attack: str, specimen: str) -> None:
    findings = audit(SPECIMEN[specimen].make(), [ATTACK[attack]], trials=2_000, alpha=ALPHA)
    allowed = {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE}
    assert {finding.verdict for finding in findings} <= allowed, findings


def test_the_tables_name_what_there_is() -> None:
    for table, broken in ((REFUTED, True), (SOUND, False)):
        assert set(table) <= set(ATTACK)
        assert {SPECIMEN[specimen].broken for _, specimen in pairs(table)} == {broken}


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


def test_attacks_are_frozen_so_that_a_registered_one_cannot_change() -> None:
    for attack in ATTACKS:
        with pytest.raises(dataclasses.FrozenInstanceError):
            attack.name = "other"  # type: ignore[misc] # deliberately


def test_outputs_become_doubles_with_every_bit_kept_and_failures_nan() -> None:
    values = [0.1, -0.0, 5e-324, float("inf"), -1.7976931348623157e308]
    for outputs in (np.array(values), np.array(values, dtype=object)):
        assert as_floats(outputs).tobytes() == struct.pack("=5d", *values)
    mixed = as_floats(np.array([None, 3, np.float32(0.1)], dtype=object))
    assert np.isnan(mixed[0])
    assert mixed[1:].tolist() == [3.0, float(np.float32(0.1))]
