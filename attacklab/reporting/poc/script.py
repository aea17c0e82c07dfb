"""The script of a finding: what is claimed, the pair, the event, the call, the draws and an honest test.

The test bounds the two probabilities of the event by Chernoff's inequality in the form with the relative entropy
(Hoeffding 1963, theorem 1), which holds for any number of trials, and compares the bounds with what the claim allows.
It judges fresh outputs in the one direction in which the finding broke the claim, so its confidence is its own.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from attacklab.auditing.flaws import flaw_of
from attacklab.model.errors import UsageError
from attacklab.model.findings import EventCode, Finding, Severity, recovered_pair
from attacklab.model.plain_text import escaped
from attacklab.model.releases import gathered
from attacklab.model.source_bundle import source_bundle
from attacklab.reporting.poc.calls import Call
from attacklab.reporting.poc.choice import ALPHA, Direction, bound, direction_and_trials
from attacklab.reporting.wording import claim_text

WIDTH = 100

MODULES = {
    **{name: name for name in ("copy", "dataclasses", "decimal", "fractions", "functools", "inspect", "json", "math")},
    **{name: name for name in ("os", "pathlib", "random", "shlex", "subprocess", "sys")},
    "importlib": "importlib.util",
    "np": "numpy as np",
}
"""The names by which the parts of a script call modules, and what they import for them."""


def proof_of_concept(finding: Finding, call: Call) -> str:
    """A Python script that draws outputs for both inputs and says whether the event still breaks the claim.

    It exits with status 1 if so, with 0 if these outputs do not show it, and with 2 if the target cannot be called.

    Args:
        finding: of a refuted claim; it has its event as Python source.
        call: how its target is called.

    Raises:
        UsageError: the finding does not hold what it takes.
    """
    if finding.code is None or finding.pair is None:
        raise UsageError(f"the finding of {finding.attack} holds no event or no pair that could be shown")
    direction, trials = direction_and_trials(finding)
    pair = recovered_pair(finding.pair)
    sides = (pair.first, pair.second) if direction.of_first else (pair.second, pair.first)
    return _assembled(
        _introduction(finding, call),
        [
            _claim(finding),
            _input("INPUT", sides[0], "The input on which E is too likely"),
            _input("OTHER", sides[1], "Its neighbour"),
            _settings(finding, trials),
            _title("E, the set of outputs"),
            FAILURE,
            _event(finding.code, direction),
            _title("How the code under test is called"),
            call.source(),
            _title("Draws, counts and the test"),
            *([source_bundle(gathered, "gathered"), AS_ARRAY] if finding.code.of_many else []),
            DRAWS.format(
                rows=_rows(finding), array="as_array(outputs, count, alone)" if finding.code.of_many else "outputs"
            ),
            source_bundle(bound, "bound"),
            TEST,
        ],
    )


def _introduction(finding: Finding, call: Call) -> str:
    flaw = flaw_of(finding)
    relation = f", for datasets that are neighbours by {finding.relation}" if finding.relation else ""
    paragraphs = [
        f"Proof of concept: {call.words} does not keep its claim of {claim_text(finding)}{relation}.",
        f"What is wrong: {finding.flaw or 'outputs tell neighbouring inputs apart'}. "
        + (f"The usual repair: {flaw.repair}." if flaw else ""),
        "The claim says that for any two neighbouring inputs and any set E of outputs",
        "    P[output for INPUT in E] <= e^EPSILON * P[output for OTHER in E] + DELTA.",
        "Below are two neighbouring inputs and a set E that break this. The script draws fresh outputs for both, "
        "counts those in E, and compares bounds on the two probabilities, which are both right with a confidence of "
        f"1 - {ALPHA:g}. It needs numpy and the code under test, nothing else.",
        f"What was found: {finding.reason}.",
        "Run it with Python 3.10 or later. It exits with status 1 if the claim is still broken, with 0 if these "
        "outputs do not show that it is, and with 2 if the code under test could not be called.",
    ]
    if finding.severity is Severity.ROBUSTNESS:
        paragraphs.append(
            "Only one of the inputs holds NaN or an infinity, which is beyond what the claim is for: take this for a "
            "note on robustness."
        )
    texts = (text if text.startswith(" ") else textwrap.fill(text, WIDTH) for text in paragraphs)
    body = "\n\n".join(texts).replace("\\", "\\\\").replace('"', "'")
    return f'"""{body}\n"""'


def _claim(finding: Finding) -> str:
    judged = finding.judged
    implied = "" if finding.judged_at is None else f"  # implied by {finding.claim}"
    return f"EPSILON = {judged.epsilon!r}{implied}\nDELTA = {judged.delta!r}"


def _input(name: str, value: Any, label: str) -> str:
    shown = np.array2string(value, threshold=8, separator=", ") if isinstance(value, np.ndarray) else repr(value)
    text = textwrap.shorten(" ".join(shown.split()), 90, placeholder=" …")
    return source_bundle(value, name).replace(f"{name} = ", f"# {label}: {text}\n{name} = ", 1)


def _settings(finding: Finding, trials: int) -> str:
    together = f"\nANSWERS = {finding.answers}  # outputs of an input that are seen together in a trial"
    code = finding.code
    return (
        f"TRIALS = {trials}  # of each input\nSEED = 1\n"
        f"ONE_BY_ONE = {code is not None and code.one_by_one}  # a call for each output, in which it may raise"
        + (together if finding.answers > 1 else "")
    )


def _title(text: str) -> str:
    rule = "# " + "-" * (WIDTH - 2)
    return f"{rule}\n# {text}\n{rule}"


def _event(code: EventCode, direction: Direction) -> str:
    source = code.source.strip("\n")
    if not code.of_many:
        words = "; `event` must not hold of it" if direction.complement else ""
        condition = "not event(output)" if direction.complement else "event(output)"
        body = f'    """Which of these outputs lie in E{words}."""\n    return [{condition} for output in outputs]'
        return f"{source}\n\n\ndef events(outputs):\n{body}"
    if direction.complement:
        body = '    """The opposite: which of these outputs lie in E."""\n    return ~lie_outside(outputs)'
        source += f"\n\n\nlie_outside = events\n\n\ndef events(outputs):\n{body}"
    return f"{LONG}\n\n\n{source}"


def _rows(finding: Finding) -> str:
    """The lines that draw the outputs of some trials."""
    times = " * ANSWERS" if finding.answers > 1 else ""
    lines = [
        "trials = min(TRIALS_A_CALL, TRIALS - done)",
        f"outputs = drawn(release, value, trials{times}, rng, alone)",
    ]
    if finding.answers > 1 and finding.code is not None and finding.code.of_many:
        lines.append("outputs = outputs.reshape(trials, ANSWERS, *outputs.shape[1:])")
    elif finding.answers > 1:
        lines.append("outputs = [outputs[place : place + ANSWERS] for place in range(0, len(outputs), ANSWERS)]")
    return "".join(f"        {line}\n" for line in lines)


def _assembled(introduction: str, parts: Sequence[str]) -> str:
    """One module: the imports of all parts come first, and those of the modules that they name."""
    imports, bodies, used = set(), [], set()
    for part in parts:
        tree = ast.parse(part)
        lines = part.split("\n")
        for node in reversed(tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports.add(ast.unparse(node))
                first, end = node.lineno - 1, node.end_lineno or node.lineno
                while end < len(lines) and not lines[end]:
                    end += 1
                del lines[first:end]
        used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        bodies.append("\n".join(lines).strip("\n"))
    imports |= {f"import {module}" for name, module in MODULES.items() if name in used}
    ordered = sorted(imports, key=lambda line: (_is_third(line), line.startswith("from"), line))
    standard, third = ([line for line in ordered if _is_third(line) is is_third] for is_third in (False, True))
    heads = ["\n".join(group) for group in (standard, third) if group]
    constants, definitions = bodies[:SETTINGS], [body for body in bodies[SETTINGS:] if body]
    top = "\n\n".join([introduction, *heads, *constants])
    return escaped("\n\n\n".join([top, *definitions]) + "\n", "\n\t", ascii)


SETTINGS = 4
"""So many parts come first, which are constants."""

LONG = """
# It takes many lines to decide what lies in E. `events`, where this part ends, takes the outputs of a call and
# says of each whether it does; all above it is what that needs.
""".strip()


def _is_third(statement: str) -> bool:
    return statement.split()[1].partition(".")[0] in ("numpy", "scipy")


FAILURE = '''@dataclasses.dataclass(frozen=True)
class Failure:
    """Stands for the output of a call that raised an exception."""

    kind: str
    message: str

    def __float__(self):
        return math.nan'''

AS_ARRAY = '''def as_array(outputs, count, alone):
    """Outputs as one array: of numbers, or of rows of numbers, if that is what they are; else of objects."""
    if alone:
        return np.fromiter(outputs, dtype=object, count=count)
    array = gathered(outputs, count)
    try:
        numbers = np.array(array.tolist()) if array.dtype == object else array
    except ValueError:  # of different lengths
        return array
    return numbers if numbers.dtype.kind in "biuf" else array'''

DRAWS = '''TRIALS_A_CALL = 256


def drawn(release, value, count, rng, alone):
    """So many outputs for an input, in one call or, if `alone`, in as many calls, of which some may fail."""
    if not alone:
        outputs = release(copy.deepcopy(value), count, rng)
        if not hasattr(outputs, "dtype"):
            outputs = list(outputs)
    else:
        outputs = []
        for _ in range(count):
            try:
                outputs.append(list(release(copy.deepcopy(value), 1, rng))[0])
            except Exception as error:
                outputs.append(Failure(type(error).__name__, str(error)))
        FAILED.extend(output.kind for output in outputs if isinstance(output, Failure))
    if len(outputs) != count:
        raise ValueError(f"{{len(outputs)}} outputs came where {{count}} were asked for")
    return {array}


FAILED = []  # the types of all exceptions of single calls


def hits(release, value, rng, alone):
    """In how many of TRIALS trials the output lies in E."""
    found = done = 0
    while done < TRIALS:
{rows}        with np.errstate(all="ignore"):
            found += int(sum(map(bool, events(outputs))))
        done += trials
    return found'''

TEST = '''NOT_CALLED = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "TypeError")


def cannot(reason):
    """Say that nothing could be tested."""
    print(f"the code under test could not be called: {reason}", file=sys.stderr)
    return 2


def main():
    """Draw, count, judge; return the exit status."""
    rng = np.random.default_rng(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
    try:
        release = load()
    except (Exception, SystemExit) as error:
        return cannot(f"{type(error).__name__}: {str(error)!a}")
    try:
        counts = [hits(release, value, rng, ONE_BY_ONE) for value in (INPUT, OTHER)]
    except Exception as error:  # it failed for some output of a call: each is drawn in a call of its own then
        print(f"{type(error).__name__}: {str(error)!a}; drawing outputs one by one", file=sys.stderr)
        counts = [hits(release, value, rng, True) for value in (INPUT, OTHER)]
    if len(FAILED) >= 2 * TRIALS and set(FAILED) <= set(NOT_CALLED):
        return cannot(f"every call raised {FAILED[0]}")
    low, high = bound(counts[0], TRIALS, above=False), bound(counts[1], TRIALS, above=True)
    allowed = min(1.0, math.exp(min(EPSILON, 700.0)) * high + DELTA)
    print(f"INPUT: {counts[0]} of {TRIALS} outputs in E, so its probability is at least {low:.6g}")
    print(f"OTHER: {counts[1]} of {TRIALS} outputs in E, so its probability is at most {high:.6g}")
    print(f"The claim (epsilon = {EPSILON}, delta = {DELTA}) then allows at most {allowed:.6g} for INPUT.")
    leaks = low > allowed
    print("BROKEN: the claim does not hold." if leaks else "These outputs do not show that the claim is broken.")
    return int(leaks)


if __name__ == "__main__":
    sys.exit(main())'''
