"""How tests write certificates and have them checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attacklab.certificates import Draft, certificate
from checker.check import check
from checker.core.certificate import Conclusion, load

Checked = Callable[..., Conclusion]


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """Check a draft as its certificate on disk is checked, some of its fields replaced."""

    def check_draft(draft: Draft, **changes: object) -> Conclusion:
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(certificate("under test", replace(draft, **changes))), "utf-8")
        return check(load(path), sources=True)

    return check_draft
