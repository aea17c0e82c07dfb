"""Test vectors for programs in any language: reads their files and values, and checks programs against them."""

from attacklab.vectors.files import BadVectors, read_file
from attacklab.vectors.values import read_value, written

__all__ = ["BadVectors", "read_file", "read_value", "written"]
