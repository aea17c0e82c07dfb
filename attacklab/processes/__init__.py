"""Everything that runs in another process: targets (`targets`, by `child` and `codec`), and calls in a fresh Python.

Nothing is imported here, because low-level modules of the lab import low-level modules of this package.
"""
