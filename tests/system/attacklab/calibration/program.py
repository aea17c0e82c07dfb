"""A program that answers the protocol of calibration, or breaks it as its argument says."""

from __future__ import annotations

import json
import sys


def main() -> None:
    how = sys.argv[1]
    for line in sys.stdin:
        request = json.loads(line)
        given = {name: float.fromhex(value) for name, value in request["arguments"].items()}
        value = given["sensitivity"] / given["scale"]
        if how == "crash once" and given["scale"] == 3.0:
            sys.exit(3)
        answer = {
            "decimal": '{"value": 0.5}',
            "text": '{"value": "half"}',
            "wide": '{"value": "0x1.00000000000001p0"}',
            "other": '{"outputs": []}',
            "refuse": '{"error": "not  for\\nthis"}',
            "integer": '{"value": 1000000}',
        }.get(how, json.dumps({"value": value.hex()}))
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


main()
