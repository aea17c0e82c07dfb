"""The program, its strictness, the readings, and random edits, of which none is accepted with a false claim."""

import json
import random
import re
import shutil
import sys
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from attacklab.laws.proof.certificates import ACCEPTED, REFUSED, write_certificate
from checker.forms import Refused
from checker.readings import ROOT, hashes_of, require_read
from tests.checker.making import Json, at, edited, leaves, refusal, written
from tests.checker.test_tables import has_excess
from tests.running import run

pytestmark = pytest.mark.slow

CHECK = ROOT / "checker" / "check.py"


def _run(*paths: Path) -> CompletedProcess[str]:
    return run([sys.executable, CHECK, *paths])


def test_the_program_prints_what_the_lab_reads(tmp_path: Path) -> None:
    true, false = tmp_path / "true.json", tmp_path / "false.json"
    true.write_text(json.dumps(written("discrete_laplace")), "utf-8")
    false.write_text(json.dumps(edited(written("discrete_laplace"), ("claim", "epsilon"), 1)), "utf-8")
    accepted, refused = _run(true), _run(false)
    found = ACCEPTED.fullmatch(accepted.stdout)
    assert (accepted.returncode, refused.returncode, _run().returncode) == (0, 1, 2)
    assert found
    assert found["statement"] == "4/3-DP for every pair of answers at most 5/4 apart"
    assert REFUSED.match(refused.stdout)
    assert not accepted.stderr + refused.stderr


def test_a_table_that_is_named_by_its_hash_is_read_from_the_file_beside_the_certificate(tmp_path: Path) -> None:
    write_certificate(written("discrete_laplace"), tmp_path / "true.json")
    (table,) = (tmp_path / "tables").iterdir()
    assert _run(tmp_path / "true.json").returncode == 0
    whole = table.read_bytes()
    for content, said in (
        (whole.replace(b",", b" ,", 1), "holds something else"),
        (None, "cannot be read: No such file"),
    ):
        table.unlink()
        if content is not None:
            table.write_bytes(content)
        done = _run(tmp_path / "true.json")
        assert done.returncode == 1
        assert f"{table.stem} {said}" in done.stdout


@pytest.mark.parametrize("name", ["", "../" * 20 + "dev/zero", "A" * 64, "٣" * 64, "0" * 63, 7])
def test_a_table_that_is_named_in_another_way_is_refused(name: Json) -> None:
    assert "table" in refusal(written("discrete_laplace") | {"tables": [{"sha256": name}]})
    assert "should not have" in refusal(written("discrete_laplace") | {"tables": [{"sha256": "0" * 64, "law": 1}]})


def test_a_change_of_any_file_of_the_core_is_refused_until_it_is_read(tmp_path: Path) -> None:
    for path in hashes_of():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    known = tmp_path / "readings.json"
    known.write_text(json.dumps(hashes_of(tmp_path)), "utf-8")
    require_read.__wrapped__(tmp_path, known)
    for path in ("mechanisms/core/table.py", "mechanisms/coins.py"):
        source = (ROOT / path).read_text("utf-8")
        (tmp_path / path).write_text(source + "\nX = 1\n", "utf-8")
        with pytest.raises(Refused, match="has changed since it was read"):
            require_read.__wrapped__(tmp_path, known)
        (tmp_path / path).write_text(source.replace('"""', '"""Also. ', 1) + "\n# a remark\n", "utf-8")
        require_read.__wrapped__(tmp_path, known)
    (tmp_path / "mechanisms/core/new.py").write_text("", "utf-8")
    with pytest.raises(Refused):
        require_read.__wrapped__(tmp_path, known)


def _claimed(whole: Json) -> Fraction:
    return Fraction(at(whole, ("claim", "epsilon", "rational")))


