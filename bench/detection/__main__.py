"""Count false alarms at the claim's edge, some hours of audits; what is interrupted continues where it ended."""

import argparse

from bench.detection.edge import AUDITS, EDGE, MANY, Journal

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=__doc__)
    parser.add_argument("--audits", type=int, default=AUDITS, help=f"how many audits in all [default: {AUDITS}]")
    parser.add_argument("--many", action="store_true", help="with all the trials that a default audit draws")
    given = parser.parse_args()
    Journal(edge=MANY if given.many else EDGE).extend(given.audits, print)
