"""The certificate of a term: what it is, what it promises, the code that runs it, and the tables of its noise, as JSON.

A certificate proves nothing by itself. The checker, a program of its own that shares no code with this package, derives
the claim anew from the term and checks each table number by number.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from mechanisms.core.code import code_hashes
from mechanisms.core.laws import Law
from mechanisms.core.noise import Noise
from mechanisms.core.term import Mechanism, encoded

SCHEMA = "exact-term/2"


def certificate(name: str, term: Mechanism) -> dict[str, Any]:
    """Return the certificate of a term, which it calls `name`, as a dictionary for JSON."""
    return {
        "schema": SCHEMA,
        "name": name,
        "term": encoded(term),
        "relation": term.relation,
        "claim": encoded(term.claim),
        "code": code_hashes(),
        "tables": [Noise(law).table.evidence() for law in laws_of(term)],
    }


def laws_of(term: Any) -> list[Law]:
    """Return the distinct laws of noise that a term, or a tuple of terms, draws from, in the order of its fields."""
    if isinstance(term, Law):
        return [term]
    parts = term if isinstance(term, tuple) else ()
    drawn = getattr(term, "noise", None)
    own = [drawn.law] if isinstance(drawn, Noise) else []
    if is_dataclass(term) and not isinstance(term, type):
        parts = tuple(getattr(term, field.name) for field in fields(term))
    return list(dict.fromkeys([*own, *(law for part in parts for law in laws_of(part))]))
