"""Files that the lab writes: whole, where the user said, as the user set them up, and over none of somebody else's."""

import os
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import UsageError
from attacklab.model.files import read_json, require_writable, write_whole
from attacklab.model.findings import Finding, Verdict, record, to_text
from attacklab.reporting.audit_page import audit_page
from attacklab.reporting.sarif import sarif_log

FINDING = Finding(
    target="a", target_version="", attack="b", verdict=Verdict.NOT_DETECTED, reason="", claim=PrivacyClaim(1.0)
)
OURS = (
    "",
    to_text(record([])),
    to_text(sarif_log([])),
    to_text({"schema": "exact-term/1", "claim": {}, "relation": "answers"}),
    audit_page([FINDING], datetime.now(UTC)),
    "# Proof of concept: it does not keep its claim.\n",
)
THEIRS = (
    "import numpy\n",
    "<!doctype html>\n<title>theirs</title>\n",
    "[1, 2]",
    "{",
    '{"schema": "theirs/1"}',
    '{"runs": [{"tool": {"driver": {"name": "x"}}}]}',
    '{"name": "attacklab-demo"}',
    'TOOLS = [{"name": "attacklab"}]',
    'Write {"schema": "attacklab/2"} or <meta name="generator" content="attacklab 1">.',
    "import numpy\n# Proof of concept: a script\n",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes and files"),
]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_writing_makes_folders_and_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file.txt"
    write_whole(path, "ε")
    assert path.read_bytes() == "ε".encode()
    write_whole(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert [found.name for found in path.parent.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("failing", ["replace", "chmod"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, failing, fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.touch()
    path.chmod(mode)
    write_whole(path, "{}")
    assert mode_of(path) == mode


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("there", "not_yet"):
        (tmp_path / name).symlink_to(tmp_path / "deep" / name)
    (tmp_path / "deep" / "there").write_text("")
    for name in ("there", "not_yet"):
        require_writable(tmp_path / name)
        write_whole(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "deep" / name).read_text() == "new"


def test_a_pipe_is_written_in_place(tmp_path: Path) -> None:
    path, read = tmp_path / "pipe", list[str]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    require_writable(path)
    write_whole(path, "text" * 100_000)
    reader.join(10)
    assert read == ["text" * 100_000]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_only_a_file_with_an_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('["εεεεε"]', encoding="utf-8")
    assert read_json(path) == read_json(path, most=14) == ["εεεεε"]
    with pytest.raises(UsageError, match="has more than 13 bytes"):
        read_json(path, most=13)
    os.mkfifo(tmp_path / "pipe")
    for endless in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(UsageError, match="is not a regular file; name the file itself"):
            read_json(endless)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none.json")


@pytest.mark.parametrize(("how", "name"), [(">", "out.txt"), (">>", "/dev/stdout"), ("|cat >", "/proc/self/fd/1")])
def test_standard_output_by_any_name_gets_the_text_in_its_place(how: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before\n" if how == ">>" else "")
    code = (
        "import sys; from pathlib import Path; from attacklab.model.files import *; "
        "print('one'); path = Path(sys.argv[1]);"
        "require_writable(path); write_whole(path, 'two\\n'); print('three')"
    )
    command = f'"{sys.executable}" -c "{code}" {name} {how} out.txt'
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(command, shell=True, cwd=tmp_path, env=environment, check=True)  # noqa: S602 - our own code
    assert path.read_text() == ("before\n" if how == ">>" else "") + "one\ntwo\nthree\n"


@pytest.mark.parametrize("content", OURS, ids=("empty", "record", "log", "certificate", "page", "script"))
def test_what_the_lab_wrote_may_be_written_again(content: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(content, encoding="utf-8")
    require_writable(tmp_path / "file")
    assert (tmp_path / "file").read_text(encoding="utf-8") == content


@pytest.mark.parametrize("content", [*THEIRS, "\0" * 100])
def test_what_somebody_else_wrote_is_refused_and_left_alone(content: str, tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text(content)
    link.symlink_to(path)
    for place in (path, link):
        with pytest.raises(UsageError, match="was not written by attacklab, so it is kept; choose another file"):
            require_writable(place)
    assert path.read_text() == content


def test_a_socket_is_refused(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(UsageError, match="not a file, a pipe or a character device"):
            require_writable(tmp_path / "socket")
