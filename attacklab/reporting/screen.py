"""One screen: the summary of an audit or a proof, for a terminal, for pytest and for the head of a page.

A first line with the verdict; a row for each flaw, with the code that `attacklab list CODE` explains; what passed; and
what to do. Nothing is wider than `WIDTH`.
"""

import enum
import math
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attacklab.auditing.flaws import catalogue, flaw_of
from attacklab.auditing.ordinary import best
from attacklab.auditing.statistics.choosing import POWER
from attacklab.auditing.statistics.reasons import above_text
from attacklab.model.claims import Stability
from attacklab.model.findings import (
    SO_DID_EVERY_CALL,
    Alignment,
    Certificate,
    Counterexample,
    Finding,
    Laws,
    Verdict,
    decisive,
    lower_text,
    upper_text,
)
from attacklab.model.plain_text import WIDTH, plain
from attacklab.reporting.wording import claim_text, inputs_text, repair_text

MOST_ROWS = 4
"""A screen shows at most this many flaws, and at most half this many reasons."""

LONGEST_INPUTS = 60
"""A screen shows a proof's inputs beside a reason only if their text has at most this many characters."""


class Outcome(enum.StrEnum):
    """The outcome of all findings of one target, in a word."""

    FAIL = "FAIL"
    ERROR = "ERROR"
    NOT_PROVED = "NOT PROVED"
    UNDECIDED = "UNDECIDED"
    PROVED = "PROVED"
    PASS = "PASS (no proof)"  # noqa: S105 - not a password


@dataclass(frozen=True, slots=True)
class Row:
    """A flaw that was shown.

    Attributes:
        code: the code of the flaw; empty for a flaw that is not in the catalogue.
        title: the flaw in a word or two.
        sentence: the flaw in a sentence.
        evidence: what shows the flaw, such as how often the event happened on each input.
    """

    code: str
    title: str
    sentence: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Screen:
    """The contents of one screen.

    Attributes:
        outcome: the verdict in a word.
        target: the target's name.
        place: the target's file and line; empty if they are not known.
        claim: what the target claims, and the ε, δ or distance that was shown.
        rows: a row for each flaw.
        remarks: sentences below the rows.
        notes: pairs of a title and a text, such as "Fix" and how to repair the flaw.
    """

    outcome: Outcome
    target: str
    place: str
    claim: str
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]

    @property
    def headline(self) -> str:
        """The first line of the screen, not wrapped."""
        return plain("   ".join(filter(None, (f"{self.outcome}  {self.target}", self.place, self.claim))))

    def lines(self, width: int = WIDTH) -> list[str]:
        """Return the lines of the screen, wrapped to `width` columns."""
        lines = wrapped(self.headline, width, "", "      ")
        for row in self.rows:
            lines += _row_lines(row, width)
        for remark in self.remarks:
            lines += wrapped(remark, width, "  ", "    ")
        for title, text in self.notes:
            lines += _note_lines(title, text, width)
        return lines


def screen(findings: Sequence[Finding], place: str = "", *, more: str = "", every: bool = False) -> Screen:
    """Return the screen for the findings of one target.

    Args:
        findings: the findings of one target, at least one.
        place: the target's file and line.
        more: how to see more than the screen; by default, options of the command line.
        every: whether one attack that ran and could not decide makes a pass undecided.
    """
    ended = outcome(findings, every=every)
    shown = shown_text(findings)
    claimed = next((one for one in findings if not one.samples or one.samples.answers == 1), findings[0])
    claim = f"claims {claim_text(claimed)}{f', shown: {shown}' if shown else ''}"
    if ended is Outcome.PROVED:
        claim += f", for {findings[0].scope if len(findings) == 1 else f'these {len(findings)} pairs'}"
    flaws = _flaws(findings)
    rows = tuple(map(_row, flaws[:MOST_ROWS]))
    remarks = tuple(_remarks(findings, ended, len(flaws)))
    notes = tuple((title, text) for title, text in _notes(findings, ended, rows, more) if text)
    return Screen(ended, findings[0].target, place, claim, rows, remarks, notes)


def outcome(findings: Sequence[Finding], *, every: bool = False) -> Outcome:
    """Return the outcome of some findings. A refuted claim outweighs an error, and an error outweighs all else."""
    verdicts = {finding.verdict for finding in findings} - {Verdict.NOT_APPLICABLE}
    open_proof = any(finding.is_proof and finding.verdict is Verdict.INCONCLUSIVE for finding in findings)
    undecided = every and all(
        one.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE) for one in decisive(findings)
    )
    rules = (
        (any(finding.refutes for finding in findings), Outcome.FAIL),
        (Verdict.ERROR in verdicts, Outcome.ERROR),
        (open_proof, Outcome.NOT_PROVED),
        (undecided or verdicts <= {Verdict.INCONCLUSIVE}, Outcome.UNDECIDED),
        (verdicts == {Verdict.PROVED}, Outcome.PROVED),
    )
    return next((word for holds, word in rules if holds), Outcome.PASS)


