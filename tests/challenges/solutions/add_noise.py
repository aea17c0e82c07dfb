import numpy as np

challenge = 3


def pair():
    return 0.0, 1.0


def event(outputs):
    scaled = np.abs(outputs) * 2.0**53
    return scaled != np.rint(scaled)


def repair(value, size, rng):
    steps = 1024
    stop = -np.expm1(-1 / (steps + 1))
    noise = rng.geometric(stop, size) - rng.geometric(stop, size)
    return (np.rint(value * steps) + noise) / steps
