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
from typing import IO

from attacklab.errors import UsageError

TOOL = "attacklab"
"""How the schema of every record of the lab begins, and the name of the tool in a SARIF log."""

PAGE_BEGINS = f'<meta name="generator" content="{TOOL} '.encode()
"""Among the first lines of a page of HTML that the lab wrote."""
LONGEST_HEAD = 200

SCRIPT = '"""Proof of concept: '
"""How a proof of concept begins."""


def require_writable(path: Path) -> None:
    """Make sure, before anything is measured, that `write_whole` can write this file and destroys nothing.

    Raises:
        UsageError: it is a folder, a block device, a socket, or a file that the lab has not written; or it, or its
            folder, can neither be written to nor made.
    """
    if is_standard_stream(path):
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
        if not _is_ours(path):
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


def is_standard_stream(path: Path) -> bool:
    """Whether this is the file, pipe or device that standard output or standard error goes to."""
    return _standard_stream(path) is not None


def is_standard_output(path: Path) -> bool:
    """Whether this is the file, pipe or device that standard output goes to."""
    return _standard_stream(path) is sys.stdout


def _standard_stream(path: Path) -> IO[str] | None:
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
            if path.exists():
                _take_after(temporary, path.stat())
            file.write(data)
        try:
            temporary.replace(path)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            path.write_bytes(data)  # a file that is mounted by itself, as into a container, cannot be replaced
    finally:
        temporary.unlink(missing_ok=True)


def _take_after(path: Path, status: os.stat_result) -> None:
    """Give a file the owner, where that is allowed, and the mode of another one."""
    if sys.platform != "win32":
        with contextlib.suppress(PermissionError):
            os.chown(path, status.st_uid, status.st_gid)
    path.chmod(stat.S_IMODE(status.st_mode))


def _is_ours(path: Path) -> bool:
    """Whether a file is empty, or a record, a SARIF log, a page or a proof of concept of the lab."""
    with path.open("rb") as file:
        start = file.read(1)
        if start == b"<":
            return PAGE_BEGINS in file.read(LONGEST_HEAD)
        if start != b"{":
            return not start or start + file.read(len(SCRIPT) - 1) == SCRIPT.encode()
        try:
            data = json.loads(start + file.read())
        except (ValueError, RecursionError):
            return False
    if str(data.get("schema")).startswith(TOOL):
        return True
    try:
        return bool(data["runs"][0]["tool"]["driver"]["name"] == TOOL)
    except (KeyError, IndexError, TypeError):
        return False
