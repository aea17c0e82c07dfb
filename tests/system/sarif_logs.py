"""What SARIF 2.1.0 requires of the parts of a log that the lab writes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlparse

LEVELS = {"none", "note", "warning", "error"}


def require_valid(log: dict[str, Any]) -> None:
    """Check a log; the numbers are those of the standard's sections."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"  # 3.13.2
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]  # 3.19.8
        rules = driver["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules)  # 3.19.23
        for rule in rules:
            assert rule["shortDescription"]["text"]
            assert "helpUri" not in rule or urlparse(rule["helpUri"]).scheme == "https"
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]  # 3.27.6
            _require_shown(result)
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)  # 3.20.14
            for notification in invocation["toolExecutionNotifications"]:
                _require_shown(notification)


def _require_shown(shown: dict[str, Any]) -> None:
    assert shown["level"] in LEVELS
    assert shown["message"]["text"]
    for location in shown["locations"]:
        physical = location.get("physicalLocation")
        if physical is not None:
            assert not urlparse(physical["artifactLocation"]["uri"]).scheme  # relative, as 3.4.4 has it with a base
            assert physical["region"]["startLine"] >= 1  # 3.30.5
