"""The mean by sample and aggregate of records that come without the identities of their people."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np

from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.sample_aggregate.exact import SampleAggregate, prepare_sample_aggregate
from mechanisms.private_numbers import PrivateNumbers, doubles


def numbered(records: PrivateNumbers) -> list[tuple[str, float]]:
    """Give each record an identity that does not depend on the order: its value, and how many had that value before.

    Of equal records it is always the last number that one less takes away, so that databases that differ by a record
    differ by one person. Equal values are written alike: −0 as 0, and every NaN is the same one.

    Args:
        records: the records, shape (n,).

    Returns:
        Pairs of an identity and a value, in the order of the records.
    """
    seen: Counter[float] = Counter()
    people = []
    values = doubles("records", records) + 0.0
    for value in [math.nan if math.isnan(value) else value for value in values.tolist()]:
        people.append((f"{value}, number {seen[value]}", value))
        seen[value] += 1
    return people


def prepare_mean_of_chunks(
    records: PrivateNumbers, *, chunks: int, key: str, domain: Domain, epsilon: float | Fraction
) -> SampleAggregate:
    """Prepare the mean of chunks' means; see `prepare_sample_aggregate`.

    Args:
        records: one value a person, shape (n,).
        chunks: the public number of chunks.
        key: at most 64 bytes in UTF-8, chosen without looking at the data.
        domain: the public grid points that the chunks' means are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a record.

    Returns:
        An object that releases one answer, or many, from random bits.
    """
    return prepare_sample_aggregate(
        numbered(records), statistic=np.mean, chunks=chunks, key=key.encode(), domain=domain, epsilon=epsilon
    )
