"""`attacklab demo`: an attack for the lecture hall, first on a naive mechanism, then on its exact twin."""

from experiments.demo.shows import SHOWS
from experiments.demo.stage import LANGUAGES, play, read_key

__all__ = ["LANGUAGES", "SHOWS", "play", "read_key"]
