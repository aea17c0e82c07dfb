"""Mutants: the mistakes that the operators make of a few lines, and a table of equivalents that speaks of real ones."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from bench.mutants.__main__ import page
from bench.mutants.operators import mutants
from bench.mutants.running import CORE, EQUIVALENT, KILLED, ROOT, SURVIVED, TIMED_OUT


def normalised(source: str) -> str:
    """A text without redundant parentheses."""
    return ast.unparse(ast.parse(source))


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("x < 3", {"x <= 3", "x < 4", "x < 2"}),
        ("0 <= x < n", {"0 < x < n", "0 <= x <= n", "1 <= x < n", "-1 <= x < n"}),
        ("a + b", {"a - b"}),
        ("a // b", {"b // a", "round(a / b)"}),
        ("a * b", {"a", "b"}),
        ("math.floor(x)", {"x", "round(x)", "math.ceil(x)"}),
        ("np.zeros(n, dtype=np.int64)", {"np.zeros(n, dtype=np.int32)", "np.zeros(n, dtype=np.int16)"}),
        ("min(max(x, low), high)", {
            "max(max(x, low), high)", "max(x, low)", "high", "min(min(x, low), high)", "min(x, high)",
            "min(low, high)", "min(max(x, high), high)", "min(max(x, low), low)",
        }),
        ("draw(a, b)", {"draw(b, a)"}),
        ("p and not q", {"p or not q", "p", "not q", "p and q"}),
        ("True", {"False"}),
        ("'add-remove'", {"'substitute'"}),
        ("f'{x + 1}'", set()),
    ],
)  # fmt: skip
def test_each_operator_makes_the_mistakes_it_models(line: str, broken: set[str]) -> None:
    start = "def f(low, high):\n    return "
    normal = {normalised(start + text) for text in broken}
    assert {normalised(mutant.text.rstrip()) for mutant in mutants("one", f"{start}{line}\n")} == normal


def test_statements_and_checks_are_dropped_and_docstrings_and_messages_left_alone() -> None:
    source = 'def f(x):\n    """Add 1."""\n    if x:\n        raise ValueError("2 and 3")\n    g(x)\n    x += y\n'
    keys = [mutant.key for mutant in mutants("one", source)]
    assert keys == [
        'one:f: if x: raise ValueError("2 and 3") -> pass',
        "one:f: g(x) -> pass",
        "one:f: x += y -> pass",
    ]


def test_every_equivalent_is_a_mutant_of_today() -> None:
    table = json.loads((ROOT / "bench/mutants/equivalent.json").read_text("utf-8"))
    today = {m.key for path in (ROOT / CORE).glob("*.py") for m in mutants(path.stem, path.read_text("utf-8"))}
    assert {key for keys in table.values() for key in keys} <= today


def test_the_page_counts_what_the_record_says() -> None:
    outcomes = [KILLED] * 17 + [TIMED_OUT, SURVIVED, EQUIVALENT]
    rows: list[dict[str, Any]] = [{"key": f"a:f: {n}", "module": "a", "outcome": o} for n, o in enumerate(outcomes)]
    rows[18] |= {"diff": "-x\n+y"}
    rows[19] |= {"reason": "It is the same."}
    text = " ".join(page(rows, 5, {}).split())
    assert "The 20 here (seed 5)" in text
    assert "Of the other 19 their tests notice 18 (94.7 %): 17 fail a test, and 1 end" in text
    assert "20 of these mutants edit lines that have changed since" in text
    assert "| `a` | 17 | 1 | 1 | 1 |" in text
    assert "- It is the same. - `a:f: 19`" in text
