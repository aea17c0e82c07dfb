"""Proofs of concept: each leaks on the naive twin and not on the exact one, and stands on its own feet.

A script calls a sound target broken with a probability of at most 1e-9, and all draws here are seeded.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attacklab import Kind, Target
from attacklab.auditing.attacks import ALL_ATTACKS
from attacklab.auditing.referee import audit
from attacklab.cli.scripts import call_of
from attacklab.laws.proof import prove_all
from attacklab.model.findings import Finding
from attacklab.model.loading import load_target
from attacklab.reporting.poc import chosen_finding, proof_of_concept

ATTACKS = {attack.name: attack for attack in ALL_ATTACKS}
FILE = str(Path(__file__).with_name("file_targets.py"))
LAB = "experiments.targets"

TWINS = (
    ("zero_rounding", LAB, "naive_exponential", "exact_exponential", 4_000),
    ("low_bit_laplace", FILE, "naive_laplace", "exact_laplace", 4_000),
    ("integer_cast", LAB, "naive_laplace_numpy", "exact_discrete_laplace", 4_000),
    ("sum_sensitivity", LAB, "naive_bounded_sum_numpy", "exact_bounded_sum", 4_000),
    ("missing_clip", LAB, "naive_ptr_mean", "exact_ptr_mean", 4_000),
    ("black_box", LAB, "naive_shuffled_response", "exact_shuffled_response", 4_000),
    ("lattice_bias", FILE, "naive_lattice", "exact_lattice", 4_000),
    ("repeated_noise", FILE, "naive_one", "exact_one", 4_000),
)
"""An attack, where its targets are, the naive and the exact one, and how many trials an audit takes to refute it."""


def found(attack: str, place: str, naive: str, trials: int) -> Finding:
    """The finding that an attack made, as a file has it."""
    options = "" if place == LAB else " --kind noise --epsilon 1"
    spec = f"{place}:{naive}"
    target: Target = load_target(spec) if place == LAB else load_target(spec, kind=Kind.NOISE, epsilon=1.0)
    finding = chosen_finding(audit(target, [ATTACKS[attack]], trials=trials, spec=spec + options))
    return Finding.from_json(json.loads(json.dumps(finding.to_json())))


def run(script: str, target: str) -> tuple[int, str]:
    """The exit status of a script that is pointed at a target, and what it prints."""
    module: dict[str, Any] = {"__name__": "proof_of_concept"}
    exec(compile(script, "proof_of_concept.py", "exec", dont_inherit=True), module)  # noqa: S102 - this is the script
    module["TARGET"] = target
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = module["main"]()
    return status, said.getvalue()


def imported(script: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(script)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {
        name.partition(".")[0]
        for name in names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    }


@pytest.mark.parametrize(("attack", "place", "naive", "exact", "trials"), TWINS)
def test_a_script_leaks_on_the_naive_twin_and_not_on_the_exact_one(
    attack: str, place: str, naive: str, exact: str, trials: int
) -> None:
    finding = found(attack, place, naive, trials)
    script = proof_of_concept(finding, call_of(finding))
    assert imported(script) <= {*sys.stdlib_module_names, "numpy"}
    status, said = run(script, f"{place}:{naive}")
    assert (status, "BROKEN" in said) == (1, True), said
    status, said = run(script, f"{place}:{exact}")
    assert (status, "do not show" in said) == (0, True), said


def test_the_outcomes_of_an_exact_law_leak_on_the_naive_sampler_alone() -> None:
    target = load_target(f"{FILE}:naive_bit", kind=Kind.NOISE, epsilon=1.0)
    (finding,) = prove_all(target, spec=f"{FILE}:naive_bit --kind noise --epsilon 1 --first 0 --second 1")
    finding = Finding.from_json(json.loads(json.dumps(finding.to_json())))
    script = proof_of_concept(finding, call_of(finding))
    status, said = run(script, f"{FILE}:naive_bit")
    assert (status, "BROKEN" in said) == (1, True), said
    status, said = run(script, f"{FILE}:exact_bit")
    assert (status, "do not show" in said) == (0, True), said


def test_a_script_runs_where_this_package_cannot_be_imported(tmp_path: Path) -> None:
    finding = found("low_bit_laplace", FILE, "naive_laplace", 4_000)
    script = tmp_path / "shown.py"
    script.write_text(proof_of_concept(finding, call_of(finding)), encoding="utf-8")
    (tmp_path / "attacklab.py").write_text("raise ImportError('not here')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    statuses = {}
    for words in ([], [f"{FILE}:exact_laplace"], [f"{FILE}:no_such"]):
        done = subprocess.run(  # noqa: S603 - the script is ours
            [sys.executable, str(script), *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        statuses[done.returncode] = done.stdout + done.stderr
    assert list(statuses) == [1, 0, 2]
    assert "could not be called: AttributeError" in statuses[2]
