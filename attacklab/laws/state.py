"""What a sampler reads besides its arguments and its bits, and whether any of it has changed.

That is what its code names in its module, and what these things name in turn: functions, classes, objects and the
attributes of modules. What code of trusted modules reads is left out; see `trust`.
"""

from __future__ import annotations

import builtins
import functools
import gc
import itertools
import operator
import types
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from attacklab.laws.code_names import LEADING_OUT, global_names, imported, imports, names_by_operation, stored_names
from attacklab.laws.keys import SLOTS, Keys, Opaque, is_immutable
from attacklab.laws.trust import calculates, is_trusted, is_trusted_class, is_trusted_function
from attacklab.laws.untouched import untouched

_MISSING = object()


#: Entries of a class that Python keeps for itself.
_OF_PYTHON = frozenset({
    "__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__",
    "__firstlineno__", "__match_args__", "__module__", "__orig_bases__", "__parameters__", "__qualname__", "__slots__",
    "__static_attributes__", "__subclasshook__", "__weakref__", "_abc_impl", "_is_protocol", "_is_runtime_protocol",
})  # fmt: skip


Place = str


class State:
    """What a sampler reads besides its arguments, as it was when this was made.

    Args:
        root: the sampler, with its arguments bound.
        name: what to call it.
        keys: those of the sampler and its arguments, if it is compared by them; then only what they name in their
            modules counts here.

    Attributes:
        caches: the caches (`functools.lru_cache`) that it may fill.
        leads_out: whether it may call something that asks the system.
        classes: the classes that it may use, but for those of trusted modules.

    Raises:
        Opaque: it reads an object whose state cannot be compared; the message says where it is.
    """

    def __init__(self, root: Any, name: str, *, keys: Keys | None = None) -> None:
        self.caches: list[Any] = []
        self.leads_out = False
        self.classes: list[type] = []
        self._names: dict[int, tuple[Mapping[str, Any], dict[str, tuple[Any, Place]]]] = {}
        self._functions: list[_Function] = []
        self._is_as_before: list[tuple[Place, Callable[[], bool]]] = []
        self._seen: dict[int, Any] = {}
        self._modules: dict[int, types.ModuleType] = {}
        self._attributes: dict[str, bool] = {}
        if keys is None:
            self._survey(root, name)
        else:
            self.leads_out = keys.leads_out
            for met in keys.met:
                if isinstance(met, types.FunctionType):
                    if not is_trusted_function(met):
                        self._survey_code(met.__code__, met.__globals__, met.__qualname__)
                elif isinstance(met, type | types.ModuleType):
                    self._survey(met, name)
            for cache in keys.caches:
                self._survey_cache(cache, name)
        self._survey_modules()
        self._namespaces = [_Namespace(namespace, names) for namespace, names in self._names.values()]

    def changed(self) -> Place | None:
        """Where something has changed; None if nothing has."""
        for namespace in self._namespaces:
            if not namespace.is_untouched() and (place := namespace.changed()) is not None:
                return place
        for function in self._functions:
            if not function.is_as_before():
                return function.place
        for place, is_as_before in self._is_as_before:
            if not is_as_before():
                return place
        return None

    def _survey(self, value: Any, place: Place) -> None:
        if is_immutable(value) or id(value) in self._seen:
            return
        self._seen[id(value)] = value  # kept, lest its place in memory be used again
        if isinstance(value, types.FunctionType):
            self._survey_function(value)
        elif isinstance(value, type):
            self._survey_class(value)
        elif isinstance(value, functools._lru_cache_wrapper):
            self._survey_cache(value, place)
            self._survey(value.__wrapped__, place)
        elif isinstance(value, types.ModuleType):
            self._modules[id(value)] = value
            if type(value) is not types.ModuleType and not is_trusted(value.__name__):
                self._survey(type(value), place)
        else:
            self._survey_content(value, place)

    def _survey_cache(self, cache: Any, place: Place) -> None:
        if cache is names_by_operation:  # ours; this survey itself fills it, from code alone
            return
        self.caches.append(cache)
        self._is_as_before.append((f"what the cache of {place} holds", _Cache(cache).is_as_before))

    def _survey_content(self, value: Any, place: Place) -> None:
        keys = Keys()
        try:
            keys.key(value)
            self.leads_out = self.leads_out or keys.leads_out
            content = _Content(value)
        except Opaque as error:
            raise Opaque(f"{place} holds {error}") from error
        for cache in keys.caches:
            self._survey(cache, place)
        for met in keys.met:
            self._survey(met, place)
        self._is_as_before.append((place, content.is_as_before))

    def _survey_function(self, function: types.FunctionType) -> None:
        if is_trusted_function(function):
            self.leads_out = self.leads_out or not calculates(function)
            return
        name, code, defaults, keywords = (
            function.__qualname__, function.__code__, function.__defaults__, function.__kwdefaults__,
        )  # fmt: skip
        self._functions.append(_Function(function))
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._survey_cell(cell, f"the variable `{free}` around {name}")
        for default in defaults or ():
            self._survey(default, f"a default argument of {name}")
        if keywords is not None:
            for keyword in keywords:
                self._watch(keywords, keyword, f"a default argument of {name}")
        attributes = vars(function)
        for attribute in attributes:
            if attribute != "__wrapped__":
                self._watch(attributes, attribute, f"the attribute `{attribute}` of {name}")
        self._survey_code(code, function.__globals__, name)

    def _survey_cell(self, cell: types.CellType, place: Place) -> None:
        try:
            known = cell.cell_contents
        except ValueError:
            self._is_as_before.append((place, lambda: _is_empty(cell)))
            return
        self._survey(known, place)
        self._is_as_before.append((place, lambda: cell.cell_contents is known or _same(cell.cell_contents, known)))

    def _survey_code(self, code: types.CodeType, namespace: dict[str, Any], name: str) -> None:
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._survey_code(inner, namespace, name)
        self.leads_out = self.leads_out or not LEADING_OUT.isdisjoint(code.co_names) or imports(code)
        if "datetime64" in code.co_names and not {"now", "today"}.isdisjoint(code.co_consts):
            raise Opaque(f"{name} reads the clock (np.datetime64)")
        for named in sorted(global_names(code)):
            self._watch(namespace, named, f"the global `{named}` read by {name}")
        for module in imported(code, namespace):
            self._survey(module, name)
        stored = stored_names(code)
        for named in (*code.co_names, *stored):
            self._attributes[named] = self._attributes.get(named, False) or named in stored

    def _survey_modules(self) -> None:
        """Watch the names in modules that the code reads as attributes, of whatever."""
        looked: set[tuple[int, str, bool]] = set()
        while (
            new := {(at, named, stored) for at in self._modules for named, stored in self._attributes.items()} - looked
        ):
            looked |= new
            for at, named, stored in sorted(new, key=lambda one: (self._modules[one[0]].__name__, one[1])):
                self._survey_name(self._modules[at], named, is_stored=stored)

    def _survey_name(self, module: types.ModuleType, named: str, *, is_stored: bool) -> None:
        names = vars(module)
        place = f"`{module.__name__}.{named}`"
        if is_trusted(module.__name__):
            self.leads_out = self.leads_out or not calculates(module)
            if is_stored:
                self._names.setdefault(id(names), (names, {}))[1][named] = names.get(named, _MISSING), place
        else:
            if named in names or is_stored:
                self._watch(names, named, place)
            if "__getattr__" in names:
                self._watch(names, "__getattr__", place)

    def _survey_class(self, kind: type) -> None:
        if not is_trusted_class(type(kind)):
            self._survey(type(kind), kind.__qualname__)
        for base in kind.__mro__:
            if is_trusted_class(base):
                self.leads_out = self.leads_out or not calculates(base)
            else:
                self._seen[id(base)] = base
                self.classes.append(base)
                for named in sorted(_own_names(base)):
                    self._watch(base.__dict__, named, f"the attribute `{named}` of {base.__qualname__}", base)
                self._watch_for_more(base, _own_names(base))

    def _watch_for_more(self, kind: type, known: set[str]) -> None:
        count = len(vars(kind))
        place = f"an attribute of {kind.__qualname__}"
        self._is_as_before.append((place, lambda: len(vars(kind)) == count or _own_names(kind) == known))

    def _watch(self, namespace: Mapping[str, Any], name: str, place: Place, owner: type | None = None) -> None:
        """Watch one name, and what it stands for. The namespace of a class is known by the class."""
        names = self._names.setdefault(id(owner or namespace), (namespace, {}))[1]
        if name not in names:
            known = namespace.get(name, _MISSING)
            names[name] = (known, place)
            if known is not _MISSING:
                self._survey(known, place)


