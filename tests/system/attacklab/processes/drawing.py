"""Programs under proof, each sound or false in one way; run as `python drawing.py NAME` in a process of its own."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def ask(request: str) -> int:
    say(request)
    sys.stdout.flush()
    return int(sys.stdin.readline())


def inputs() -> Iterator[Any]:
    for line in sys.stdin:
        request = json.loads(line)
        assert list(request)[:3] == ["prove", "kind", "input"]
        assert request["prove"] == 1
        input_ = request["input"]
        yield float.fromhex(input_) if isinstance(input_, str) else input_
        sys.stdout.flush()


def each(answer: Callable[[Any], str]) -> None:
    for input_ in inputs():
        say(f"output {answer(input_)}")


def lied(input_: float) -> int:
    return int(input_) ^ ask("coin 1 4")


def sound() -> None:
    each(lambda input_: str(lied(input_)))


def wide() -> None:
    """Draws so much that neither side's lines fit into a pipe."""
    each(lambda _: str(sum(ask("take 16") for _ in range(30_000))))


def echo() -> None:
    for line in sys.stdin:
        input_ = json.loads(line)["input"]
        say("output " + " ".join(map(str, input_ if isinstance(input_, list) else [input_])))
        sys.stdout.flush()


def looks_at_its_process() -> None:
    each(lambda _: str(ask(f"coin 1 {os.getpid()}")))


def draws_elsewhere() -> None:
    each(lambda _: str(ask("below 50") + random.getrandbits(40)))


def depends_on_hashes() -> None:
    each(lambda input_: str(lied(input_) ^ (hash("a word") >> 8)))


def starts_otherwise() -> None:
    runs = iter(inputs())
    first = next(runs)
    say(f"output {2 + lied(first)}")
    sys.stdout.flush()
    for input_ in runs:
        say(f"output {lied(input_)}")


def keeps_the_previous_input() -> None:
    previous = 0.0
    for input_ in inputs():
        say(f"output {lied(previous)}")
        previous = input_


def rubbish() -> None:
    for _ in inputs():
        sys.stdout.buffer.write(b"\xff\xfe\x00\n")
        sys.stdout.buffer.flush()


def says_too_much() -> None:
    each(lambda input_: f"{lied(input_)}\noutput 1")


def dies() -> None:
    def answer(input_: float) -> str:
        if lied(input_):
            sys.exit("the pool of entropy is empty")
        return "0"

    each(answer)


def closes_its_output() -> None:
    for _ in inputs():
        os.close(1)
        time.sleep(60)


def answers_once() -> None:
    say(f"output {lied(next(inputs()))}")


def hangs() -> None:
    def answer(input_: float) -> str:
        if lied(input_):
            time.sleep(60)
        return "0"

    each(answer)


def computes_for_ever() -> None:
    def answer(input_: float) -> str:
        while lied(input_):
            while True:
                pass
        return "0"

    each(answer)


def leaves_a_child() -> None:
    subprocess.Popen(["/bin/sleep", "60"])
    rubbish()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
