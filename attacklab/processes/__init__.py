"""Everything that runs in another process: targets, and calls in a fresh Python.

- `group` starts a command that leaves no process behind; every process here is one.
- `lines` asks programs line by line, with a deadline, and says why there was no answer; `wire` and `codec` read and
  write the protocol, and `child` is the program that runs a Python target in another interpreter.
- `targets` makes targets that run so: `isolated` and `external`.
- `sending` is what can be sent to another Python; `fresh` makes one call in a new one.

Nothing is imported here, since the lower modules of the lab use the lower ones of these.
"""
