"""Opacus: a step of `DPOptimizer` with exact noise, on gradients that are added up exactly.

After `model, optimizer, loader = engine.make_private(...)` write `optimizer = exact(optimizer, step=2**-20)`, and train
as before: the accountant goes on counting. Noise alone cannot be handed in, because Opacus takes a `torch.Generator`,
from which PyTorch draws normal numbers in binary32.

Each record's gradient is rounded to multiples of the step and clipped there, in integers, so that sums move by at most
`max_grad_norm` and do not depend on an order. The noise is normal and then rounded to the same multiples, which
releases no more than the Gaussian mechanism over the reals, which the accountant counts. Two things are taken for
granted: that a record's gradient does not depend on the other records of its batch (a model computes gradients
together, and may round them otherwise if a record is missing), and that the loader samples as the accountant supposes.

    attacklab audit examples/exactdp/opacus_gradient.py:release --in-env opacus-1.6.0 --kind noise \
        --epsilon 1 --delta 1e-5
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import torch
from exactdp import gaussian
from opacus.optimizers import DPOptimizer
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed

MOST_STEPS = 2**30
"""How many steps the clipping norm may have, so that squares of integers of 64 bits can be added up."""


class ExactOptimizer(DPOptimizer):
    """`DPOptimizer` on the multiples of a step.

    Args:
        optimizer: what takes the noisy gradients.
        step: a power of two, chosen without looking at the data; at least 2^-30 of the clipping norm.
        settings: `noise_multiplier`, `max_grad_norm`, `expected_batch_size` and `loss_reduction`, as Opacus has them.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, *, step: float, **settings: Any) -> None:
        super().__init__(optimizer, **settings)
        norm = Fraction(self.max_grad_norm)
        if not 1 <= norm / Fraction(step) <= MOST_STEPS:
            raise ValueError(f"max_grad_norm must be 1 to {MOST_STEPS} steps; choose another step than {step}")
        self._grid = step
        self._most_squared = int((norm / Fraction(step)) ** 2)
        self._noise = gaussian(sigma=Fraction(self.noise_multiplier) * norm, sensitivity=norm, step=step)

    def clip_and_accumulate(self) -> None:
        """Add each record's clipped gradient to `summed_grad`, which counts steps."""
        samples = zip(self.grad_samples, self.params, strict=True)
        rows = torch.cat([sample.reshape(len(sample), param.numel()) for sample, param in samples], dim=1).double()
        total = torch.zeros(rows.shape[1], dtype=torch.int64)
        for row in rows:  # one at a time, because how a row is rounded must not depend on how many there are
            total += self._clipped(row)
        for param, part in zip(self.params, total.split([param.numel() for param in self.params]), strict=True):
            _check_processed_flag(param.grad_sample)
            param.summed_grad = part if param.summed_grad is None else param.summed_grad + part
            _mark_as_processed(param.grad_sample)

    def add_noise(self) -> None:
        """Put noisy gradients into `grad`."""
        for param in self.params:
            _check_processed_flag(param.summed_grad)
            noisy = self._noise.each(param.summed_grad.numpy() * self._grid)
            param.grad = torch.from_numpy(noisy).to(param.dtype).reshape(param.shape)
            _mark_as_processed(param.summed_grad)

    def _clipped(self, row: torch.Tensor) -> torch.Tensor:
        """A record's gradient in steps, no longer than the clipping norm; none if it is not finite."""
        if not row.isfinite().all():
            return torch.zeros(row.shape, dtype=torch.int64)
        shrunk = row * min(1.0, self.max_grad_norm / max(float(row.norm()), self._grid))
        steps = (shrunk / self._grid).trunc().to(torch.int64)
        while int((steps * steps).sum()) > self._most_squared:  # by a rounding of the norm
            steps -= steps.sign()
        return steps


def exact(optimizer: DPOptimizer, *, step: float) -> ExactOptimizer:
    """Return the optimizer of `make_private` with exact sums and noise.

    Raises:
        ValueError: it is not a plain `DPOptimizer`, but clips in another way.
    """
    if type(optimizer) is not DPOptimizer:
        raise ValueError(f"{type(optimizer).__name__} is not DPOptimizer; make it private with clipping='flat'")
    names = ("noise_multiplier", "max_grad_norm", "expected_batch_size", "loss_reduction")
    settings = {name: getattr(optimizer, name) for name in names}
    replaced = ExactOptimizer(optimizer.original_optimizer, step=step, **settings)
    replaced.attach_step_hook(optimizer.step_hook)
    return replaced


def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - it draws from the system
    """Draw outputs for `attacklab audit`: noisy gradients, of which the answer is each coordinate before the noise.

    A noise multiplier of 3.75 is above the 3.7306 that (1, 10^-5)-DP needs.
    """
    settings = {"noise_multiplier": 3.75, "max_grad_norm": 1.0, "expected_batch_size": None, "loss_reduction": "sum"}
    parameter = torch.nn.Parameter(torch.zeros(trials, dtype=torch.float64))
    optimizer = ExactOptimizer(torch.optim.SGD([parameter], lr=1.0), step=2**-10, **settings)
    within = min(max(float(np.nan_to_num(answer)), -(2.0**40)), 2.0**40)
    parameter.summed_grad = torch.full((trials,), round(within * 2**10))
    optimizer.add_noise()
    return parameter.grad.numpy()
