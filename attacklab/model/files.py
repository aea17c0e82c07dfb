"""Writes files whole or not at all, and never over a file that the lab has not written.

A regular file is replaced in one step, and keeps its mode. A link is followed. A pipe or a
character device is written in place. `require_writable` refuses what the lab must not overwrite, before anything is
measured.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from attacklab.model.errors import UsageError

LONGEST_HEAD = 300
_OURS = re.compile(
    rb'(?s){\s*"schema":\s*"(attacklab|exact-term)/|{\s*"\$schema".*"driver":\s*{\s*"name":\s*"attacklab"|'
    rb'<!doctype html>.*<meta name="generator" content="attacklab |# Proof of concept: '
)
"""Matches the first bytes of every file that the lab writes: record, certificate, SARIF log, page or script."""

MOST_BYTES = 1 << 30
"""The largest size in bytes of a JSON file that `read_json` reads by default."""


def require_writable(path: Path) -> None:
    """Check, before anything is measured, that `write_whole` can write a file and would destroy nothing.

    Raises:
        UsageError: `path` is a folder, a block device, a socket, or a file that the lab has not written; or the file
            or its folder cannot be written.
    """
    if _standard_stream(path) is not None:
        return
    if not path.exists():
        require_writable_folder(_behind(path).parent)
        return
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise UsageError(f"cannot write to {path}: it is a folder")
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
        raise UsageError(f"cannot write to {path}: it is not a file, a pipe or a character device; choose another one")
    if not os.access(path, os.W_OK):
        raise UsageError(f"cannot write to {path}: {os.strerror(errno.EACCES)}")
    if stat.S_ISREG(mode):
        with path.open("rb") as file:
            head = file.read(LONGEST_HEAD)
        if head and not _OURS.match(head):
            raise UsageError(f"{path} was not written by attacklab, so it is kept; choose another file, or remove it")
        require_writable_folder(_behind(path).parent)


def require_writable_folder(folder: Path) -> None:
    """Make a folder if it does not exist, and check that files can be written to it.

    Raises:
        UsageError: the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in one step: a reader sees either the old file or the whole new one.

    The mode of a new file follows the umask. Pipes, character devices, and the files that are standard output or
    standard error are written in place.

    Raises:
        OSError: the file cannot be written. A regular file is then unchanged.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    stream = _standard_stream(path)
    if stream is not None:
        stream.flush()
        with open(stream.fileno(), "wb", closefd=False) as file:
            file.write(data)
    elif path.exists() and not path.is_file():
        path.write_bytes(data)
    else:
        _replace(_behind(path), data)


def read_json(path: Path, most: int = MOST_BYTES, *, has_special: bool = False) -> Any:
    """Return the value in a JSON file.

    Args:
        path: the file, which must be a regular one.
        most: the largest size in bytes.
        has_special: whether the file may hold NaN and infinities, which are not JSON.

    Raises:
        UsageError: it is not a regular file, is larger than `most`, or is not JSON in UTF-8.
        OSError: it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is {'a directory' if path.is_dir() else 'not a regular file'}; name the file itself")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UsageError(f"{path} has more than {most:,} bytes, the most that such a file may have")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=None if has_special else _not_json)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


def _not_json(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _standard_stream(path: Path) -> IO[str] | None:
    """Return `sys.stdout` or `sys.stderr` if that stream writes to the file, pipe or device at `path`; else None."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or replaced by what has no descriptor
            if os.path.samestat(path.stat(), os.fstat(stream.fileno())):
                return stream
    return None


def _behind(path: Path) -> Path:
    """Return the file to which a link leads, or the path itself if it is not a link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.attacklab")
    try:
        with temporary.open("xb") as file:
            if path.exists():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(data)
        try:
            temporary.replace(path)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            path.write_bytes(data)  # a file that is mounted by itself, as into a container, cannot be replaced
    finally:
        temporary.unlink(missing_ok=True)


def from_here(file: str) -> str:
    """Return a path relative to the current folder if the file lies inside it, else unchanged."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file
