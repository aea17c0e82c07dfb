"""The different ones among outputs that are not numbers, so that one which comes up often is taken apart once.

Two outputs are taken for the same only if they are so to the last bit, with all their types and in the same order: if
pickle writes the same bytes for both. Types that have code of their own for pickling could leave something off; outputs
that hold any of these are looked at one by one.
"""

from __future__ import annotations

import io
import pickle
import types
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.features.recent import recalled
from attacklab.targets import Failure, Outputs

REPEATED = 2  # how often an output must come up, on average, for the different ones to be looked at by themselves
GLANCE, MOST_DIFFERENT = 256, 224  # if more than that of so many outputs are different, the others are not compared

_PLAIN: Final = frozenset({complex, Fraction, Decimal, Failure})
"""Types beside numpy's, and beside those that pickle writes itself, whose pickles hold all that there is to a value."""

_MAKERS: Final = (type, types.FunctionType, types.BuiltinFunctionType)  # what values are put together with again


@dataclass(frozen=True, slots=True)
class Distinct:
    """The different ones among some outputs.

    Attributes:
        outputs: each once, in the order in which they first come up.
        places: the place of every output among them.
    """

    outputs: Outputs
    places: NDArray[np.intp]


class _Strict(pickle.Pickler):
    """Raises for whatever may have code of its own for pickling."""

    def reducer_override(self, value: Any) -> Any:
        """Called for every value of a type that pickle does not write itself."""
        kind = type(value)
        if kind in _PLAIN or kind.__module__ == "numpy" or isinstance(value, (np.dtype, *_MAKERS)):
            return NotImplemented
        raise pickle.PicklingError(kind.__name__)


def distinct(outputs: Any) -> Distinct | None:
    """The different ones among outputs, if these are objects that come up again and again; None otherwise.

    Args:
        outputs: one a trial.
    """
    if not isinstance(outputs, np.ndarray) or outputs.dtype != object or outputs.ndim != 1:
        return None
    return recalled(outputs, "distinct", lambda: _found(outputs))


def _found(outputs: Outputs) -> Distinct | None:
    try:
        glance = set(map(pickle.dumps, outputs[:GLANCE]))
        if len(glance) > MOST_DIFFERENT:
            return None
        written = list(map(pickle.dumps, outputs))
        place_of = {data: place for place, data in enumerate(dict.fromkeys(written))}
        if REPEATED * len(place_of) > len(outputs):
            return None
        places = np.fromiter(map(place_of.__getitem__, written), dtype=np.intp, count=len(written))
        once = outputs[np.unique(places, return_index=True)[1]]
        _Strict(io.BytesIO()).dump(list(once))
    except Exception:  # what cannot be pickled is looked at as it is
        return None
    return Distinct(once, places)
