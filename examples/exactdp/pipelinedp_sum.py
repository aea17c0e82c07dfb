"""PipelineDP: a sum of each partition's values with exact noise, as a custom combiner.

Where parameters say `metrics=[Metrics.SUM]`, let them say `metrics=[], custom_combiners=[ExactSum(lower, upper,
step)]`. PipelineDP's own mechanisms cannot be replaced in an aggregation: its combiners make them by themselves.

    attacklab audit examples/exactdp/pipelinedp_sum.py:release --in-env pipelinedp-0.3.1 --kind sum --epsilon 1 \
        --bounds 0 8 --relation add-remove
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pipeline_dp
from exactdp import geometric
from pipeline_dp.aggregate_params import MechanismType
from pipeline_dp.combiners import CustomCombiner


class ExactSum(CustomCombiner):
    """Adds values up as whole numbers of steps, and noise that is one too: pure ε-DP for each privacy id.

    Args:
        lower: the least value, a multiple of the step; a NaN counts as it.
        upper: the largest value.
        step: a power of two; values are rounded to its multiples.
    """

    def __init__(self, lower: float, upper: float, step: float) -> None:
        self._lower, self._upper, self._step = Fraction(lower), Fraction(upper), Fraction(step)

    def request_budget(self, budget_accountant: pipeline_dp.BudgetAccountant) -> None:
        """Ask for a share of ε."""
        self._budget = budget_accountant.request_budget(MechanismType.LAPLACE)

    def create_accumulator(self, values: Iterable[float]) -> int:
        """Return the sum of what a privacy id has in a partition, in steps; PipelineDP bounds how many values."""
        return sum(self._steps(value) for value in values)

    def merge_accumulators(self, accumulator1: int, accumulator2: int) -> int:
        """Return the sum of two."""
        return accumulator1 + accumulator2

    def compute_metrics(self, accumulator: int) -> float:
        """Return the noisy sum; one privacy id moves all partitions' sums together by the sensitivity."""
        params = self._aggregate_params
        values = params.max_partitions_contributed * params.max_contributions_per_partition
        most = max(abs(self._lower), abs(self._upper)) / self._step
        noise = geometric(epsilon=self._budget.eps, sensitivity=values * most)
        return float(noise(accumulator) * self._step)

    def explain_computation(self) -> str:
        """Return what a report says of it."""
        return f"sum with exact noise, on multiples of {float(self._step)}"

    def _steps(self, value: float) -> int:
        if math.isnan(value):
            return int(self._lower / self._step)
        within = self._lower if value < self._lower else min(self._upper, value)
        return math.floor(Fraction(within) / self._step + Fraction(1, 2))


def parameters(*combiners: CustomCombiner) -> pipeline_dp.AggregateParams:
    """Return parameters by which a privacy id has one value in one partition."""
    return pipeline_dp.AggregateParams(
        metrics=[], custom_combiners=list(combiners), max_partitions_contributed=1, max_contributions_per_partition=1
    )


def totals(records: Sequence[tuple[Any, Any, float]], partitions: Sequence[Any], epsilon: float) -> dict[Any, float]:
    """Return the noisy sum of each public partition, for records (privacy id, partition, value) within [0, 8]."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0.0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda record: record[0],
        partition_extractor=lambda record: record[1],
        value_extractor=lambda record: record[2],
    )
    result = engine.aggregate(records, parameters(ExactSum(0.0, 8.0, 2**-10)), extractors, public_partitions=partitions)
    accountant.compute_budgets()
    return {partition: metrics[0] for partition, metrics in result}


def release(records: Any, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - it draws from the system
    """Draw outputs for `attacklab audit`: of one partition, each record that of a privacy id."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=0.0)
    combiner = ExactSum(0.0, 8.0, 2**-10)
    combiner.set_aggregate_params(parameters())
    combiner.request_budget(accountant)
    accountant.compute_budgets()
    accumulators = (combiner.create_accumulator([float(record)]) for record in records)
    total = reduce(combiner.merge_accumulators, accumulators, 0)
    return np.array([combiner.compute_metrics(total) for _ in range(trials)])
