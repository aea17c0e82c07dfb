"""The names by which samplers read something outside their arguments and closures, and whether any of it has changed.

These are the globals that their code names, the attributes of classes and of modules, and what these stand for in turn.
What code of trusted modules and of the lab reads is left out; see `trusted_code`.
"""

from __future__ import annotations

import builtins
import dis
import sys
import types
from collections.abc import Mapping
from functools import partial
from typing import Any

from attacklab.laws.snapshot import SLOTS, CannotCompare, Snapshot, Unchanged, function_parts, shows_all
from attacklab.laws.trusted_code import CALCULATING, is_own, is_the_labs, is_trusted, leads_out
from attacklab.laws.watched_caches import WatchedCaches

_OF_PYTHON = frozenset({
    "__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__",
    "__firstlineno__", "__match_args__", "__module__", "__orig_bases__", "__parameters__", "__qualname__",
    "__slotnames__", "__slots__", "__static_attributes__", "__subclasshook__", "__weakref__", "_abc_impl",
    "_is_protocol", "_is_runtime_protocol",
})  # fmt: skip
"""Entries of a class that Python keeps for itself."""

_ASKING = frozenset({
    "__import__", "__subclasses__", "breakpoint", "eval", "exec", "getattr", "globals", "hash", "id", "input", "locals",
    "open", "print", "random", "vars",
})  # fmt: skip
"""Names that lead out of the code in which they stand."""

_IMPORT = dis.opmap["IMPORT_NAME"]


class WatchedNames:
    """The names that samplers read, and what they stood for when they were first met.

    Attributes:
        caches: the caches (`functools.lru_cache`) that the samplers may fill.
        leads_out: whether they may call something that asks the system.
    """

    def __init__(self) -> None:
        self.caches = WatchedCaches(self.add)
        self.leads_out = False
        self._seen: dict[int, Any] = {}
        self._waiting: list[Any] = []
        self._names: set[str] = set()
        self._modules: list[types.ModuleType] = []
        self._owners: dict[int, tuple[Mapping[str, Any], set[str], dict[str, str]]] = {}
        self._unchanged: list[Unchanged] = []

    def add(self, snapshot: Snapshot) -> None:
        """Watch the names that the functions and classes in a snapshot read, if they are not watched yet.

        Raises:
            CannotCompare: a name stands for an object that cannot be read.
        """
        self._note(snapshot)
        while self._waiting:
            while self._waiting:
                self._survey(self._waiting.pop())
            for module in self._modules:
                names = self._names & vars(module).keys()
                self._watch(vars(module), names, f"`{module.__name__}.%s`", vars(module))
        self._watch_new()

    def changed(self) -> str | None:
        """Where something has changed; None if nothing has."""
        for unchanged in self._unchanged:
            if (place := unchanged.place_changed()) is not None:
                return place
        return self.caches.changed()

    def _note(self, snapshot: Snapshot) -> None:
        self.leads_out = self.leads_out or snapshot.leads_out
        self.caches.add(snapshot.caches)
        for value in snapshot.met:
            self._note_one(value)

    def _survey(self, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            if not is_trusted(module := value.__globals__.get("__name__")) and not is_the_labs(module):
                self._names |= {held for _, held in function_parts(value) if isinstance(held, str)}  # for `getattr`
                self._survey_code(value.__code__, value.__globals__, value.__qualname__)
        elif isinstance(value, type):
            for base in value.__mro__:
                if is_own(base):
                    self._survey_class(base)
                else:
                    self.leads_out = self.leads_out or leads_out(base)
        elif isinstance(value, types.ModuleType):
            if is_trusted(value.__name__):
                self.leads_out = self.leads_out or leads_out(value)
            else:
                self._modules.append(value)

    def _survey_class(self, kind: type) -> None:
        if id(kind) not in self._owners:
            size, place = len(vars(kind)), f"an attribute of {kind.__qualname__}"
            names = Unchanged(lambda: [(place, sorted(_own_names(kind)))], lambda: [len(vars(kind)) == size])
            self._unchanged.append(names)
            self._watch(vars(kind), _own_names(kind), f"the attribute `%s` of {kind.__qualname__}", kind)

    def _survey_code(self, code: types.CodeType, namespace: dict[str, Any], name: str) -> None:
        texts = {const for const in code.co_consts if isinstance(const, str)}
        if "datetime64" in code.co_names and not {"now", "today"}.isdisjoint(texts):
            raise CannotCompare(f"{name} reads the clock (np.datetime64)")
        by_text = {text for text in texts if text in namespace or ("globals" in code.co_names and text.isidentifier())}
        read = {*code.co_names, *by_text}
        self._names |= read
        self.leads_out = self.leads_out or not _ASKING.isdisjoint(read) or _imports_more(code)
        self._watch(namespace, read - vars(builtins).keys(), f"the global `%s` read by {name}", namespace)
        for module in filter(None, map(sys.modules.get, read)):
            self._note_one(module)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._survey_code(inner, namespace, name)

    def _note_one(self, value: Any) -> None:
        known_by = (
            value.__code__ if isinstance(value, types.FunctionType) else value
        )  # closures are made anew all the time
        if id(known_by) not in self._seen:
            self._seen[id(known_by)] = known_by
            self._waiting.append(value)

    def _watch(self, namespace: Mapping[str, Any], names: set[str], place: str, owner: object) -> None:
        """Note names of a class or a module, and what they stand for."""
        _, known, new = self._owners.setdefault(id(owner), (namespace, set(), {}))
        added = {name: place % name for name in sorted(names - known)}
        known |= names
        new |= added
        self._note(Snapshot(_parts(namespace, added)))

    def _watch_new(self) -> None:
        """Watch the names that were noted: those of an owner together, but for values that are compared slowly."""
        for namespace, _, new in self._owners.values():
            slow = [name for name in new if not shows_all(namespace.get(name))]
            quick = {name: place for name, place in new.items() if name not in slow}
            for places in (quick, *({name: new[name]} for name in slow)):
                if places:
                    values = partial(_values, namespace, tuple(places))
                    self._unchanged.append(Unchanged(partial(_parts, namespace, places), values))
            new.clear()


def _parts(namespace: Mapping[str, Any], places: dict[str, str]) -> list[tuple[str, Any]]:
    return [(place, namespace.get(name)) for name, place in places.items()]


def _values(namespace: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    return list(map(namespace.get, names))


def _own_names(kind: type) -> set[str]:
    """The names in a class, without those that Python keeps for itself."""
    return {name for name, held in vars(kind).items() if name not in _OF_PYTHON and not isinstance(held, SLOTS)}


def _imports_more(code: types.CodeType) -> bool:
    """Whether code imports a module that may ask the system, or one that is not known."""
    if _IMPORT not in code.co_code[::2]:
        return False
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opcode == _IMPORT}
    return not CALCULATING.issuperset(name.partition(".")[0] for name in names)
