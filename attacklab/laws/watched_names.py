"""The names by which samplers read something outside their arguments and closures, and whether any of it has changed.

These are the globals that their code names, the attributes of classes and of modules, and what these stand for in turn.
What code of trusted modules reads is left out; see `trusted_code`.
"""

from __future__ import annotations

import builtins
import dis
import operator
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

from attacklab.laws.snapshot import SLOTS, CannotCompare, Snapshot, Unchanged, function_parts, is_immutable, is_plain
from attacklab.laws.trusted_code import CALCULATING, is_own, is_trusted, leads_out
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
        self._owners: dict[int, _Owner] = {}

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
                self._watch(vars(module), names, f"`{module.__name__}.%s`")

    def changed(self) -> str | None:
        """Where something has changed; None if nothing has."""
        for owner in self._owners.values():
            if (place := owner.changed()) is not None:
                return place
        return self.caches.changed()

    def _note(self, snapshot: Snapshot) -> None:
        self.leads_out = self.leads_out or snapshot.leads_out
        self.caches.add(snapshot.caches)
        for value in snapshot.met:
            self._note_one(value)

    def _survey(self, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            if not is_trusted(value.__globals__.get("__name__")):
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
            self._owners[id(kind)] = _Owner(vars(kind), kind)
            self._watch(vars(kind), _own_names(kind), f"the attribute `%s` of {kind.__qualname__}", id(kind))

    def _survey_code(self, code: types.CodeType, namespace: dict[str, Any], name: str) -> None:
        texts = {const for const in code.co_consts if isinstance(const, str)}
        if "datetime64" in code.co_names and not {"now", "today"}.isdisjoint(texts):
            raise CannotCompare(f"{name} reads the clock (np.datetime64)")
        by_text = {text for text in texts if text in namespace or ("globals" in code.co_names and text.isidentifier())}
        read = {*code.co_names, *by_text}
        self._names |= read
        self.leads_out = self.leads_out or not _ASKING.isdisjoint(read) or _imports_more(code)
        self._watch(namespace, read - vars(builtins).keys(), f"the global `%s` read by {name}")
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

    def _watch(self, namespace: Mapping[str, Any], names: Iterable[str], place: str, owner_id: int = 0) -> None:
        """Watch names, and what they stand for."""
        owner = self._owners.setdefault(owner_id or id(namespace), _Owner(namespace))
        for name in sorted(names):
            if name not in owner.places and (snapshot := owner.watch(name, place % name)) is not None:
                self._note(snapshot)


def _own_names(kind: type) -> set[str]:
    """The names in a class, without those that Python keeps for itself."""
    return {name for name, held in vars(kind).items() if name not in _OF_PYTHON and not isinstance(held, SLOTS)}


def _imports_more(code: types.CodeType) -> bool:
    """Whether code imports a module that may ask the system, or one that is not known."""
    if _IMPORT not in code.co_code[::2]:
        return False
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opcode == _IMPORT}
    return not CALCULATING.issuperset(name.partition(".")[0] for name in names)


class _Owner:
    """A module's or a class's names, and what they stood for. A class may get no new names."""

    def __init__(self, namespace: Mapping[str, Any], kind: type | None = None) -> None:
        self.places: dict[str, str] = {}
        self._namespace, self._kind, self._size = namespace, kind, len(namespace)
        self._values: list[Any] = []
        self._content: list[Unchanged] = []

    def watch(self, name: str, place: str) -> Snapshot | None:
        """Watch a name; give what it stands for, unless that can never change."""
        value = self._namespace.get(name)
        self.places[name] = place
        self._values.append(value)
        if is_immutable(value):
            return None
        if isinstance(value, type | types.ModuleType) or is_plain(value):
            return Snapshot([(place, value)])
        content = Unchanged(lambda: [(place, self._namespace.get(name))])
        self._content.append(content)
        return content.before

    def changed(self) -> str | None:
        """The place of the first name that stands for something else."""
        if not all(map(operator.is_, map(self._namespace.get, self.places), self._values)):
            for name, known in zip(self.places, self._values, strict=True):
                value = self._namespace.get(name)
                if value is not known and not _is_same(value, known):
                    return self.places[name]
        kind = self._kind
        if kind is not None and len(self._namespace) != self._size and _own_names(kind) != self.places.keys():
            return f"an attribute of {kind.__qualname__}"
        return next(filter(None, (content.place_changed() for content in self._content)), None)


def _is_same(value: Any, known: Any) -> bool:
    """Whether a new object under an old name cannot be told from the one before."""
    try:
        return Snapshot([("", value)]).content == Snapshot([("", known)]).content
    except CannotCompare:
        return False
