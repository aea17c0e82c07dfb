"""Which code is the sampler's own, and where it stands on the stack."""

from __future__ import annotations

import sys
from types import FrameType

_LIBRARIES = (sys.stdlib_module_names | {"numpy"}) - {"__main__"}


def own_frame(frame: FrameType) -> tuple[FrameType, str]:
    """The innermost frame of the sampler's own code, and the library's function that it called, if there is one."""
    through = ""
    while frame.f_back is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _LIBRARIES:
            through = frame.f_code.co_qualname
        elif not module.startswith("attacklab."):
            break
        frame = frame.f_back
    return frame, through
