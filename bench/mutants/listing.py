"""Which mutants there are: for each module those operators' edits whose names have the least digests, and all written.

Chosen by digest, an edit stays chosen when code around it moves or grows, and nobody has picked the easy ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.mutants.mutant import Mutant
from bench.mutants.operators import edits
from bench.mutants.written import WRITTEN

ROOT = Path(__file__).resolve().parents[2]

QUOTAS: Mapping[str, int] = {
    "certified": 3,
    "chunks": 2,
    "coins": 3,
    "exponential/base2/eta": 2,
    "exponential/base2/precision": 1,
    "exponential/base2/weighted_sampling": 3,
    "exponential/exact": 3,
    "exponential/exact_base2": 3,
    "exponential/exact_fast": 5,
    "exponential/exact_fixed_work": 3,
    "exponential/exact_rows": 3,
    "exponential/levels": 3,
    "exponential/utilities": 3,
    "gaussian/exact": 2,
    "gaussian/exact_fast": 3,
    "gaussian/exact_rounded": 3,
    "gaussian/inversion": 3,
    "gaussian/law": 3,
    "gaussian/privacy": 3,
    "gaussian/quantile": 3,
    "gaussian/trade_off": 2,
    "grid": 3,
    "integer_sums": 2,
    "interactive/exact": 3,
    "laplace/discrete_magnitudes": 3,
    "laplace/exact": 3,
    "laplace/exact_fast": 3,
    "laplace/exact_geometric": 3,
    "laplace/exact_on_grid": 2,
    "laplace/exact_randomized_response": 3,
    "laplace/exact_rounded": 3,
    "laplace/exact_snapping": 3,
    "laplace/exponential_variates": 4,
    "local_sensitivity/constants": 2,
    "local_sensitivity/domain": 3,
    "local_sensitivity/mean/exact": 1,
    "local_sensitivity/ptr/exact": 3,
    "local_sensitivity/sample_aggregate/anonymous": 1,
    "local_sensitivity/sample_aggregate/exact": 3,
    "local_sensitivity/smooth/exact": 3,
    "local_sensitivity/sum_over_count/exact": 3,
    "noisy_max/exact": 3,
    "private_numbers": 3,
    "rounding": 1,
    "subsampling/exact": 4,
    "summation/bounds": 3,
    "summation/exact": 2,
    "summation/exact_fast": 1,
    "summation/relations": 1,
}
"""How many of the operators' edits are taken of each module."""


def mutants(root: Path = ROOT) -> list[Mutant]:
    """List the mutants of the mechanisms at `root`, in order of module.

    Raises:
        ValueError: a written one no longer applies, or two are the same.
    """
    found: list[Mutant] = []
    for module, quota in QUOTAS.items():
        source = _source(root, module)
        made: dict[str, Mutant] = {}
        for function, before, after, text in edits(source):
            mutant = Mutant(module, function, before, after, text)
            made.setdefault(mutant.key, mutant)
        found += [made[key] for key in sorted(made)[:quota]]
    found += [written.applied_to(_source(root, written.module)) for written in WRITTEN]
    found.sort()
    if len({one.key for one in found}) != len(found):
        raise ValueError("a mutant is listed twice; take the written one out")
    return found


def _source(root: Path, module: str) -> str:
    return (root / f"mechanisms/{module}.py").read_text("utf-8")
