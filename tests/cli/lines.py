"""Command lines, each with its status and the line that it begins or ends with, in lines.txt.

`python -m tests.cli.lines` runs those that stand there, and writes the file anew.
"""

import json
import re
import shlex
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from attacklab.model.findings import record, to_text
from tests import samplers
from tests.cli import forked
from tests.reporting.golden_files import LOW_BITS
from tests.running import ROOT

GOLDEN = Path(__file__).with_name("lines.txt")

TARGETS = '''
import math
import os
import numpy as np
from attacklab import NeighbouringPair, Target

def leaking(answer, trials, rng):
    """Laplace noise of a textbook."""
    return answer + rng.laplace(0.0, 1.0, trials)

def sound(answer, trials, rng):
    stay = 1 - math.exp(-2.0 ** -10)
    steps = rng.geometric(stay, trials) - rng.geometric(stay, trials)
    return (round(min(max(answer, -2.0 ** 40), 2.0 ** 40) * 2 ** 10) + steps) / 2 ** 10

def forgets(answer, trials, rng):
    return [None] * trials

def few(answer, trials, rng):
    return np.zeros(trials - 1)

def crashing(answer, trials, rng):
    os.abort()

def selected(utilities, trials, rng):
    return np.full(trials, len(utilities))

def unclipped(records, trials, rng):
    return np.mean(records) + rng.laplace(0.0, 1 / len(records), trials)

def drawn(utilities, trials, rng):
    return rng.integers(0, len(utilities), trials)

def apart(epsilon: float = 1.0):
    NeighbouringPair.answers(0.0, 1.5, sensitivity=1.0)

def described(**rest):
    return {"kind": "noise", "release": sound, "epsilon": 1.0, **rest}

def concentrated(rho: float = 0.5):
    return {"kind": "noise", "release": leaking, "claim": {"kind": "zcdp", "rho": rho}, "noise_scale": 1.0}

def ordered(rdp=((2.0, 1.0),)):
    orders, bounds = zip(*rdp)
    return {"kind": "noise", "release": leaking, "claim": {"kind": "rdp", "alpha": orders, "epsilon": bounds}}

def tabled():
    curve = [(0.0, 0.1), (0.1, 2.0**-40)]
    return {"kind": "noise", "release": leaking, "claim": {"kind": "profile", "name": "0x1 table", "curve": curve}}

def misclaimed():
    return {"kind": "noise", "release": sound, "claim": {"kind": "zdp", "rho": 1.0}}

def unclaimed():
    return {"kind": "noise", "release": sound, "claim": 7}

def twice():
    return {"epsilon": 1.0, **concentrated()}

def worded():
    return described(sensitivity="wide")

def numbered():
    return {**described(), 3: 4}

def renamed():
    return described(name="a name of its own")

target = Target.noise(sound, epsilon=1.0)
vast = Target.noise(sound, epsilon=2.0**21).exact(lambda answer, bits: bits.take(1))
counted = Target.stage(lambda records: 2 * len(records), stability=1, name="counted")

def clipped_sum(records):
    return float(sum(min(max(record, 0.0), 1.0) for record in records))

def spread(records):
    mean = sum(records) / max(1, len(records))
    return float(sum((record - mean) ** 2 for record in records))

def histogram(records):
    return {record: 2 * records.count(record) for record in records}

def raising(answer, trials, rng):
    return [1 / 0 if answer and rng.random() < 0.9 else 1.0 for _ in range(trials)]

def of_budget(epsilon: float):
    return Target.noise(sound, epsilon=epsilon)
'''

SAMPLERS = f"""
import os
from attacklab import NeighbouringPair, Target
{samplers.SOURCE}
def release(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

def exact(sampler):
    return Target.noise(release, epsilon=1.0).exact(sampler)

blind = exact(lambda answer, bits: bits.take(2))
telling = exact(lambda answer, bits: answer)
forking = exact(lambda answer, bits: bits.take(1) + os.fork())

def asked(rho: float):
    raise RuntimeError(f"asked for {{rho!r}}")

def _raising(answer, bits):
    raise RuntimeError("disk\\non fire")

def _chattering(answer, bits):
    print("secret", answer)
    return int(bits.take(1))

raising, chattering = exact(_raising), exact(_chattering)

def to_four(answer, bits):
    return parity(answer, bits) if answer < 4 else 2

def size(records, bits):
    return parity(len(records), bits)

def best(utilities, bits):
    return parity(sum(utilities), bits)

def looping(answer, bits):
    while True:
        try:
            pass
        except Exception:
            pass

def too_many(answer, scale, bits):
    return 0

def bits_first(bits, answer):
    return 0

RESPONSES = [response]

two = [NeighbouringPair.answers(n, n + 1, sensitivity=1.0) for n in (0.0, 1.0)]
paired = Target.noise(release, epsilon=0.7, pairs=two).exact(lambda answer, bits: to_four(answer + 2, bits))

certified = Target.noise(release, epsilon=1.0, name="odd name/1").certified(lambda: {{
    "schema": "exact-term/1",
    "name": "odd name/1",
    "term": {{"is": "Noisy", "query": {{"is": "Answer", "sensitivity": {{"rational": "1"}}}}}},
    "relation": "answers",
    "claim": {{"is": "ApproximateDP", "epsilon": {{"rational": "1"}}, "delta": {{"rational": "0"}}}},
    "tables": [],
}})
"""

