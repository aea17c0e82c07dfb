"""What SARIF 2.1.0 requires of the parts of a log that the lab writes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlparse

LEVELS = {"none", "note", "warning", "error"}


def require_valid(log: dict[str, Any]) -> None:
    """Check a log."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        rules = driver["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules)
        for rule in rules:
            assert rule["shortDescription"]["text"]
            assert "helpUri" not in rule or urlparse(rule["helpUri"]).scheme == "https"
        _require_taxa(run, rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            _require_shown(result)
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
            for notification in invocation["toolExecutionNotifications"]:
                _require_shown(notification)


def _require_taxa(run: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """Rules point to the taxa of the one taxonomy of the run, and to each of them."""
    (taxonomy,) = run["taxonomies"]
    assert run["tool"]["driver"]["supportedTaxonomies"] == [{"name": taxonomy["name"], "index": 0}]
    taxa = taxonomy["taxa"]
    pointed = [relation for rule in rules for relation in rule.get("relationships", ())]
    for relation in pointed:
        target = relation["target"]
        assert relation["kinds"] == ["superset"]
        assert target["toolComponent"] == {"name": taxonomy["name"], "index": 0}
        assert taxa[target["index"]]["id"] == target["id"]
    assert {relation["target"]["id"] for relation in pointed} == {taxon["id"] for taxon in taxa}
    assert len({taxon["id"] for taxon in taxa}) == len(taxa)


def _require_shown(shown: dict[str, Any]) -> None:
    assert shown["level"] in LEVELS
    assert shown["message"]["text"]
    for location in shown["locations"]:
        physical = location.get("physicalLocation")
        if physical is not None:
            assert not urlparse(physical["artifactLocation"]["uri"]).scheme  # relative to its base
            assert physical["region"]["startLine"] >= 1
