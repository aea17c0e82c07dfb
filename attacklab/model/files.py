"""Files that the lab writes: each whole or not at all, and none that somebody else wrote.

A regular file is replaced in one step and keeps its mode and its owner; a link to one is followed. A pipe or a
character device is written in place. `require_writable` refuses what the lab must not overwrite, before anything is
measured.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from attacklab.model.errors import UsageError

TOOL = "attacklab"
"""How the schema of every record of the lab begins, and the name of the tool in a SARIF log."""

PAGE_BEGINS = f'<meta name="generator" content="{TOOL} '.encode()
"""Among the first lines of a page of HTML that the lab wrote."""
LONGEST_HEAD = 200

SCRIPT = "# Proof of concept: "
"""How a proof of concept begins."""

MOST_BYTES = 1 << 30
"""A file that is larger is none of the lab's."""


def require_writable(path: Path) -> None:
    """Make sure, before anything is measured, that `write_whole` can write this file and destroys nothing.

    Raises:
        UsageError: it is a folder, a block device, a socket, or a file that the lab has not written; or it, or its
            folder, can neither be written to nor made.
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
        if path.stat().st_size and not _is_ours(path):
            raise UsageError(f"{path} was not written by {TOOL}, so it is kept; choose another file, or remove it")
        require_writable_folder(_behind(path).parent)


def require_writable_folder(folder: Path) -> None:
    """Make a folder where there is none, and make sure that files can be written to it.

    Raises:
        UsageError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in one step: whoever looks sees the old one or the whole new one.

    A new file has the mode that the umask leaves it. A pipe, a character device, and whatever standard output or
    standard error is, are written in place.

    Raises:
        OSError: it cannot be written; a regular file is as it was.
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
    """The value in a file of JSON, which must have an end.

    Args:
        path: the file.
        most: how many bytes it may have.
        has_special: whether NaN and the infinities may stand in it, which JSON does not have.

    Raises:
        UsageError: it is not a regular file, is larger, or is not JSON in UTF-8.
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
    """Whichever of standard output and standard error goes to this file, pipe or device."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or replaced by what has no descriptor
            if os.path.samestat(path.stat(), os.fstat(stream.fileno())):
                return stream
    return None


def _behind(path: Path) -> Path:
    """The file that a link leads to, or the path itself."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.{TOOL}")
    try:
        with temporary.open("xb") as file:
            if path.exists():  # its owner, where that is allowed, and its mode stay
                status = path.stat()
                if sys.platform != "win32":
                    with contextlib.suppress(PermissionError):
                        os.chown(temporary, status.st_uid, status.st_gid)
                temporary.chmod(stat.S_IMODE(status.st_mode))
            file.write(data)
        try:
            temporary.replace(path)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            path.write_bytes(data)  # a file that is mounted by itself, as into a container, cannot be replaced
    finally:
        temporary.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether the lab wrote a file that is not empty: a record, a certificate, a SARIF log, a page or a script."""
    with path.open("rb") as file:
        start = file.read(LONGEST_HEAD)
        if PAGE_BEGINS in start or start.startswith(SCRIPT.encode()):
            return True
        if not start.startswith(b"{") or path.stat().st_size > MOST_BYTES:
            return False
        try:
            data = json.loads(start + file.read())
            is_certificate = {"schema", "claim", "relation"} <= data.keys()
            return is_certificate or str(data.get("schema") or data["runs"][0]["tool"]["driver"]["name"]).startswith(
                TOOL
            )
        except (ValueError, RecursionError, KeyError, IndexError, TypeError):
            return False


def from_here(file: str) -> str:
    """A path relative to the current folder if it lies inside; else unchanged."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file
