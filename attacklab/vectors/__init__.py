"""Language-neutral test vectors: how their values are written, what a file holds, and how it is read and checked."""

from attacklab.vectors.files import BadVectors, Case, Group, Note, VectorFile, read_file
from attacklab.vectors.values import read_value, written

__all__ = ["BadVectors", "Case", "Group", "Note", "VectorFile", "read_file", "read_value", "written"]
