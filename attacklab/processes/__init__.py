"""Everything that runs in another process: targets, and calls in a fresh Python.

- `programs` runs a program that answers line by line. It says why an answer is missing, and ends all processes.
- `codec` is how values travel; `child` is the program that runs a Python target in another interpreter; `targets` makes
  targets that run elsewhere: `isolated` and `external`.
- `sending` is what can be sent to another Python; `fresh` makes one call in a new one.

Nothing is imported here, since the lower modules of the lab use the lower ones of these.
"""
