import numpy as np

challenge = 1


def pair():
    return [1] + [14.5] * 3999, [0] + [15.5] * 3999


def event(outputs):
    return outputs == 0


def repair(distances, size, rng):
    behind = np.asarray(distances) - np.min(distances)
    reached = np.cumsum(np.exp(-behind / 2))
    return np.searchsorted(reached, rng.random(size) * reached[-1], side="right")
