"""The committed files of test vectors, each read once by a process: checking one by its schema takes its time."""

import functools
from pathlib import Path
from typing import Any

from attacklab.vectors import read_file

FOLDER = Path(__file__).parents[2] / "vectors"


@functools.cache
def vector_file(type_: str) -> dict[str, Any]:
    """The file of this type; nobody changes it."""
    return read_file(FOLDER / f"{type_}.json")
