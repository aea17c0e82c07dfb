"""What `functools.lru_cache` and `functools.cache` keep for a sampler: results that depend on their arguments alone.

A cached result must stay as it was, and be the same when it is computed anew. No cached function may be given the
source of bits, since it would give the first draw again.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

from attacklab.laws.errors import NotDeterministic, OpaqueState
from attacklab.laws.snapshot import CannotCompare, Snapshot, Unchanged, instance_attributes, is_immutable
from attacklab.laws.trusted_code import is_own, is_trusted


class WatchedCaches:
    """The caches that samplers may fill, and what was seen in them.

    Args:
        note: called with the snapshot of each result.
    """

    def __init__(self, note: Callable[[Snapshot], None]) -> None:
        self._note = note
        self._caches: list[Any] = []
        self._misses: dict[int, int] = {}
        self._results: dict[tuple[int, Any], tuple[Any, Unchanged]] = {}

    def add(self, caches: list[Any]) -> None:
        """Watch caches, but for those of trusted modules."""
        self._caches += [cache for cache in caches if cache not in self._caches and not _is_trusted(cache)]

    def clear(self) -> None:
        """Empty the caches, so that results are computed anew."""
        for cache in self._caches:
            cache.cache_clear()
            self._misses.pop(id(cache), None)

    def changed(self) -> str | None:
        """The cache of which a result has changed, or was another when it was computed anew; None if there is none.

        Raises:
            NotDeterministic: a cached function was given the source of bits.
            OpaqueState: a result cannot be compared.
        """
        for (_, key), (result, unchanged) in self._results.items():
            if not is_immutable(result) and (place := unchanged.place_changed()) is not None:
                return f"{place} for {_shown(key)}"
        for cache in self._caches:
            misses = cache.cache_info().misses
            if self._misses.get(id(cache)) != misses:
                self._misses[id(cache)] = misses
                if any(self._is_another(cache, key, result) for key, result in list(_entries(cache))):
                    return f"what the cached function {_name(cache)} gives for equal arguments"
        return None

    def _is_another(self, cache: Any, key: Any, result: Any) -> bool:
        """Whether a result differs from the one that was seen for the same arguments before."""
        known, before = self._results.get((id(cache), key), (None, None))
        if before is not None and known is result:
            return False
        if isinstance(key, tuple) and any(map(_is_source, key)):
            raise NotDeterministic(
                f"the cached function {_name(cache)} is given the source of bits, so it gives its first draw again; "
                "draw outside of it"
            )
        place = f"the result that the cached function {_name(cache)} keeps"
        try:
            unchanged = Unchanged(lambda: [(place, result)])
        except CannotCompare as error:
            raise OpaqueState(f"{error}, whose state cannot be compared; return numbers or tuples") from error
        self._note(unchanged.before)
        self._results[id(cache), key] = result, unchanged
        return before is not None and not _is_bare(result) and before.before.content != unchanged.before.content


def _name(cache: Any) -> str:
    return str(getattr(cache, "__qualname__", "(without a name)")).rpartition("<locals>.")[2]


def _is_trusted(cache: Any) -> bool:
    """Whether a cache is of a function of a trusted module; a `functools.partial` may hold any function."""
    return isinstance(cache.__wrapped__, types.FunctionType) and is_trusted(cache.__wrapped__.__module__)


def _entries(cache: Any) -> Iterator[tuple[Any, Any]]:
    """The keys of a cache and its results, in the order in which the garbage collector visits them."""
    kind, *parts = gc.get_referents(cache)
    assert kind is type(cache)  # noqa: S101 - so it is in CPython
    if cache.cache_parameters()["maxsize"] is None:
        yield from parts[0].items()
        return
    for key, result, link in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        if getattr(link, "__qualname__", "") != "_lru_list_elem":
            return
        yield key, result


def _is_source(value: Any) -> bool:
    return hasattr(value, "take") and hasattr(value, "call")


def _is_bare(value: Any) -> bool:
    """Whether a value is an object without attributes, which differs from others of its class by its place alone."""
    return is_own(type(value)) and not any(instance_attributes(value))


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 40 and " at 0x" not in text else "its arguments"