def _own_names(kind: type) -> set[str]:
    """The names in a class, without those that Python keeps for itself."""
    return {name for name, held in vars(kind).items() if name not in _OF_PYTHON and not isinstance(held, SLOTS)}


class _Function:
    """A function, as it was when it was first looked at, but for what its defaults and attributes hold."""

    __slots__ = ("_attributes", "_code", "_count", "_defaults", "_function", "_keywords", "_name")

    def __init__(self, function: types.FunctionType) -> None:
        self._function, self._name, self._code = function, function.__qualname__, function.__code__
        self._defaults, self._keywords, self._attributes = (
            function.__defaults__, function.__kwdefaults__, vars(function),
        )  # fmt: skip
        self._count = len(self._attributes)

    def is_as_before(self) -> bool:
        function, attributes = self._function, self._attributes
        return (
            function.__code__ is self._code
            and function.__defaults__ is self._defaults
            and function.__kwdefaults__ is self._keywords
            and function.__dict__ is attributes
            and len(attributes) == self._count
        )

    @property
    def place(self) -> Place:
        """What has changed."""
        if self._function.__code__ is not self._code or self._function.__defaults__ is not self._defaults:
            return f"the code of {self._name}"
        if self._function.__kwdefaults__ is not self._keywords:
            return f"a default argument of {self._name}"
        return f"an attribute of {self._name}"