PURE = {
    "discrete_laplace": lambda term: (
        -(-_number(term, "query", "sensitivity") // Fraction(2) ** term["query"]["grid"]["exponent"])
        / _number(term, "law", "scale")
    ),
    "response": lambda term: _number(term, "epsilon"),
    "threshold": lambda term: (
        -(-_number(term, "answer", "sensitivity") // Fraction(2) ** term["answer"]["grid"]["exponent"])
        * (1 / _number(term, "threshold_law", "scale") + 2 * term["positives"] / _number(term, "answer_law", "scale"))
    ),
    "histogram": lambda term: (1 if term["query"]["relation"] == "add-remove" else 2) / _number(term, "law", "scale"),
    "sum": lambda term: _sum_moves(term["query"]) / _number(term, "law", "scale"),
}
"""What a term truly loses, written down once more."""


def _number(term: Json, *place: str) -> Fraction:
    value = at(term, place)
    return Fraction(value["rational"] if isinstance(value, dict) else value)


def _sum_moves(query: Json) -> Fraction:
    step = Fraction(2) ** query["grid"]["exponent"]
    low, high = _number(query, "lower") / step, _number(query, "upper") / step
    low, high = (Fraction(0), high - low) if query["above_lower"] else (low, high)
    relation = query["relation"]
    return max([high - low] * ("substitute" in relation) + [max(abs(low), abs(high))] * ("add-remove" in relation))


def _changed(value: Any, source: random.Random) -> Any:
    """Return another value of a like kind, or of another kind."""
    if isinstance(value, bool):
        return source.choice([not value, int(value), None])
    if isinstance(value, int):
        return source.choice([value + 1, value - 1, 2 * value, -value, value + (1 << 40), 0, str(value), float(value)])
    if isinstance(value, str) and value.strip("-").replace("/", "").isdigit():
        number, tiny = Fraction(value), Fraction(1, 10**9)
        factors = (1 + tiny, 1 - tiny, Fraction(2), Fraction(1, 2), Fraction(-1), Fraction(0))
        return str(number * source.choice(factors))
    return source.choice(["add-remove", "substitute", "add-remove or substitute", "answers", "RoundedLaplace", "", 0])


def test_random_edits_are_refused_or_leave_the_claim_true() -> None:
    source, kept = random.Random(20261123), 0
    for _ in range(1000):
        name = source.choice(sorted(PURE))
        whole = written(name)
        for _ in range(source.choice([1, 1, 2])):
            part = source.choice([("term",), ("claim",), ("relation",), ("tables",)])
            place, value = source.choice(list(leaves(at(whole, part), part)) or [(("name",), "x")])
            whole = edited(whole, place, _changed(value, source))
        if refusal(whole):
            continue
        kept += 1
        assert _claimed(whole) >= PURE[name](whole["term"]), whole
        for table in whole["tables"]:
            assert not has_excess(table, Fraction(table["law"]["scale"]["rational"]))
    assert kept > 50


def _copied(folder: Path, name: str, own_name: str) -> Path:
    """Copy the mechanisms into a folder, where they call themselves by another name."""
    for path in (ROOT / "mechanisms").rglob("*.py"):
        place = folder / name / path.relative_to(ROOT / "mechanisms")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(re.sub(r"(?<![\w.])mechanisms(?=\.\w)", own_name, path.read_text("utf-8")), "utf-8")
    return folder / name / "core" / "noise.py"


def test_a_comment_that_the_named_encoding_makes_code_is_read_as_python_reads_it(tmp_path: Path) -> None:
    """In UTF-7 the four characters +AAo- are the end of a line."""
    noise = _copied(tmp_path, "mechanisms", "mechanisms")
    require_read(tmp_path)
    text = noise.read_text("utf-8").encode("ascii", "replace").decode()
    line = '        """Draw one number."""\n'
    assert line in text
    noise.write_text(
        "# -*- coding: utf-7 -*-\n" + text.replace(line, f"{line}        # +AAo-        return 0\n"), "utf-8"
    )
    require_read.cache_clear()
    with pytest.raises(Refused, match=r"noise\.py"):
        require_read(tmp_path)


def test_a_copy_that_imports_from_another_copy_is_refused(tmp_path: Path) -> None:
    noise = _copied(tmp_path, "exactdp/_mechanisms", "exactdp._mechanisms")
    assert require_read(tmp_path) == require_read(ROOT)
    noise.write_text(noise.read_text("utf-8").replace("from exactdp._mechanisms.core.inv", "from mechanisms.core.inv"))
    require_read.cache_clear()
    with pytest.raises(Refused, match=r"noise\.py has changed"):
        require_read(tmp_path)


@pytest.mark.parametrize("name", ["noise/__init__.pyc", "noise/__init__.py", "noise.so", "noise.pyc", "noise.abi3.so"])
def test_a_copy_with_a_file_that_python_may_prefer_to_one_that_was_read_is_refused(tmp_path: Path, name: str) -> None:
    noise = _copied(tmp_path, "exactdp/_mechanisms", "exactdp._mechanisms")
    cached = noise.parent / "__pycache__" / "noise.cpython-311.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"")
    require_read.cache_clear()
    require_read(tmp_path)
    beside = noise.parent / name
    beside.parent.mkdir(exist_ok=True)
    beside.write_bytes(b"")
    require_read.cache_clear()
    with pytest.raises(Refused, match="was read" if beside.suffix != ".py" else "no field .*noise/__init__"):
        require_read(tmp_path)


@pytest.mark.parametrize("name", ["noise", "library.py", "broken"])
def test_a_copy_with_a_symbolic_link_is_refused(tmp_path: Path, name: str) -> None:
    """Python imports the linked folder `noise` in place of noise.py; a search for files does not enter it."""
    noise = _copied(tmp_path, "mechanisms", "mechanisms")
    assert hashes_of(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").write_text("", "utf-8")
    target = {"noise": elsewhere, "library.py": elsewhere / "__init__.py", "broken": tmp_path / "nothing"}[name]
    (noise.parent / name).symlink_to(target)
    with pytest.raises(Refused, match=f"{name} is a link"):
        hashes_of(tmp_path)


def test_what_exactdp_shows_is_its_library_and_nothing_around_it(tmp_path: Path) -> None:
    _copied(tmp_path, "exactdp/_mechanisms", "exactdp._mechanisms")
    front = tmp_path / "exactdp" / "__init__.py"
    own = (ROOT / "wheels" / "exactdp" / "exactdp" / "__init__.py").read_text("utf-8")
    front.write_text(own, "utf-8")
    assert hashes_of(tmp_path)
    for line in (
        "laplace = lambda **_: lambda x: x",
        "from mechanisms.library import laplace",
        "import os",
        "from exactdp._mechanisms.library import geometric as laplace",
        "def laplace(**_): ...",
    ):
        front.write_text(f"{own}\n{line}\n", "utf-8")
        with pytest.raises(Refused, match="does more than to import"):
            hashes_of(tmp_path)
