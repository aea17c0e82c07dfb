"""Directed rounding: MPFR contexts whose results lie on a known side of the truth.

gmpy2's module-level functions and its operators round as the current context says, which is 53 bits to nearest unless
somebody changed it. So whatever must be a bound is computed within one of these contexts, or by its methods.
"""

from __future__ import annotations

import gmpy2


def rounding(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
    """Return fresh MPFR contexts (one can't be entered twice at a time) of `precision` bits that round down and up."""
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp),
    )
