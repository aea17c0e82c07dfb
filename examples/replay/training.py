"""Opacus: steps of private training on a model of 100 weights, and what goes wrong in one.

`batch_size` is as it was published in issues 571 and 819 of meta-pytorch/opacus, and is in every version up to 1.6.0:
the mean of a loss is divided by the batch size that is expected for this dataset, which one record more may change. The
other flawed steps are mistakes of the code around the library. The sound one adds gradients up, and divides them by a
public number.
"""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants import RDPAccountant

from attacklab import GaussianDP, NeighbouringPair, PrivacyClaim, Target, one_by_one

SIGMA, BATCH, RATE, DELTA = 2.0, 2, 0.1, 1e-5
RECORDS = np.random.default_rng(0).normal(size=(6, 100))
logging.disable(logging.WARNING)  # a sample may be empty
warnings.filterwarnings("ignore", message="Secure RNG|Full backward hook")


def trained(
    records: Any,
    steps: int = 1,
    reduction: str = "sum",
    sigma: float = SIGMA,
    poisson: bool = True,
    key: int | None = None,
) -> Any:
    """The weights after each step down the squared error of a linear model."""
    features = torch.utils.data.TensorDataset(torch.as_tensor(records, dtype=torch.float32))
    linear = torch.nn.Linear(100, 1, bias=False)
    torch.nn.init.zeros_(linear.weight)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=linear,
        optimizer=torch.optim.SGD(linear.parameters(), lr=RATE / (1 if reduction == "mean" else BATCH)),
        data_loader=torch.utils.data.DataLoader(features, batch_size=BATCH, shuffle=True),
        noise_multiplier=sigma,
        max_grad_norm=1.0,
        loss_reduction=reduction,
        poisson_sampling=poisson,
        noise_generator=None if key is None else torch.Generator().manual_seed(key),
    )
    weights = []
    for _, (batch,) in zip(range(steps), loader, strict=False):
        optimizer.zero_grad()
        getattr((model(batch) - 1) ** 2, reduction)().backward()
        optimizer.step()
        weights.append(linear.weight.detach().clone())
    return weights


def trained_twice(records: Any, key: int) -> Any:
    """The weights of two models, one of them on features in the opposite order."""
    return [trained(side, key=key) for side in (records, np.flip(records, axis=1).copy())]


def summed(records: Any, dtype: Any) -> Any:
    """A noisy sum of gradients that were clipped to length 1 in a format; bfloat16 rounds by up to 1 part in 256."""
    gradients = -2 * torch.as_tensor(records).to(dtype)
    clipped = gradients * (1 / gradients.norm(dim=1, keepdim=True)).clamp(max=1)
    return clipped.double().sum(dim=0) + SIGMA * torch.randn(100, dtype=torch.float64)


def counted(steps: int) -> PrivacyClaim:
    """What Opacus counts for so many steps on a third of the records."""
    accountant = RDPAccountant()
    for _ in range(steps):
        accountant.step(noise_multiplier=SIGMA, sample_rate=1 / 3)
    return PrivacyClaim(accountant.get_epsilon(DELTA), DELTA)


def declared(name: str, claim: PrivacyClaim | GaussianDP, release: Callable[..., Any], **settings: Any) -> Target:
    """A release with these settings, and two neighbours to try it on."""
    pair = NeighbouringPair(RECORDS, RECORDS[:-1], "add-remove")
    function = one_by_one(functools.partial(release, **settings))
    return Target.dataset(function, name=name, claim=claim, relation="add-remove", pairs=[pair])


sound = declared("sound", counted(2), trained, steps=2)
batch_size = declared("batch_size", counted(1), trained, reduction="mean")
noise_before_averaging = declared("noise_before_averaging", counted(1), trained, sigma=SIGMA / BATCH)
shuffled = declared("shuffled", counted(3), trained, steps=3, poisson=False)
key_used_twice = declared("key_used_twice", counted(2), trained_twice, key=7)
bfloat16 = declared("bfloat16", GaussianDP(1 / SIGMA), summed, dtype=torch.bfloat16)
float64 = declared("float64", GaussianDP(1 / SIGMA), summed, dtype=torch.float64)
