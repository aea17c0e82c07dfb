"""Figures made small enough for an index."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from attacklab.files import write_whole

LARGEST = (200, 130)
"""Width and height in pixels that a thumbnail fits into."""


def write_thumbnail(figure: Path, thumbnail: Path) -> None:
    """Write a PNG of a figure's PNG that fits into `LARGEST`.

    Raises:
        OSError: the figure cannot be read, or the thumbnail not be written.
    """
    with Image.open(figure) as image:
        small = image.convert("RGB")
    small.thumbnail(LARGEST, Image.Resampling.LANCZOS)
    content = io.BytesIO()
    small.save(content, format="PNG", optimize=True)
    write_whole(thumbnail, content.getvalue())
