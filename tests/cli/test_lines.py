"""Every kind of line ends in its status and says what happened in one line; none of them changes a file."""

import sys
from pathlib import Path

import pytest

from tests.cli.lines import FILES, blocks, ended, write_files

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")]
MADE = {"lab/reports", "reports", "proving/reports", "refusing/reports", "answers", "loop.json"}
CERTIFICATE = "reports/proofs/odd_name_1.json"


@pytest.mark.parametrize(("line", "end"), blocks(), ids=lambda text: text[:60])
def test_a_line_ends_in_its_status_and_says_why(line: str, end: str, tmp_path: Path) -> None:
    if "Dask" in end:
        pytest.importorskip("distributed")
    write_files(tmp_path)
    assert ended(line, tmp_path) == end, "to write all anew: python -m tests.cli.lines"
    assert {name: (tmp_path / name).read_text("utf-8") for name in FILES} == FILES
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    new = {name for name in left - {*FILES} if "__pycache__" not in name and name not in MADE}
    written = {name for name in new if not name.endswith((".out", ".err"))}  # where the tests keep what is printed
    is_checked = line.startswith(("proving$", "refusing$")) and "certified --all" in line
    assert {name.partition("/")[2] for name in written} == ({CERTIFICATE} if is_checked else set())
