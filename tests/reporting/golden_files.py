"""Each kind of output, as files that people read before they commit them.

`python -m tests.reporting.golden_files` writes them anew. `FINDINGS` holds what they show.
"""

import contextlib
import io
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from attacklab import Finding, NeighbouringPair, PrivacyClaim, Verdict, ZeroConcentrated
from attacklab.auditing.judge import PROVE_INSTEAD
from attacklab.cli.output import show
from attacklab.model import findings as findings_module
from attacklab.model.files import write_whole
from attacklab.model.findings import (
    CERTIFICATE,
    FAILURE,
    SO_DID_EVERY_CALL,
    Alignment,
    Certificate,
    Counts,
    Estimate,
    Laws,
    Reach,
    Samples,
    Scope,
    described_pair,
    record,
    to_text,
)
from attacklab.pytest_plugin.report import AuditedTest
from attacklab.reporting import audit_page, pages, proofs, sarif
from attacklab.reporting.sarif import Place

FOLDER = Path(__file__).parent / "golden"
PLACE = Place("my_library.py", 11)
WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
MADE_WITH = {"attacklab": "0", "python": "3"}
HERE = {"date": "2026-02-03", "system": "Linux", "machine": "x86_64", "python": "3", "numpy": "2"}
REPLAY = "attacklab audit my_library.py:Laplace.randomise --kind noise --epsilon 0.5 --attack {} --trials 5000"


def seen(**figures: Any) -> Samples:
    """What samples showed, with some figures in place of others."""
    return Samples(ceiling=0.2449, **figures)


QUIET = Finding(
    target="Laplace.randomise",
    target_version="1",
    attack="generator_seed",
    verdict=Verdict.NOT_DETECTED,
    reason="not refuted; an advantage of 0.251 on this event would have been detected (power 95%)",
    claim=PrivacyClaim(0.5),
    evidence=seen(smallest_detectable=0.251),
    alpha=1e-6 / 33,
    trials=4000,
    seconds=1.25,
)
EVENT = seen(
    event="reachable from 0.0 and not from 1.0",
    counts=Counts(53, 0, 64),
    advantage=Estimate(0.828, 0.5, 0.96),
    epsilon_lower=1.3371,
)
LOW_BITS = replace(
    QUIET,
    attack="low_bit_laplace",
    verdict=Verdict.VIOLATED,
    reason="E happened in 53 of 64 trials on the first input and in 0 on the second",
    flaw="the low bits of some outputs can come from one true answer only",
    pair=described_pair(NeighbouringPair(0.0, 1.0, None)),
    evidence=EVENT,
    repair_code="laplace(epsilon=0.5, sensitivity=1.0, step=2**-10)(answer)",
    replay=REPLAY.format("low_bit_laplace"),
)
PRECISION = replace(
    LOW_BITS,
    attack="precision",
    flaw="some floats cannot be the sum of a true answer and any noise",
    evidence=replace(EVENT, counts=Counts(47, 0, 144), epsilon_lower=0.9),
    replay=REPLAY.format("precision"),
)


def proving(epsilon: float) -> Finding:
    """A finding that shows an ε."""
    return replace(LOW_BITS, evidence=replace(EVENT, epsilon_lower=epsilon))


