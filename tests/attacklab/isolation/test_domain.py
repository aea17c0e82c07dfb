"""A domain that a target declares holds in another process too."""

from __future__ import annotations

from pathlib import Path

from attacklab.domains import Domain
from attacklab.isolation import isolated
from attacklab.isolation.targets import ProcessRelease

SOURCE = """
from attacklab.domains import Domain
from attacklab.targets import Target

target = Target.noise(lambda answer, trials, rng: rng.random(trials), epsilon=1.0, domain=Domain(bounds=(0.1, 2)))
"""


def test_an_isolated_target_keeps_the_domain_that_it_declares(tmp_path: Path) -> None:
    file = tmp_path / "declared.py"
    file.write_text(SOURCE)
    target = isolated(f"{file}:target")
    assert target.domain == Domain(bounds=(0.1, 2.0), special=False)
    assert isinstance(target.release, ProcessRelease)
    target.release.close()
