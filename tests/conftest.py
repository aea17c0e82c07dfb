"""Settings that every test shares: property tests draw the same examples in every run."""

from __future__ import annotations

import os

from hypothesis import settings

collect_ignore = ["sample_project"]  # it is a project of its own, which test_pytest_plugin.py runs

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")

# In continuous integration pytest prints its summary whole; tests that run pytest read what a person sees.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)
