"""Keys of JAX: from which seed each was derived. Noise whose seed stands in the code is known to everybody."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from attacklab.replay.seeds import note_seed, seeds_of
from attacklab.replay.sources import watched
from attacklab.replay.traced import plain

FROM_SEEDS = ("PRNGKey", "key")
FROM_KEYS = ("split", "fold_in", "clone")


def hooks_of(random: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What stands for the functions of `jax.random` that make keys, by their names."""
    for name in FROM_SEEDS:
        yield name, functools.partial(_seeded, random, name, getattr(random, name))
    for name in FROM_KEYS:
        yield name, functools.partial(_derived, random, getattr(random, name))


def _seeded(random: Any, name: str, original: Callable[..., Any], seed: Any, **rest: Any) -> Any:
    made, session = original(plain(seed), **rest), watched()
    if session is not None and np.ndim(seed) == 0:
        source = SimpleNamespace()
        note_seed(source, f"jax.random.{name}", seed)
        session.keys.update(dict.fromkeys(_streams(random, made), (seeds_of(source).stream or ())[:2]))
    return made


def _derived(random: Any, original: Callable[..., Any], key: Any, *args: Any, **kwargs: Any) -> Any:
    made, session = original(key, *map(plain, args), **kwargs), watched()
    if session is not None:
        seeds = [session.keys[one] for one in _streams(random, key) if one in session.keys]
        session.keys.update(dict.fromkeys(_streams(random, made), *seeds[:1]) if seeds else {})
    return made


def _streams(random: Any, keys: Any) -> list[tuple[Any, ...]]:
    """What tells draws of some keys from those of others; nothing of a function that is being compiled."""
    import jax

    if isinstance(keys, jax.core.Tracer):
        return []
    is_typed = jax.dtypes.issubdtype(keys.dtype, jax.dtypes.prng_key)
    data = np.asarray(random.key_data(keys) if is_typed else keys)
    return [("jax key", *row) for row in data.reshape(-1, data.shape[-1]).tolist()]
