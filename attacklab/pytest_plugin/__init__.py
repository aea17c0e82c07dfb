"""The pytest plugin: pytest finds its hooks and fixtures here.

Nothing heavy is imported before the first audit.
"""

from attacklab.pytest_plugin.hooks import (
    dp_audit,
    dp_prove,
    pytest_addoption,
    pytest_collection_finish,
    pytest_configure,
    pytest_generate_tests,
    pytest_runtest_makereport,
)

__all__ = [
    "dp_audit",
    "dp_prove",
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_makereport",
]
