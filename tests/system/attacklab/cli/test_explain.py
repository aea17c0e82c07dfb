"""One page about each flaw, from the command line."""

from __future__ import annotations

from typing import Any

import pytest

from attacklab.auditing.flaws import catalogue


@pytest.mark.parametrize("columns", ["80", ""])
def test_each_page_has_all_its_parts(attacklab: Any, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for flaw in catalogue().values():
        status, out, err = attacklab(f"explain {flaw.name}")
        lines = out.splitlines()
        assert (status, err, lines[0]) == (0, "", flaw.name)
        assert [line for line in lines[1:] if line and not line.startswith(" ")] == [
            "What it is",
            "An example",
            "Why it leaks",
            "Usual repair",
            "Weakness",
            "Read",
            "To show a finding to a maintainer",
        ]
        assert all(f"    {line}".rstrip() in lines for line in flaw.example.splitlines())
        words = " ".join(out.split())
        assert flaw.leak in words
        assert f"CWE-{flaw.weakness.number}: {flaw.weakness.title}, https://cwe.mitre.org/" in words
        assert flaw.read[-1].url in words
        assert flaw.repair[1:] in words
        assert "attacklab poc FINDINGS.json" in words


def test_a_name_that_is_not_a_flaw_is_told_with_those_that_are(attacklab: Any) -> None:
    told = "attacklab: there is no flaw 'low_bits_laplace'; did you mean 'low_bit_laplace'?\n"
    assert attacklab("explain low_bits_laplace") == (2, "", told)
    assert "choose from no_noise, bare_part" in attacklab("explain ?")[2]