ODD = """
import os, sys
os.write(1, b"\\xff{}")
sys.stdout.close()
sys.argv.clear()
os.environ.clear()
from t import *
"""

TABLE = "[tool.attacklab]"
LISTED = "[[tool.attacklab.targets]]\ntarget = '../t.py:sound'\nkind = 'noise'\nepsilon = 1.0\n"
LEAKING = LISTED.replace("sound", "leaking")

KNOWN = replace(LOW_BITS, spec="../t.py:leaking --kind noise --epsilon 1.0")

ACCEPTS = 'print("ACCEPTED  odd_name_1: 1-DP for all answers\\n   checked 12 cells of tables; readings grid")'

FILES = {
    "t.py": TARGETS,
    "s.py": SAMPLERS,
    "proving/checker/check.py": ACCEPTS,
    "refusing/checker/check.py": "import sys; print('REFUSED   odd_name_1: a cell is missing'); sys.exit(1)",
    "steers.py": "raise ValueError('\\x1b[2J\\n::error::hacked')",
    "odd.py": ODD,
    "notes.txt": "mine\n",
    "mine.json": '{"mine": 1}\n',
    "record.json": '{"schema": "attacklab/2", "findings": []}\n',
    "pairs.json": '[{"first": 0, "second": 1}, {"first": 1, "second": 0}]\n',
    "nowhere.json": '[{"first": 0, "second": 1, "relation": null}]\n',
    "lab/pyproject.toml": '[tool.attacklab]\nexperiments = "experiments"\n',
    "lab/experiments/odd.py/inside.txt": "mine\n",
    "listed/pyproject.toml": f"{TABLE}\nalpha = 1e-6\n{LISTED}",
    "misspelt/pyproject.toml": f"{TABLE}\nalpah = 1\n",
    "mistyped/pyproject.toml": f"{TABLE}\nalpha = 'small'\n",
    "nameless/pyproject.toml": f"{TABLE}\ntargets = [{{kind = 'noise'}}]\n",
    "optionless/pyproject.toml": f"{LISTED}json = 'out'\n",
    "unparsed/pyproject.toml": f"{LISTED}delta = 'x'\n",
    "unflawed/pyproject.toml": f"{TABLE}\nignore = ['AL99']\n",
    "unrecorded/pyproject.toml": f"{TABLE}\nbaseline = 'no.json'\n{LISTED}",
    "ignoring/pyproject.toml": f"{TABLE}\nignore = ['AL04']\n{LEAKING}",
    "recorded/pyproject.toml": f"{TABLE}\nbaseline = 'known.json'\n{LEAKING}",
    "elsewhere/pyproject.toml": f"{TABLE}\nbaseline = '../recorded/known.json'\n{LEAKING}delta = 1e-9\n",
    "recorded/known.json": to_text(record([KNOWN])),
    "environments/opendp-0.16.0.txt": "",
    "environments/read-me.txt": "",
}
"""What lies in the folder in which the lines run; none of them may change it."""


def write_files(folder: Path) -> None:
    """Write the files."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "loop.json").symlink_to("loop.json")
    answers = '#!/bin/sh\nwhile read -r request; do echo \'{"error": "out of paper"}\'; done\n'
    (folder / "answers").write_text(answers, "utf-8")
    (folder / "answers").chmod(0o755)


def blocks() -> list[list[str]]:
    """The lines of the golden file, each with what stands below it."""
    return [block.splitlines() for block in GOLDEN.read_text("utf-8").strip().split("\n\n")]


def ended(line: str, folder: Path) -> str:
    """The status of a line, and the first line of its output, or the last of its error output where it has none."""
    in_folder, _, words = line.partition("$ ")
    options = [] if re.match("(audit|prove) ", words) is None or "--json" in words else ["-q"]
    words = words.replace("PYTHON", sys.executable).replace("CLONE", str(ROOT))
    done = forked.run(folder / in_folder, *shlex.split(words), *options, env={"COLUMNS": "400"})
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    assert not re.search("Traceback|/attacklab/.*Warning: ", out + err), err
    assert not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", out + err), err
    shown = out.splitlines()[:1] or err.splitlines()[-1:]
    if "--json -" in words and out:
        shown = [" ".join(dict.fromkeys(finding["verdict"] for finding in json.loads(out)["findings"]))]
    text = f"{done.returncode} {shown[0]}".replace(str(folder), "FOLDER").replace(sys.prefix, "PREFIX")
    return re.sub("(?<=choose from no_noise, ).*", "…", text)


def main() -> None:
    """Write the golden file anew."""
    written = []
    for line, *_ in blocks():
        with tempfile.TemporaryDirectory() as name:
            write_files(Path(name).resolve())
            written.append(f"{line}\n{ended(line, Path(name).resolve())}\n")
    GOLDEN.write_text("\n".join(written), "utf-8")


if __name__ == "__main__":
    main()
