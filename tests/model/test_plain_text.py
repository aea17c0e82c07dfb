"""What a target says is shown without steering a terminal or a log."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.plain_text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ε ≥ 1.16, σ² = λ·2⁻⁵⁸", "ε ≥ 1.16, σ² = λ·2⁻⁵⁸"),
        ("std::vector<int> at a::b", "std::vector<int> at a::b"),
        ("two  spaces, #1 and # 2", "two  spaces, #1 and # 2"),
        ("one\ntwo\r\nthree\tfour", "one two  three four"),
        ("\x1b[2Jgone\x07", r"\x1b[2Jgone\x07"),
        ("\x9b31mred", r"\x9b31mred"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        ("\udcff.py", r"\udcff.py"),
        ("::error::broken", ": :error::broken"),
        ("said\n::set-output name=x::1", "said : :set-output name=x::1"),
        ("it ##[error] ##vso[task.complete] ##teamcity[x]", "it # #[error] # #vso[task.complete] # #teamcity[x]"),
    ],
)
def test_text_keeps_its_words_and_loses_its_power(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(), st.sampled_from(["", "\n", "\x1b[1m", "::", "##[", "\u2028", "##vso["]))
def test_nothing_steers_a_terminal_or_a_log(text: str, inserted: str) -> None:
    line = plain(f"{text}{inserted}{text}")
    assert line.isprintable()
    assert not any(word.startswith("::") for word in line.split())
    assert re.search(r"##\w*\[", line) is None
    assert plain(line) == line
