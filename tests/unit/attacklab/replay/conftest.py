"""Most tests here look at what is inferred from a few runs, whether or not counts show it (see `test_fresh_runs`)."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def every_inference_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say what is inferred from choices without counting fresh outputs."""
    monkeypatch.setattr("attacklab.replay.program.shown_by_fresh_runs", lambda *_: "not counted")
