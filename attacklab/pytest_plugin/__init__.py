"""The pytest plugin: pytest finds its hooks and fixtures here. Nothing heavy is imported before the first audit."""

from attacklab.pytest_plugin.hooks import *  # noqa: F403 - pytest looks for them by their names
