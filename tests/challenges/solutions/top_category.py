import math

import numpy as np

challenge = 4


def pair():
    return [1], []


def event(outputs):
    return outputs == 1


def repair(records, size, rng):
    counts = np.bincount(np.asarray(records, dtype=np.int64), minlength=4)
    second, first = np.sort(counts)[-2:]
    passed = first - second + rng.laplace(0, 1, size) > 1 + math.log(1 / 0.02)
    return np.where(passed, np.argmax(counts), -1)
