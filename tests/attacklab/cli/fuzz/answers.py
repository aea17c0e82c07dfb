"""Programs that answer over the line protocol as no program should."""

# ruff: noqa: E501 - programs and values, one a line

from __future__ import annotations

from random import Random

from tests.attacklab.cli.fuzz.cases import ANY, FAILED, NEVER_REFUTED, Case

PROGRAM = """
import json, os, random, signal, subprocess, sys, time

out = sys.stdout.buffer

def right(request, drawn):
    noise = [(drawn.random() < 0.5) - (drawn.random() < 0.5) for _ in range(request["trials"])]
    return [request["input"] + one for one in noise] if isinstance(request["input"], int) else noise

def text(outputs):
    return json.dumps({"outputs": outputs}).encode() + b"\\n"

for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    n = request["trials"]
    drawn = random.Random(request["seed"])
    outputs = right(request, drawn)
    answer = text(outputs)
    BODY
    out.write(answer)
    out.flush()
"""

GARBAGE = {
    "nothing but a newline": "answer = b'\\n'",
    "white space": "answer = b'   \\n'",
    "no JSON": "answer = b'hello\\n'",
    "bytes": "answer = bytes(range(256)) + b'\\n'",
    "UTF-8 that is none": "answer = b'{\"outputs\": [\"\\xff\\xfe\"]}\\n'",
    "a byte order mark": "answer = b'\\xef\\xbb\\xbf' + answer",
    "UTF-16": "answer = answer.decode().encode('utf-16')",
    "a list": "answer = b'[1, 2]\\n'",
    "a number": "answer = b'3\\n'",
    "null": "answer = b'null\\n'",
    "an empty object": "answer = b'{}\\n'",
    "another word": "answer = b'{\"output\": [1]}\\n'",
    "too few": "answer = text(outputs[1:])",
    "too many": "answer = text(outputs + [1])",
    "none": "answer = text([])",
    "truncated JSON": "answer = answer[:len(answer) // 2] + b'\\n'",
    "NaN": "answer = text([float('nan')] * n)",
    "Infinity": "answer = text([float('inf')] * n)",
    "decimal numbers": "answer = text([0.5] * n)",
    "numbers too large": "answer = b'{\"outputs\": [' + b','.join([b'1e999'] * n) + b']}\\n'",
    "many digits": "answer = b'{\"outputs\": [' + b','.join([b'9' * 6000] * n) + b']}\\n'",
    "deep lists": "answer = b'{\"outputs\": ' + b'[' * 200_000 + b']' * 200_000 + b'}\\n'",
    "deep objects": "answer = b'{\"values\":[' + b'{\"a\":' * 100_000 + b'1' + b'}' * 100_000 + b']}\\n'",
    "deep values": "answer = b'{\"values\": [' + b','.join([b'[' * 4_000 + b']' * 4_000] * n) + b']}\\n'",
    "deep tuples": "answer = b'{\"values\": [' + b','.join([b'{\"tuple\":[' * 400 + b']}' * 400] * n) + b']}\\n'",
    "objects": "answer = text([{}] * n)",
    "texts": "answer = text(['x'] * n)",
    "wide floats": "answer = text(['0x1.00000000000001p+0'] * n)",
    "floats out of range": "answer = text(['0x1p+9999'] * n)",
    "decimal texts": "answer = text(['0.5'] * n)",
    "digits of another script": "answer = text(['\\u0663'] * n)",
    "a mix of types": "answer = text([1, '0x1p+0'] * (n // 2) + ([1] if n % 2 else []))",
    "an answer and more": "answer = answer + b'x'",
    "an answer twice": "answer = answer * 2",
    "an answer before the request": "answer = answer + answer[:3]",
    "a greeting": "answer = b'ready\\n' + answer",
    "two forms": "answer = b'{\"outputs\": [1], \"binary\": \"f8\", \"count\": 1}\\n'",
    "an unknown type": "answer = b'{\"binary\": \"f3\", \"count\": %d}\\n' % n",
    "a count that is none": "answer = b'{\"binary\": \"f8\", \"count\": \"%d\"}\\n' % n",
    "a count of truth": "answer = b'{\"binary\": \"f8\", \"count\": true}\\n'",
    "a huge count": "answer = b'{\"binary\": \"f8\", \"count\": 1000000000000000000}\\n'",
    "a negative count": "answer = b'{\"binary\": \"f8\", \"count\": -1}\\n'",
    "a negative shape": "answer = b'{\"binary\": \"f8\", \"count\": %d, \"shape\": [-1]}\\n' % n",
    "a type that is a list": "answer = b'{\"binary\": [], \"count\": %d}\\n' % n",
    "a failure without a word": "answer = b'{\"error\": \"x\", \"failure\": \"x\"}\\n'",
    "a failure that is a list": "answer = b'{\"error\": \"x\", \"failure\": []}\\n'",
    "an error that is none": "answer = b'{\"error\": null}\\n'",
    "an error": "answer = b'{\"error\": \"\\\\u001b[31mno\\\\n::error::gone\"}\\n'",
    "a crash": "answer = b'{\"error\": \"x\", \"failure\": \"crash\"}\\n'",
    "values of no kind": "answer = json.dumps({'values': [{'x': 1}] * n}).encode() + b'\\n'",
    "values of two kinds": "answer = json.dumps({'values': [{'text': 'x', 'set': []}] * n}).encode() + b'\\n'",
    "bytes of odd length": "answer = json.dumps({'values': [{'bytes': '0'}] * n}).encode() + b'\\n'",
    "a fraction by zero": "answer = json.dumps({'values': [{'fraction': [1, 0]}] * n}).encode() + b'\\n'",
    "a complex text": "answer = json.dumps({'values': [{'complex': 'x'}] * n}).encode() + b'\\n'",
    "a decimal text": "answer = json.dumps({'values': [{'decimal': 'x'}] * n}).encode() + b'\\n'",
    "a dict of lists": "answer = json.dumps({'values': [{'dict': [[[1], 2]]}] * n}).encode() + b'\\n'",
    "a dict of threes": "answer = json.dumps({'values': [{'dict': [[1, 2, 3]]}] * n}).encode() + b'\\n'",
    "a set of lists": "answer = json.dumps({'values': [{'set': [[1]]}] * n}).encode() + b'\\n'",
    "an array of another size": "answer = json.dumps({'values': [{'array': 'f8', 'shape': [3], 'values': []}] * n}).encode() + b'\\n'",
    "an array of no type": "answer = json.dumps({'values': [{'array': 'M8[Y', 'shape': [], 'values': [1]}] * n}).encode() + b'\\n'",
    "a huge array": "answer = json.dumps({'values': [{'array': 'U999999', 'shape': [99999999], 'values': []}] * n}).encode() + b'\\n'",
    "an exit": "sys.exit(3)",
    "an exit with 0": "sys.exit(0)",
    "an exit within an answer": "out.write(answer[:5]); out.flush(); os._exit(1)",
    "an exit within a frame": "out.write(b'{\"binary\": \"f8\", \"count\": %d}\\n12345' % n); out.flush(); os._exit(0)",
    "a signal": "os.kill(os.getpid(), signal.SIGSEGV)",
    "the end of its group": "os.killpg(0, signal.SIGKILL)",
    "no answer": "time.sleep(60)",
    "no end of computing": "while True: pass",
    "half an answer": "out.write(answer[:5]); out.flush(); time.sleep(60)",
    "no newline": "out.write(answer[:-1]); out.flush(); time.sleep(60)",
    "a closed output": "os.close(1); time.sleep(60)",
    "a child that holds the pipe": "subprocess.Popen(['sleep', '60']); sys.exit(1)",
    "a daemon": "subprocess.Popen(['sleep', '60'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); answer = b'x\\n'",
    "a long last line": "sys.stderr.write('\\x1b[31m' + 'x' * 100_000 + '\\n::error::gone'); sys.exit(1)",
    "an endless line": "while True: out.write(b'x' * 65536)",
    "a stopped process": "os.kill(os.getpid(), signal.SIGSTOP)",
}  # fmt: skip
"""Answers that are none, to any request: always an error."""

