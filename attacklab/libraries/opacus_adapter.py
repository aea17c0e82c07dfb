"""Opacus: the Gaussian noise that its `DPOptimizer` adds to the summed gradient, with and without `secure_mode`.

An answer is one coordinate of a summed gradient in binary32, and a trial is one coordinate of a parameter. Per-sample
gradients are clipped to a norm of 1, so that is the sensitivity of the sum. The noise multiplier is the least for which
the Gaussian mechanism over the reals keeps the claim (Balle and Wang 2018, 'Improving the Gaussian Mechanism for
Differential Privacy', theorem 8). Answers that binary32 lacks are refused.

`PrivacyEngine(secure_mode=True)` draws from the operating system through torchcsprng; here both modes draw from
PyTorch's own generator, seeded. What `secure_mode` does to the noise, four draws added and halved, is audited; the
generator is not. `gaussian_rdp` claims what `RDPAccountant` counts for one step on the whole batch, at its own orders.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

DISTRIBUTION = "opacus"
UNSEEDED = False


def _noise_multiplier(epsilon: float, delta: float) -> float:
    """Return the least noise multiplier that the claim allows, enlarged by more than rounding to binary32 can lose."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr

    def excess(sigma: float) -> float:
        shift, half = epsilon * sigma, 0.5 / sigma
        return float(ndtr(half - shift) - math.exp(epsilon + log_ndtr(-half - shift)) - delta)

    tail = math.sqrt(2 * math.log(1 / delta))
    # Concentrated differential privacy shows that the upper end suffices.
    enough = (tail + math.sqrt(tail * tail + 2 * epsilon)) / (2 * epsilon)
    return float(brentq(excess, 1e-3 * enough, enough, xtol=1e-12)) * (1 + 2.0**-20)


def _optimizer(multiplier: float, secure_mode: bool = False, **claim: Any) -> dict[str, Any]:
    import torch
    from opacus.optimizers import DPOptimizer

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        parameter = torch.nn.Parameter(torch.zeros(trials))
        optimizer = DPOptimizer(
            torch.optim.SGD([parameter], lr=1.0),
            noise_multiplier=multiplier,
            max_grad_norm=1.0,
            expected_batch_size=None,
            loss_reduction="sum",
            generator=torch.Generator().manual_seed(int(rng.integers(1 << 63))),
            secure_mode=secure_mode,
        )
        parameter.summed_grad = torch.full((trials,), answer, dtype=torch.float32)
        if parameter.summed_grad[0].item() != answer:
            raise ValueError(f"the answer {answer} cannot be represented in {torch.float32}")
        optimizer.add_noise()
        return parameter.grad.numpy()

    return {"kind": "noise", "release": release, "noise_scale": multiplier, **claim}


def _gaussian(secure_mode: bool, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    return _optimizer(_noise_multiplier(epsilon, delta), secure_mode, epsilon=epsilon, delta=delta)


def _rdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    from opacus.accountants import RDPAccountant
    from opacus.accountants.analysis.rdp import compute_rdp

    orders = [float(order) for order in RDPAccountant.DEFAULT_ALPHAS]
    counted = compute_rdp(q=1.0, noise_multiplier=1 / epsilon, steps=1, orders=orders)
    return _optimizer(1 / epsilon, claim={"kind": "rdp", "alpha": orders, "epsilon": list(map(float, counted))})


MECHANISMS: dict[str, Any] = {
    "gaussian": partial(_gaussian, False),
    "gaussian_secure_mode": partial(_gaussian, True),  # half the sum of four draws
    "gaussian_rdp": _rdp,
}
