"""`attacklab init`: a first privacy test for a module."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from attacklab.auditing.candidates import Candidate, candidates
from attacklab.cli import options
from attacklab.cli.output import INDENT, console, print_wrapped
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder, write_whole
from attacklab.reporting.first_test import first_test


def command(
    module: options.InitModule,
    output: options.InitOutput = Path("tests/test_privacy.py"),
    force: options.Force = False,
) -> None:
    """Write a first privacy test for a module."""
    if output.is_dir() or output.suffix != ".py":
        raise UsageError(f"{output} is not the name of a Python file; name one, such as tests/test_privacy.py")
    if output.exists() and not force:
        raise UsageError(f"{output} is there already, so it is kept; choose another file by --output, or add --force")
    root, name = _place(module)
    looked = candidates(name, "" if root is None else str(root))
    found = [one for one in looked if isinstance(one, Candidate)]
    if not found:
        told = "; ".join(f"{one.name}: {one.reason}" for one in looked if not isinstance(one, Candidate))
        raise UsageError(
            f"nothing in {module} looks like a mechanism ({told or 'it defines no public function'}); write the test "
            "by hand, as docs/how_to/pytest.md shows"
        )
    require_writable_folder(output.parent)
    write_whole(output, first_test(name, "" if root is None else _path_to(root, output), found))
    out = console()
    for one in looked:
        if isinstance(one, Candidate):
            out.print(f"{one.name} looks like a mechanism", soft_wrap=True)
            lines = [f"seen: {one.seen}", *(f"guess: {guess}" for guess in one.guesses)]
            for line in [*lines, *([f"to fill in: {', '.join(one.unknown)}"] if one.unknown else [])]:
                print_wrapped(out, line, INDENT)
        else:
            print_wrapped(out, f"{one.name} was left out: {one.reason}", "")
    asking = sum(bool(one.unknown) for one in found)
    todo = f", of which {asking} fail until the lines marked TODO are filled in" if asking else ""
    out.print(f"written: {output}, {len(found)} {'test' if len(found) == 1 else 'tests'}{todo}", soft_wrap=True)
    out.print(f"next: check the guesses in it, then pytest {output}", soft_wrap=True)


def _place(module: str) -> tuple[Path | None, str]:
    """The folder to import a module from, None where it is installed, and its name."""
    if module.endswith(".py"):
        path = Path(module).resolve()
        if not path.is_file():
            raise UsageError(f"there is no file {module}; check the path")
        parts = [path.parent.name if path.stem == "__init__" else path.stem]
        root = path.parent.parent if path.stem == "__init__" else path.parent
        while (root / "__init__.py").is_file():
            root, parts = root.parent, [root.name, *parts]
        return root, _checked(".".join(parts))
    name = _checked(module)
    here = Path.cwd().joinpath(*name.split("."))
    if here.with_name(f"{here.name}.py").is_file() or here.is_dir():
        return Path.cwd(), name
    try:
        is_installed = importlib.util.find_spec(name) is not None
    except ImportError:
        is_installed = False
    if not is_installed:
        raise UsageError(f"there is no module {name} here or installed; name a module or a file that ends in .py")
    return None, name


def _checked(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{name} is not the name of a Python module, which a test could import; rename the file")
    return name


def _path_to(root: Path, output: Path) -> str:
    """The folder, in Python, as the file at `output` finds it."""
    relative = Path(os.path.relpath(root, output.resolve().parent))
    ups = sum(part == ".." for part in relative.parts)
    downs = [part for part in relative.parts if part != ".."]
    return "".join([f"Path(__file__).resolve().parents[{ups}]", *(f" / {part!r}" for part in downs)])