ODD = {
    "slowly": "for byte in answer[:40]: out.write(bytes([byte])); out.flush(); time.sleep(0.002)\n    answer = answer[40:]",
    "with much said": "sys.stderr.write('x' * 300_000)",
    "with bytes said": "sys.stderr.buffer.write(b'\\xff\\xfe\\x1b[31m')",
    "with spaces": "answer = b'  ' + answer.replace(b',', b' ,  ')",
    "with a carriage return": "answer = answer[:-1] + b'\\r\\n'",
    "with failures": "answer = text([None if drawn.random() < 0.5 else 0 for _ in range(n)])",
    "with nothing but failures": "answer = text([None] * n)",
    "with truths": "answer = text([drawn.random() < 0.5 for _ in range(n)])",
    "with lists": "answer = text([[one, None] for one in noise])",
    "with ragged lists": "answer = text([[one] * (one + 1) for one in noise])",
    "with texts": "answer = json.dumps({'values': [{'text': str(one)} for one in noise]}).encode() + b'\\n'",
    "with weak texts": "answer = b'{\"values\": [' + b','.join([b'{\"text\": \"\\\\ud800\"}'] * n) + b']}\\n'",
    "with dicts": "answer = json.dumps({'values': [{'dict': [[{'text': 'n'}, one]]} for one in noise]}).encode() + b'\\n'",
    "with large integers": "answer = json.dumps({'values': [10**40 + one for one in noise]}).encode() + b'\\n'",
    "with integers as texts": "answer = text([str(one) for one in noise])",
    "with hex floats": "answer = text([float(one).hex() for one in noise])",
    "with NaN and more": "answer = text(['nan(abc)' if one else '-inf' for one in noise])",
    "with a frame": "import array; answer = b'{\"binary\": \"f8\", \"count\": %d}\\n' % n + array.array('d', noise).tobytes()",
    "with rows": "import array; answer = b'{\"binary\": \"i1\", \"count\": %d, \"shape\": [1, 1]}\\n' % n + array.array('b', noise).tobytes()",
    "with rows of nothing": "answer = b'{\"binary\": \"f8\", \"count\": %d, \"shape\": [0]}\\n' % n",
    "with a field twice": "answer = b'{\"outputs\": 3, ' + text([0] * n)[1:]",
    "with errors at times": "answer = answer if drawn.random() < 0.5 else b'{\"error\": \"no\"}\\n'",
    "with an end after each": "out.write(answer); out.flush(); sys.exit(0)",
}  # fmt: skip
"""Unusual answers whose outputs depend on nothing but noise, if they are understood."""