def shown_text(findings: Sequence[Finding]) -> str:
    """Return the bound on ε or δ, or the distance, that breaks the claim, as text; empty if nothing breaks it."""
    strongest = best(findings)
    if strongest is None:
        return ""
    if isinstance(strongest.evidence, Counterexample):
        return strongest.evidence.apart
    judged, delta = strongest.judged, strongest.shown.delta_lower
    if judged.delta and delta:
        return f"δ ≥ {above_text(delta, judged.delta)} at ε = {upper_text(judged.epsilon, 4)}"
    bounds = [one.shown.epsilon_lower or 0.0 for one in findings if one.refutes and not one.judged.delta]
    epsilon = max(bounds, default=0.0)
    if math.isinf(epsilon):
        return "no ε is enough"
    if epsilon > judged.epsilon:
        return f"ε ≥ {above_text(epsilon, judged.epsilon)}"
    return strongest.evidence.loss if isinstance(strongest.evidence, Alignment) else ""


def _flaws(findings: Sequence[Finding]) -> list[Finding]:
    """Return the best of the refuting findings for each flaw, the best of all first."""
    refuting = [finding for finding in findings if finding.refutes]
    groups: dict[str, list[Finding]] = {}
    for finding in refuting:
        groups.setdefault(_title(finding), []).append(finding)
    chosen = [best(group) or group[0] for group in groups.values()]
    strongest = best(chosen)
    return sorted(chosen, key=lambda finding: finding is not strongest)


def _title(finding: Finding) -> str:
    flaw = flaw_of(finding) if finding.refutes else catalogue().get(finding.attack)
    return flaw.title if flaw else finding.attack.replace("_", " ")


def _row(finding: Finding) -> Row:
    flaw = flaw_of(finding)
    sentence = flaw.sentence if flaw else finding.flaw or "Exact laws of outputs break the claim."
    return Row(flaw.code if flaw else "", _title(finding), sentence, _evidence(finding))


def _evidence(finding: Finding) -> str:
    """Return the evidence in a few words: counts, exact laws, a distance or a line; empty if there is none."""
    if finding.samples:
        counts = finding.samples.counts
        return f"{counts.first:,} of {counts.trials:,} : {counts.second:,} of {counts.trials:,}"
    match finding.evidence:
        case Laws():
            return "exact laws"
        case Counterexample(apart=apart):
            return apart
        case Alignment(line=line, loss=loss):
            return f"line {line}: {loss}" if loss else f"line {line}"
    return ""


def _remarks(findings: Sequence[Finding], ended: Outcome, flaws: int) -> Iterator[str]:
    if flaws > MOST_ROWS:
        yield f"and {flaws - MOST_ROWS} more"
    yield from _labelled(findings, ended)
    yield from (finding.reason for finding in findings if isinstance(finding.evidence, Counterexample))
    if any(finding.refutes and finding.is_proof for finding in findings):
        yield f"inputs: {inputs_text(next(finding for finding in findings if finding.refutes))}"
    if ended not in (Outcome.FAIL, Outcome.PASS):
        yield from _reasons(findings, ended)


def _labelled(findings: Sequence[Finding], ended: Outcome) -> Iterator[str]:
    """Yield a line for each verdict that refutes nothing, with the titles of the attacks that gave it."""
    refuted = {_title(finding) for finding in findings if finding.refutes}
    for label, verdict in (
        ("notes", Verdict.NOT_APPLICABLE),
        ("passed", Verdict.NOT_DETECTED),
        ("not decided", Verdict.INCONCLUSIVE),
        ("errors in", Verdict.ERROR),
    ):
        chosen = [one for one in findings if one.verdict is verdict and (one.is_note or label != "notes")]
        titles = [title for title in dict.fromkeys(map(_title, chosen)) if title not in refuted]
        refuted.update(titles)
        if titles and (ended in (Outcome.FAIL, Outcome.PASS) or label in ("notes", "passed")):
            yield f"{label}: {', '.join(titles)}"


