"""The table of pyproject.toml: which flaws of a target count for the exit status."""

from dataclasses import replace

import pytest

from attacklab.cli.messages import Status
from attacklab.cli.settings import Settings
from attacklab.model.findings import Verdict
from tests.reporting.golden_files import LOW_BITS, PRECISION, QUIET

ERROR = replace(QUIET, verdict=Verdict.ERROR)


@pytest.mark.parametrize(
    ("settings", "findings", "status"),
    [
        (Settings(), [QUIET, LOW_BITS], Status.REFUTED),
        (Settings(ignore=frozenset({"AL04"})), [QUIET, LOW_BITS], Status.OK),
        (Settings(ignore=frozenset({"AL04"})), [QUIET, LOW_BITS, PRECISION], Status.REFUTED),
        (Settings(ignore=frozenset({"AL04"})), [LOW_BITS, ERROR], Status.FAILED),
        (Settings(baseline=frozenset({(LOW_BITS.spec or LOW_BITS.target, "AL04")})), [QUIET, LOW_BITS], Status.OK),
        (Settings(baseline=frozenset({("another", "AL04")})), [QUIET, LOW_BITS], Status.REFUTED),
    ],
)
def test_a_known_flaw_does_not_count_and_a_new_one_or_an_error_does(
    settings: Settings, findings: list[object], status: Status
) -> None:
    assert settings.status_of(findings) is status