FEW = replace(QUIET, attack="black_box", verdict=Verdict.INCONCLUSIVE, reason="it takes at least 110 trials")
FEW = replace(FEW, evidence=seen(counts=Counts(1, 2, 10), trials_needed=110))
RAISES = replace(FEW, verdict=Verdict.ERROR, reason="boom raised ValueError: no", evidence=None)
ELSEWHERE = replace(RAISES, attack="rare_keys", verdict=Verdict.NOT_APPLICABLE, reason="does not apply")
UNTESTABLE = replace(ELSEWHERE, attack="precision", verdict=Verdict.INCONCLUSIVE, evidence=seen(untestable=True))
UNTESTABLE = replace(UNTESTABLE, reason="it takes 10^12 trials" + PROVE_INSTEAD)
PROVED = replace(
    ELSEWHERE, attack="exact_law", verdict=Verdict.PROVED, reason="laws of 3 and 3 outcomes keep it", scope=Scope()
)
PROVED = replace(PROVED, pair=LOW_BITS.pair, evidence=Laws(digests=("a", "b")))
OPEN = replace(PROVED, verdict=Verdict.INCONCLUSIVE, reason="1 s were not enough", evidence=None)
BY_LAW = replace(LOW_BITS, attack="exact_law", flaw="", alpha=None, repair_code="")
BY_LAW = replace(
    BY_LAW,
    reason="the first input is likelier than allowed",
    replay="attacklab prove it.py:it",
    evidence=Laws(
        event=EVENT.event, advantage=EVENT.advantage, ceiling=0.2449, epsilon_lower=1.3371, digests=("a", "b")
    ),
)
WITHOUT_BOUND = replace(BY_LAW, evidence=Laws(event=EVENT.event, epsilon_lower=math.inf, digests=("a", "b")))
LINE = Alignment(file="my_library.py", line=14, loss="ε = 2", epsilon_lower=2.0)
FROZEN = replace(LOW_BITS, attack="alignment", flaw="the code around the noise loses too much", evidence=LINE)
NOTE = replace(LOW_BITS, attack="special_values", verdict=Verdict.NOT_APPLICABLE)
OWN = replace(LOW_BITS, attack="an_attack_of_ones_own", flaw="odd", repair_code="")
TOGETHER = replace(EVENT, judged_at=PrivacyClaim(0.464, 0.05891), delta_lower=0.2, answers=4)
DELTA = replace(LOW_BITS, claim=ZeroConcentrated(0.5), evidence=TOGETHER)
ANY_INPUT = replace(PROVED, scope=Scope(Reach.INPUTS, inputs=4, pairs=6), pair=None)
LONG_COMMAND = replace(
    LOW_BITS,
    target="a_target_with_a_long_name_in_some_module",
    replay=f"attacklab audit {'deep/' * 30}x.py:it --trials 9",
)
SPECIAL = (replace(proving(0.51), attack=name) for name in ("integer_cast", "missing_clip", "rare_keys"))
HOSTILE_TEXT = "</p><script>alert(1)</script>\x1b[2J\n::error::hacked \u202e&amp; ##[error]"
HOSTILE = replace(OWN, target=HOSTILE_TEXT, reason=HOSTILE_TEXT, flaw=HOSTILE_TEXT, replay=HOSTILE_TEXT)
HOSTILE = replace(HOSTILE, evidence=replace(EVENT, event=HOSTILE_TEXT))

FINDINGS: dict[str, tuple[Finding, ...]] = {
    "fail": (QUIET, ELSEWHERE, PRECISION, LOW_BITS, proving(0.71), FEW, RAISES),
    "pass": (QUIET, replace(QUIET, attack="low_bit_laplace", evidence=seen(smallest_detectable=0.01)), FEW, ELSEWHERE),
    "undecided": (FEW, replace(FEW, attack="precision", reason="too few trials"), ELSEWHERE),
    "error": (RAISES, replace(RAISES, attack="precision", reason=RAISES.reason + SO_DID_EVERY_CALL), QUIET),
    "proved": (PROVED, replace(PROVED, reason="they keep it with 2^−58 added to δ")),
    "not_proved": (OPEN, PROVED),
    "untestable": (UNTESTABLE, ELSEWHERE),
}
"""These are shown in each kind of output."""

SCREENS = FINDINGS | {
    "no attack applies": (ELSEWHERE,),
    "by an exact law": (BY_LAW, PROVED),
    "the largest ε is infinite": (WITHOUT_BOUND,),
    "the noise is frozen": (FROZEN, QUIET),
    "the loss is without bound": (replace(FROZEN, evidence=replace(LINE, epsilon_lower=None)),),
    "a note alone": (NOTE, QUIET),
    "an attack of one's own": (OWN,),
    "it fails on one input": (replace(LOW_BITS, flaw=FAILURE),),
    "four answers together": (DELTA,),
    "every input of a domain": (ANY_INPUT,),
    "many flaws": (LOW_BITS, PRECISION, FROZEN, *SPECIAL),
    "a long command": (LONG_COMMAND,),
    "a bound near the claim": (proving(0.50004),),
    "a long domain": (replace(PROVED, pair=described_pair(NeighbouringPair(list(range(90)), [1], None))),),
    "a hostile target": (HOSTILE, replace(HOSTILE, verdict=Verdict.ERROR)),
}
"""Of these the screen is shown."""


def _printed(findings: tuple[Finding, ...], *, verbose: bool | None) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, mock.patch.dict(os.environ, COLUMNS="80"):
        show([(PLACE, findings)], verbose)
    return out.getvalue()


def _in_pytest(findings: tuple[Finding, ...]) -> str:
    test = AuditedTest(test="test_it.py::test_it", place=Place("test_it.py", 3), findings=findings, alpha=1e-6)
    outcome = "fails" if test.failed else "is skipped" if test.skipped else "passes"
    return f"the test {outcome}\n{test.failure()}\n"