def _reasons(findings: Sequence[Finding], ended: Outcome) -> list[str]:
    """Return the first few reasons for the outcome, each once, and how many more there are."""
    if ended is Outcome.UNDECIDED:
        chosen = [finding for finding in findings if finding.verdict is Verdict.INCONCLUSIVE]
        chosen.sort(key=lambda finding: finding.decides_nothing)
    else:
        chosen = decisive(findings)
    first = {finding.reason.partition(SO_DID_EVERY_CALL)[0]: _reason(finding) for finding in reversed(chosen)}
    reasons = list(reversed(first.values()))
    left = len(reasons) - MOST_ROWS // 2
    return reasons[: MOST_ROWS // 2] + ([f"and {left} more"] if left > 0 else [])


def _reason(finding: Finding) -> str:
    inputs = inputs_text(finding) if finding.is_proof else ""
    on = f" (inputs {inputs})" if 0 < len(inputs) <= LONGEST_INPUTS else ""
    return f"{finding.reason}{on}"


def _notes(findings: Sequence[Finding], ended: Outcome, rows: Sequence[Row], more: str) -> Iterator[tuple[str, str]]:
    strongest = best(findings)
    if strongest is not None:
        code = strongest.repair_code
        yield "Fix", f"exactdp.{code}" if code else repair_text(strongest)
        yield "Certainty", _certainty(strongest, findings)
        yield "Run again", strongest.replay or "not exactly: your function makes its own random numbers"
    elif ended is Outcome.PASS:
        yield from _passed(findings)
    elif ended in (Outcome.UNDECIDED, Outcome.ERROR):
        yield "Next", _advice(findings, ended)
    more = more or f"-v, {'--json findings.json' if findings[0].is_proof else '--html report.html'}"
    explained = [f"attacklab list {row.code}" for row in rows[:1] if row.code]
    poc = ["attacklab poc"] if strongest is not None and strongest.samples else []
    yield "More", ", ".join([more, *explained, *poc])


def _passed(findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield the notes on a pass: what was tried, the power, and how to prove the claim."""
    if isinstance(findings[0].claim, Stability):
        yield "Tried", findings[0].reason
        return
    leak = max((one.samples.smallest_detectable or 0.0 for one in findings if one.samples), default=0.0)
    power = f"an advantage above {upper_text(leak)} would have been found {POWER:.0%} of the time" if leak else ""
    yield "Power", f"{power}; {_spent(findings)}" if power else _spent(findings)
    yield "Prove it", "attacklab prove (docs/how_to/proving.md)"


def _certainty(strongest: Finding, findings: Sequence[Finding]) -> str:
    if isinstance(strongest.evidence, Laws | Certificate | Counterexample):
        return "exact; chance has no part in it"
    alpha = float(f"{math.fsum(one.alpha or 0.0 for one in findings):.12g}")  # shares are rounded to doubles
    if strongest.samples is None or not alpha:
        return f"both inputs were run with the same noise; {_spent(findings)}"
    return f"at most one false alarm in {float(lower_text(1 / alpha, 1)):,.0f} audits; {_spent(findings)}"


def _spent(findings: Sequence[Finding]) -> str:
    outputs, seconds = (sum(getattr(finding, name) for finding in findings) for name in ("trials", "seconds"))
    return f"{outputs:,} outputs, {seconds:.2g} s" if seconds < 10 else f"{outputs:,} outputs, {seconds:,.0f} s"


def _advice(findings: Sequence[Finding], ended: Outcome) -> str:
    """Return what to do after an error, or if nothing was decided; empty if there is no advice."""
    if ended is Outcome.ERROR:
        raised = any(" raised " in finding.reason for finding in findings)
        return "declare the inputs that it takes (--domain, or domain= of the Target), or mend it" if raised else ""
    tried = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    if not tried:
        return "no attack applies: leave --attack out, or declare --domain or --pairs"
    if all(finding.is_untestable for finding in tried):
        return "sampling cannot test this claim; prove it: attacklab prove"
    needed = max((one.samples.trials_needed or 0 for one in findings if one.samples), default=0)
    return f"raise --trials{f' to {needed:,} or more' if needed else ''}"


def wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    """Wrap a paragraph to lines of `width`; `first` precedes the first line, and `later` each later one."""
    kept = re.sub(r" ([=≥]) ", "\u00a0\\1\u00a0", plain(text))  # an equation stands in one line
    return _folded(re.sub(r"(?<=\d) (?=s\b)", "\u00a0", kept), width, first, later)  # and so do seconds


def _folded(text: str, width: int, first: str, later: str) -> list[str]:
    wrapper = textwrap.TextWrapper(width, first, later, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in wrapper.wrap(text)]


def _row_lines(row: Row, width: int) -> list[str]:
    head = f"  {row.code:4} {plain(row.title):14} "
    lines = wrapped(row.sentence, width, head, " " * len(head))
    if len(lines[-1]) + 2 + len(row.evidence) > width:
        lines.append("")
    if row.evidence:
        lines[-1] += plain(row.evidence).rjust(width - len(lines[-1]))
    return lines


def _note_lines(title: str, text: str, width: int) -> list[str]:
    head, indent = f"{title:11}", " " * 11
    if title != "Run again" or not text.startswith(("attacklab ", "pytest ")):
        return wrapped(text, width, head, indent)
    try:  # a command over several lines, as a shell reads them
        words = [shlex.quote(word) for word in shlex.split(text)]
    except ValueError:
        words = text.split()
    lines = _folded(" ".join(plain(word).replace(" ", "\u00a0") for word in words), width - 2, head, indent)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
