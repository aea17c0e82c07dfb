"""Sample and aggregate with the chunks assigned to people, not to positions.

A person's chunk is a keyed hash of the person's identity. It does not depend on anybody else, so adding or removing a
person, with all of that person's records, changes the answer of one chunk: the statistic gets the chunk's values
sorted, so that no order of the records moves a rounded sum. The number of chunks is always the one that
the noise is scaled to; an empty chunk answers the middle of the range. Source: Nissim, Raskhodnikova and Smith 2007,
section 4, for the framework; Near and Abuah, section 8.5, for the mean as aggregation.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.exact import noisy_integer
from mechanisms.laplace.exact_fast import noisy_integers
from mechanisms.local_sensitivity.domain import Domain, nearest_integer
from mechanisms.parameters import positive_integer
from mechanisms.private_numbers import PrivateNumber, doubles
from mechanisms.randomness import RandomBits


def chunk_of(person: str, chunks: int, key: bytes) -> int:
    """Return a person's chunk, in [0, chunks); `key` is at most 64 bytes and chosen without looking at the data."""
    digest = hashlib.blake2b(person.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()
    return int.from_bytes(digest, "big") % chunks


def _answer(statistic: Callable[[NDArray[np.float64]], float], values: NDArray[np.float64]) -> float:
    """Run the statistic on what is in a chunk, as a function of the multiset of its values that only returns."""
    if not len(values):
        return math.nan
    values += 0.0  # −0 becomes 0: they are equal, so sorting would not put one before the other
    values.sort()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return float(doubles("answers", [statistic(values)])[0])
        except KeyboardInterrupt:
            raise
        except BaseException:
            # That the statistic fails on a database is private: a failure must look like any other answer.
            return math.nan


@dataclass(frozen=True)
class SampleAggregate:
    """Releases the mean of the chunks' answers from their sum, in grid steps above `lower`."""

    total: int
    chunks: int
    domain: Domain
    epsilon: Fraction

    def one(self, bits: RandomBits) -> float:
        """Release one answer, with ε-DP."""
        noisy_total = noisy_integer(self.total, self._noise_scale, bits)
        return self.domain.value(nearest_integer(noisy_total, self.chunks))

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Release `trials` independent answers, shape (trials,), with ε-DP each."""
        noisy_totals = noisy_integers(self.total, self._noise_scale, trials, bits)
        return self.domain.values(nearest_integer(noisy_totals, self.chunks))

    @property
    def _noise_scale(self) -> Fraction:
        return self.domain.width / self.epsilon


def prepare_sample_aggregate(
    records: Iterable[tuple[str, PrivateNumber]],
    *,
    statistic: Callable[[NDArray[np.float64]], float],
    chunks: int,
    key: bytes,
    domain: Domain,
    epsilon: float | Fraction,
) -> SampleAggregate:
    """Do the part of `exact_sample_aggregate` that needs no randomness.

    Args:
        records: pairs of a person's identity and a value; a person may have many.
        statistic: what is computed from the values of one chunk, doubles in increasing order with NaN behind. It must
            keep no state from one chunk to the next, and print nothing. Where it raises (SystemExit, too) or returns
            what is not a number, the chunk answers the middle of the range; its warnings are dropped.
        chunks: the public number of chunks.
        key: at most 64 bytes, chosen without looking at the data, from which people's chunks are derived.
        domain: the public grid points that the chunks' answers are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a person with all their records.

    Returns:
        An object that releases one answer, or many, from random bits.

    Raises:
        TypeError: `chunks` is not an integer; a person is not a string, or a value not a number, by its type.
        ValueError: `chunks` is less than 1, `key` is longer than 64 bytes, or `epsilon` is out of its
            range; see `Domain.privacy_loss`.
    """
    positive_integer("chunks", chunks)
    if len(key) > hashlib.blake2b.MAX_KEY_SIZE:
        raise ValueError(f"key must have at most {hashlib.blake2b.MAX_KEY_SIZE} bytes, not {len(key)}")
    loss = domain.privacy_loss(epsilon)
    people, values = [], []
    for person, value in records:
        people.append(person)
        values.append(value)
    members: list[list[float]] = [[] for _ in range(chunks)]
    for person, number in zip(people, doubles("values of records", values).tolist(), strict=True):
        members[chunk_of(person, chunks, key)].append(number)
    total, _ = domain.total_and_count([_answer(statistic, np.array(held, dtype=np.float64)) for held in members])
    return SampleAggregate(total, chunks, domain, loss)


def exact_sample_aggregate(
    records: Iterable[tuple[str, PrivateNumber]],
    bits: RandomBits,
    *,
    statistic: Callable[[NDArray[np.float64]], float],
    chunks: int,
    key: bytes,
    domain: Domain,
    epsilon: float | Fraction,
) -> float:
    """Sample and aggregate, epsilon-DP; arguments and errors as in `prepare_sample_aggregate`."""
    prepared = prepare_sample_aggregate(
        records, statistic=statistic, chunks=chunks, key=key, domain=domain, epsilon=epsilon
    )
    return prepared.one(bits)
