"""Sample and aggregate with the chunks assigned to people, not to positions.

A person's chunk is a keyed hash of the person's identity: it depends on nobody else, so adding or removing a person,
with all of that person's records, changes one chunk's answer. There are always as many chunks as the noise is scaled
to; an empty one answers the middle of the range. Source: Nissim, Raskhodnikova and Smith 2007, section 4, for the
framework; Near and Abuah, section 8.5, for the mean as aggregation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.exact import discrete_laplace
from mechanisms.local_sensitivity.domain import Domain, nearest_integer
from mechanisms.parameters import positive_rational
from mechanisms.randomness import RandomBits


def chunk_of(person: str, chunks: int, key: bytes) -> int:
    """The chunk, in [0, chunks), of a person; `key` is at most 64 bytes and chosen without looking at the data."""
    digest = hashlib.blake2b(person.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()
    return int.from_bytes(digest, "big") % chunks


def _answer(statistic: Callable[[NDArray[np.float64]], float], values: list[float]) -> float:
    if not values:
        return float("nan")
    try:
        return float(statistic(np.array(values, dtype=np.float64)))
    except Exception:
        # Which databases the statistic fails on is private: a failure must look like any other answer.
        return float("nan")


def _release(total: int, chunks: int, domain: Domain, epsilon: Fraction, bits: RandomBits) -> float:
    noisy_total = total + bits.call(discrete_laplace, domain.width / epsilon)
    return domain.value(nearest_integer(noisy_total, chunks))


def prepare_sample_aggregate(
    records: Iterable[tuple[str, float]],
    *,
    statistic: Callable[[NDArray[np.float64]], float],
    chunks: int,
    key: bytes,
    domain: Domain,
    epsilon: float | Fraction,
) -> Callable[[RandomBits], float]:
    """Do once what does not depend on the randomness of `exact_sample_aggregate`.

    Args:
        records: a person's identity and a value each; a person may have many.
        statistic: what is computed from the values of one chunk, in the order of the records. It must keep no state
            from one chunk to the next. Where it raises or returns NaN the chunk answers the middle of the range.
        chunks: the public number of chunks.
        key: at most 64 bytes, chosen without looking at the data, from which people's chunks are derived.
        domain: the public grid points that the chunks' answers are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a person with all their records.

    Returns:
        A function that releases one answer from random bits.

    Raises:
        ValueError: `chunks` is less than 1, `key` is longer than 64 bytes, or `epsilon` is not positive and finite.
    """
    if chunks < 1:
        raise ValueError(f"chunks must be at least 1, not {chunks}")
    if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
        raise ValueError(f"key must have at most {hashlib.blake2b.MAX_KEY_SIZE} bytes, not {len(key)}")
    loss = positive_rational("epsilon", epsilon)
    members: list[list[float]] = [[] for _ in range(chunks)]
    for person, value in records:
        members[chunk_of(person, chunks, key)].append(value)
    answers = domain.positions([_answer(statistic, values) for values in members])
    return partial(_release, int(answers.sum()), chunks, domain, loss)


def exact_sample_aggregate(
    records: Iterable[tuple[str, float]],
    bits: RandomBits,
    *,
    statistic: Callable[[NDArray[np.float64]], float],
    chunks: int,
    key: bytes,
    domain: Domain,
    epsilon: float | Fraction,
) -> float:
    """Sample and aggregate, epsilon-DP; arguments and errors as in `prepare_sample_aggregate`."""
    release = prepare_sample_aggregate(
        records, statistic=statistic, chunks=chunks, key=key, domain=domain, epsilon=epsilon
    )
    return release(bits)
