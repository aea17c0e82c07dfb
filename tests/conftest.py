"""Settings that every test shares: property tests draw the same examples in every run."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from attacklab.laws import net

collect_ignore = ["sample_project"]  # it is a project of its own, which test_pytest_plugin.py runs

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")

# In continuous integration pytest prints its summary whole; tests that run pytest read what a person sees.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)


@pytest.fixture(autouse=True)
def plain_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every proof holds its laws against plain runs: a few hundred in the default tests, all of them in slow ones."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(net, "RUNS", 400)
