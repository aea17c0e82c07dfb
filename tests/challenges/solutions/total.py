import math

import numpy as np

challenge = 6


def pair():
    first = [4096.0] * 4096 + [1.001] * 4095
    return first, [0.0, *first[1:]]


def event(outputs):
    return outputs >= 2**24 + 4096 - 1


def repair(records, size, rng):
    stop = -np.expm1(-1 / 4097)
    noise = rng.geometric(stop, size) - rng.geometric(stop, size)
    return round(math.fsum(records)) + noise