def written(folder: Path, name: str, findings: Sequence[Finding], **changed: Any) -> None:
    """Write the records and the figure of an experiment."""
    experiment = {
        "name": name,
        "package": "experiments",
        "question": f"What of {name}?",
        "seed": 3,
        "share": 0.1,
        "paragraph": f"Seen in {name}.",
        "figures": [{"name": f"{name}_figure", "caption": f"Caption of {name}"}],
        **changed,
    }
    write_whole(folder / "data" / f"{name}.json", to_text(record(findings, experiment=experiment, measured={})))
    write_whole(folder / "figures" / f"{name}_figure.svg", "<svg/>")
    measured(folder, name, paragraph="")


def measured(folder: Path, name: str, paragraph: str = "It took a while.") -> None:
    """Write the record and the figure of an experiment's times."""
    figures = [{"name": f"{name}_seconds", "caption": "Seconds"}]
    experiment = {"name": name, "seconds": 1.5, "paragraph": paragraph, "figures": figures}
    data = {**record([], experiment=experiment, timings={}), "environment": HERE}
    write_whole(folder / "measured" / f"{name}.json", to_text(data))
    write_whole(folder / "measured" / "figures" / f"{name}_seconds.svg", "<svg/>")


CERTIFIED = replace(
    PROVED,
    attack=CERTIFICATE,
    reason="a cell is missing",
    scope=Scope(Reach.NEIGHBOURS, neighbours="answers at most 1 apart"),
    evidence=Certificate(
        file="one.json",
        sha256="ab",
        size=12_345,
        statement="1-DP for every pair | of answers",
        readings=("grid", "table"),
        checked="9 cells",
    ),
)


def _pages(folder: Path) -> dict[str, str]:
    """Pages of experiments, and that of three certificates, of which the second one was not accepted."""
    refused = Certificate(file="two.json", sha256="ab", size=12_345)
    second = replace(CERTIFIED, target="two", verdict=Verdict.INCONCLUSIVE, evidence=refused)
    certificates = [replace(CERTIFIED, target="one"), second, replace(CERTIFIED, target="three")]
    times = [{"mechanism": one.target, "write_seconds": 1.5, "check_seconds": 0.25} for one in certificates]
    lemmas = {"grid": "A grid of |n| points.", "table": "A sampler."}
    write_whole(folder / proofs.PROOFS / proofs.RECORD, to_text(record(certificates, lemmas=lemmas)))
    write_whole(folder / proofs.PROOFS / proofs.TIMES, to_text({**record([]), "times": times, "environment": HERE}))
    written(folder, "alpha", [*FINDINGS["fail"], BY_LAW, DELTA, HOSTILE])
    for name in ("beta", "delta", "epsilon", "gamma"):
        written(folder, name, [QUIET] * 50)
    measured(folder, "beta")
    texts = pages.rendered(folder)
    shown = ("alpha.md", "index.md", "measured/beta.md", "proofs/index.md")
    return {name.replace("/", "_"): str(texts[folder / name]) for name in shown}


def golden_files() -> dict[str, str]:
    """The texts of the files by their names."""
    screens = {name: _printed(findings, verbose=None) for name, findings in SCREENS.items()}
    texts = {
        "screens.txt": "\n".join(f"# {name}\n{text}" for name, text in screens.items()),
        "verbose.txt": "\n".join(
            f"# {name}\n{_printed(findings, verbose=True)}" for name, findings in FINDINGS.items()
        ),
        "quiet.txt": "".join(_printed(findings, verbose=False) for findings in SCREENS.values()),
        "pytest.txt": "\n".join(_in_pytest(findings) for findings in SCREENS.values()),
    }
    patches = (
        mock.patch.object(module, "environment", return_value=MADE_WITH)
        for module in (findings_module, audit_page, sarif)
    )
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        for name, findings in {**FINDINGS, "hostile": SCREENS["a hostile target"]}.items():
            texts[f"{name}.html"] = audit_page.audit_page(
                findings, WHEN, place=str(PLACE), command="attacklab audit it"
            )
            texts[f"{name}.sarif"] = to_text(sarif.sarif_log([(finding, PLACE) for finding in findings]))
            texts[f"{name}.json"] = to_text(record(findings))
        return texts | _pages(Path(stack.enter_context(tempfile.TemporaryDirectory())))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in golden_files().items():
        (FOLDER / name).write_text(text, "utf-8")
