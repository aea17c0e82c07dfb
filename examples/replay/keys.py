"""JAX: keys of private answers. Nothing is wrong with the library; keys are what programs get wrong."""

from __future__ import annotations

import secrets
from typing import Any

import jax
import numpy as np

from attacklab import NeighbouringPair, Target, one_by_one

jax.config.update("jax_enable_x64", True)


def total_and_count(ages: Any, total_key: Any, count_key: Any) -> tuple[float, float]:
    """A noisy total of ages up to 100, and a noisy count."""
    total = jax.numpy.clip(ages, 0, 100).sum() + 200 * jax.random.laplace(total_key)
    return float(total), float(len(ages) + 2 * jax.random.laplace(count_key))


def one_key(ages: Any) -> tuple[float, float]:
    """With one key for both, whose noise cancels out."""
    key = jax.random.key(secrets.randbits(31))
    return total_and_count(ages, key, key)


def fixed_key(ages: Any) -> tuple[float, float]:
    """With two keys that everybody knows."""
    return total_and_count(ages, *jax.random.split(jax.random.key(0)))


def two_keys(ages: Any) -> tuple[float, float]:
    """With two keys that nobody knows."""
    return total_and_count(ages, *jax.random.split(jax.random.key(secrets.randbits(31))))


AGES = np.array([31.0, 64.0, 22.0])


def _on_neighbours(release: Any) -> Target:
    pair = NeighbouringPair(AGES, AGES[:-1], "add-remove")
    return Target.dataset(one_by_one(release), epsilon=1.0, relation="add-remove", pairs=[pair])


key_used_twice = _on_neighbours(one_key)
key_of_the_code = _on_neighbours(fixed_key)
sound = _on_neighbours(two_keys)
