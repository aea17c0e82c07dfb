"""Everything that runs in another process: targets (`targets`, by `child` and `codec`), and calls in a fresh Python.

Nothing is imported here, since the lower modules of the lab use the lower ones of these.
"""
