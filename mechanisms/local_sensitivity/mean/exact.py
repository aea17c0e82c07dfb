"""The mean of the records, rounded to the grid, as an integer number of steps, and its true local sensitivity.

Between n − 1 and n records in [0, W], n ≥ 1, the mean moves by at most W/n (remove the one record at W, the others at
0), and rounding to whole steps, halves upwards, makes that at most ⌈W/n⌉. The mean of nobody is the middle of the
range, which keeps the bound at n = 1. The textbook's W/(n + 1) is for adding a record only.
"""

from __future__ import annotations

from mechanisms.local_sensitivity.domain import Domain, nearest_integer


def rounded_mean(total: int, count: int, domain: Domain) -> int:
    """Return the mean of `count` grid positions that add up to `total`, rounded to a position, halves upwards."""
    if count == 0:
        return domain.middle
    return nearest_integer(total, count)


def local_sensitivity(count: int, width: int) -> int:
    """Return the most steps by which adding or removing one person moves the rounded mean of `count` records.

    Args:
        count: the number n of records.
        width: the number W of steps between the least and the largest value of a record.
    """
    return -(-width // max(count, 1))
