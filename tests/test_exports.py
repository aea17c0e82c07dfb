"""What the package exports is there, is what its home module holds, and is imported only when it is used."""

import re
from pathlib import Path

import pytest

import attacklab
from attacklab import api, attacks, laws
from attacklab.draws import work
from attacklab.laws import proof
from attacklab.model import claims, domains, findings, neighbours, random_bits, releases, targets
from attacklab.model.domains import finite

pytestmark = pytest.mark.slow

MODEL = (claims, domains, finite, findings, neighbours, random_bits, releases, targets)
HOMES = (api, attacks, work, laws, proof, *MODEL)
ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for place in ("README.md", "CONTRIBUTING.md", "docs", "examples")
    for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    if path.suffix in (".md", ".py", ".ipynb") and not {"_extensions", "_build"} & set(path.parts)
)
OF_THE_PACKAGE = ROOT / "docs" / "how_to" / "writing_an_attack.md"
"""Its example becomes a module of the package itself, so it imports as those do."""


def test_each_export_is_the_object_of_one_home_module() -> None:
    for name in attacklab.__all__:
        exported = getattr(attacklab, name)
        assert any(vars(home).get(name) is exported for home in HOMES), name
        assert name in dir(attacklab)


def test_documents_import_from_the_package_alone_and_only_what_it_exports() -> None:
    imports = {
        (path.name, module, name)
        for path in DOCUMENTS
        if path != OF_THE_PACKAGE
        for module, names in re.findall(
            r"(?m)^[\s>.]*from (attacklab[\w.]*) import ([\w, ]+)$", path.read_text("utf-8")
        )
        for name in names.split(", ")
    }
    assert len(imports) > 40
    assert {entry for entry in imports if entry[1] != "attacklab" or entry[2] not in attacklab.__all__} == set()