NOISE = "noise = [int(drawn.random() < 0.5) for _ in range(n)]\n    answer = text(noise)\n    "


def answer_case(random: Random) -> Case:
    """An audit of a program that answers in one of these ways, at first, later, or with some bytes altered."""
    return random.choices((_garbage, _odd, _mutated), weights=(5, 2, 3))[0](random)


def _case(name: str, body: str, random: Random, statuses: tuple[int, ...], *, always: bool) -> Case:
    attacks = random.sample(("precision", "integer_cast", "generator_seed", "repeated_noise"), 2)
    words: tuple[str, ...] = (
        "audit",
        "--exec",
        "python3 -S -E program.py",
        "--kind",
        "noise",
        "--epsilon",
        "1.0",
        "--domain",
        "integers,-50..50",
    )
    words += ("--trials", "200", "--seconds", "1.5", "--seed", str(random.randrange(1_000)), "--json", "-")
    words += tuple(word for attack in attacks for word in ("--attack", attack))
    if not always:
        first, *rest = body.splitlines()
        body = f"if number == {random.randrange(1, 4)}:\n        {first}" + "".join(f"\n    {line}" for line in rest)
    return Case(name=name, words=words, statuses=statuses, files={"program.py": PROGRAM.replace("BODY", body)})


def _garbage(random: Random) -> Case:
    name = random.choice(list(GARBAGE))
    if random.random() < 0.7:
        return _case(name, GARBAGE[name], random, (FAILED,), always=True)
    later = (
        f"noise = [int(drawn.random() < 0.5) for _ in range(n)]; answer = text(noise); outputs = noise; {GARBAGE[name]}"
    )
    if GARBAGE[name].startswith("while"):
        later = GARBAGE[name]
    return _case(f"{name}, once", later, random, ANY, always=False)


def _odd(random: Random) -> Case:
    name = random.choice(list(ODD))
    return _case(name, NOISE + ODD[name], random, NEVER_REFUTED, always=True)


def _mutated(random: Random) -> Case:
    """Bytes of a right answer that are altered, left out, doubled or cut."""
    seed, kind = random.randrange(10**6), random.choice(("alter", "leave out", "double", "cut", "exchange"))
    does = {
        "alter": "answer[at] = mutation.randrange(256)",
        "leave out": "del answer[at]",
        "double": "answer[at:at] = answer[at:at + 9]",
        "cut": "del answer[at:]; answer += b'\\n'",
        "exchange": "answer[at], answer[0] = answer[0], answer[at]",
    }[kind]
    body = f"{NOISE}answer, mutation = bytearray(answer), random.Random({seed} + number)\n    "
    body += f"for _ in range({random.randrange(1, 4)}):\n        at = mutation.randrange(len(answer))\n        {does}"
    return _case(f"mutated by {seed}: {kind}", body, random, ANY, always=True)