class _Namespace:
    """Names in a module, a class or the like, and what they stood for."""

    def __init__(self, namespace: Mapping[str, Any], names: dict[str, tuple[Any, Place]]) -> None:
        self._namespace = namespace
        self._watched = [
            (name, known, place)
            for name, (known, place) in names.items()
            if known is not _MISSING or not hasattr(builtins, name)
        ]
        present = {name: known for name, known, _ in self._watched if known is not _MISSING}
        self._missing = [name for name, known, _ in self._watched if known is _MISSING]
        self._known = tuple(present.values())
        # Of one name it would give no tuple.
        self._read = operator.itemgetter(*present, *list(present)[:1]) if present else None

    def is_untouched(self) -> bool:
        """Whether every name stands for the very object for which it stood; if not, `changed` has to look."""
        if any(map(self._namespace.__contains__, self._missing)):
            return False
        try:
            return self._read is None or all(map(operator.is_, self._read(self._namespace), self._known))
        except KeyError:
            return False

    def changed(self) -> Place | None:
        """The first name that stands for something else."""
        read = self._namespace.get
        for name, known, place in self._watched:
            value = read(name, _MISSING)
            if value is not known and not _same(value, known):
                return place
        return None


def _is_empty(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is _MISSING
    except ValueError:
        return True


def _same(value: Any, known: Any) -> bool:
    """Whether a new object under an old name cannot be told from the one before."""
    try:
        return Keys().key(value) == Keys().key(known)
    except Opaque:
        return False


class _Content:
    """A mutable object, or what a cache holds, as it was when it was first looked at.

    What an object has computed and kept (`functools.cached_property`, `functools.lru_cache`) may appear later, but
    must not change from then on.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._computed: dict[int, tuple[Any, Hashable]] = {}
        self._key, self._kept = self._read()
        self._is_untouched = untouched(value)

    def is_as_before(self) -> bool:
        if self._is_untouched is not None and self._is_untouched():
            return True
        try:
            is_the_same = self._read()[0] == self._key and all(
                Keys(with_caches=False).key(value) == key for value, key in self._computed.values()
            )
        except Opaque:
            return False
        if is_the_same:
            self._is_untouched = untouched(self._value)
        return is_the_same

    def _read(self) -> tuple[Hashable, Keys]:
        keys = Keys(with_caches=False)
        key = keys.key(self._value)
        for value in keys.computed:
            if id(value) not in self._computed and not is_immutable(value):
                self._computed[id(value)] = value, Keys(with_caches=False).key(value)
        return key, keys


class _Cache:
    """The mutable results that a `functools.lru_cache` holds, each as it was when it was first seen."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._misses = -1
        self._results: dict[int, _Content] = {}
        self.is_as_before()

    def is_as_before(self) -> bool:
        if not all(content.is_as_before() for content in self._results.values()):
            return False
        misses = self._cache.cache_info().misses
        if misses != self._misses:
            self._misses = misses
            for result in _results(self._cache):
                if id(result) not in self._results and not is_immutable(result):
                    try:
                        self._results[id(result)] = _Content(result)
                    except Opaque:
                        return False
        return True


def _results(cache: Any) -> Iterator[Any]:
    """What a `functools.lru_cache` has returned and kept."""
    parts = gc.get_referents(cache)
    for part, following in itertools.pairwise(parts):
        if getattr(following, "__name__", "") == "_lru_list_elem" and type(part) is not object:
            yield part
    for part in parts:
        if type(part) is dict and part is not vars(cache):
            yield from (held for held in part.values() if type(held).__name__ != "_lru_list_elem")
