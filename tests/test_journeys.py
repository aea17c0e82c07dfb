"""The pages on testing a mechanism: each session runs as it stands, in an empty folder, and prints what is shown."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.sessions import ROOT, require_shown, sessions, write_files

pytestmark = pytest.mark.slow

PAGES = {name: (ROOT / "docs" / "how_to" / f"{name}.md").read_text("utf-8") for name in ("auditing", "any_language")}
SESSIONS = [(page, session) for page, text in PAGES.items() for session in sessions(text)]
COMPILERS = ("cc", "javac")


@pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")
@pytest.mark.parametrize(("page", "session"), SESSIONS, ids=[session.splitlines()[0] for _, session in SESSIONS])
def test_a_session_goes_as_it_is_told(page: str, session: str, tmp_path: Path) -> None:
    for needed in COMPILERS:
        if session.startswith(f"$ {needed} ") and shutil.which(needed) is None:
            pytest.skip(f"there is no {needed} here")
    folder = tmp_path / "folder"
    shutil.copytree(ROOT / "examples", folder / "examples")
    write_files(PAGES[page], folder)
    require_shown(session, folder, tmp_path / "bin")
