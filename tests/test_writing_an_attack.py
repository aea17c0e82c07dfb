"""The how-to on attacks: its example, as printed, does its work in a copy of the tree."""

import re
import shutil
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests import running

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how_to" / "writing_an_attack.md"
ATTACK = Path("attacklab", "attacks", "fraction.py")
TEST = Path("tests", "attacks", "test_fraction.py")
REGISTRY = ATTACK.with_name("__init__.py")
COMMAND_LINE = ("-c", "from attacklab.cli import main; main()")


def printed(name: str) -> str:
    (code,) = re.findall(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    assert isinstance(code, str)
    return code


def run(tree: Path, *command: str) -> CompletedProcess[str]:
    compiled_once = ["PYTHONDONTWRITEBYTECODE"]  # with it each command would compile the tree again
    return running.run(command, tree, hidden=compiled_once, PYTHONPATH=str(tree), COLUMNS="200")


def inserted_before(text: str, names: str, new: str) -> str:
    """The text with a line in front of the first of those lines that comes after it in the alphabet."""
    after = next(found for found in re.finditer(names, text, flags=re.MULTILINE) if found[0] > new)
    return text[: after.start()] + new + "\n" + text[after.start() :]


def register(tree: Path) -> None:
    """Follow the page's first step."""
    text = (tree / REGISTRY).read_text("utf-8")
    text = inserted_before(text, r"^from attacklab\.attacks\..*$", "from attacklab.attacks.fraction import FRACTION")
    text = inserted_before(text, r'^    "[A-Z_]+",$', '    "FRACTION",')
    text, times = re.subn(r"(?m)^(ATTACKS: .*\(\n(?:    .*\n)*)\)", r"\1    FRACTION,\n)", text)
    assert times == 1
    (tree / REGISTRY).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as a newcomer has it who has saved both examples and registered the attack."""
    made = [line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").splitlines()]
    tree = tmp_path_factory.mktemp("newcomer") / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", "reports", *made))
    (tree / ATTACK).write_text(printed(ATTACK.name), "utf-8")
    (tree / TEST).write_text(printed(TEST.name), "utf-8")
    register(tree)
    return tree


def test_the_test_on_the_page_passes_beside_those_that_every_registered_attack_has_to_pass(tree: Path) -> None:
    registered = (
        f"{TEST.with_name('test_attacks.py')}::test_every_attack_names_its_flaw_and_source_and_no_name_comes_twice"
    )
    done = run(tree, sys.executable, "-m", "pytest", "-q", "-n0", str(TEST), registered)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed", done.stdout, flags=re.MULTILINE)


def test_every_audit_runs_the_registered_attack_and_it_tells_the_twins_apart(tree: Path) -> None:
    claim = ("--kind", "noise", "--epsilon", "1", "--trials", "2000", "--workers", "1", "-v")
    for twin, status, verdict in (("kept", 1, "violated"), ("rounded", 0, "not detected")):
        done = run(tree, sys.executable, *COMMAND_LINE, "audit", f"{TEST}:{twin}", *claim)
        assert done.returncode == status, done.stdout + done.stderr
        assert re.search(rf"^fraction: {verdict},", done.stdout, flags=re.MULTILINE), done.stdout
