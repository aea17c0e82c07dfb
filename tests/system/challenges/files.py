"""Files as students hand them in."""

from __future__ import annotations

from pathlib import Path

SOLUTIONS = {path.stem: path for path in sorted((Path(__file__).parent / "solutions").glob("[a-z]*.py"))}


def handed_in(folder: Path, source: str) -> Path:
    """A file with this text."""
    path = folder / "mine.py"
    path.write_text(source, "utf-8")
    return path


def attack_of(name: str) -> str:
    """A reference solution without its repair."""
    source = SOLUTIONS[name].read_text("utf-8")
    return source[: source.index("def repair")].partition("def below")[0]
