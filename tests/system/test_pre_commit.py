"""An author commits: the hook audits the targets of the files that changed, as pre-commit calls it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.system.test_packaging import ROOT

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
FILES = {
    "leaky.py": """
from attacklab import Target

def release(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

target = Target.noise(release, epsilon=1.0)
""",
    "sound.py": """
from attacklab import Domain, Target

def release(answer, trials, rng):
    return int(answer) + rng.geometric(0.7, trials) - rng.geometric(0.7, trials)

target: Target = Target.noise(release, epsilon=2.0, domain=Domain(integers=True))
""",
    "plain.py": "raise RuntimeError('a file without targets is not run')\n",
    "failing.py": "from attacklab import Target\ntarget = Target.noise(lambda *_: 1 / 0, epsilon=1.0)\n",
    "broken.py": "target = Target.noise(\n",
    "ending.py": """
import os
from attacklab import Target

target = Target.noise(lambda *_: os._exit(0), epsilon=1.0)
""",
}


@pytest.mark.parametrize(
    ("names", "status", "said"),
    [
        ("sound.py", 0, "Nothing was found against the claim of release, ε = 2.0"),
        ("sound.py leaky.py plain.py", 1, "replay: attacklab audit leaky.py:target --attack"),
        ("failing.py leaky.py", 1, "is refuted by low_bit_laplace"),
        ("plain.py", 0, ""),
        ("failing.py", 2, "ZeroDivisionError"),
        ("broken.py", 2, "broken.py, line 1); repair or leave out that file"),
        ("gone.py", 2, "gone.py"),
        ("ending.py", 2, "was ended from within (status 0), so nothing was judged"),
    ],
)
def test_the_hook_ends_as_the_worst_audit_does(tmp_path: Path, names: str, status: int, said: str) -> None:
    """An alarm on the sound one has a probability of at most 1e-9; the seed is fixed."""
    for name, source in FILES.items():
        (tmp_path / name).write_text(source, "utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603 - our own hook
        [*shlex.split(HOOK["entry"]), "--alpha", "1e-9", *names.split()],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert ("is refuted" in done.stdout) is (status == 1)


def test_the_hook_is_described_as_pre_commit_asks() -> None:
    assert {"id", "name", "entry", "language"} <= set(HOOK)
    assert (HOOK["language"], HOOK["types"]) == ("system", ["python"])
    page = (ROOT / "docs" / "how_to" / "ci.md").read_text("utf-8")
    assert f"id: {HOOK['id']}" in page
