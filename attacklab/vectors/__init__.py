"""Language-neutral test vectors: how their values are written, and how files of them are read and checked."""

from attacklab.vectors.files import BadVectors, read_file
from attacklab.vectors.values import read_value, written

__all__ = ["BadVectors", "read_file", "read_value", "written"]
