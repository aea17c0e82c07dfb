import numpy as np

challenge = 9


def pair():
    return [0.0], [0.0, 0.0]


def event(outputs):
    return np.abs(outputs) < 7


def repair(records, size, rng):
    stop = -np.expm1(-0.05 / 1024)
    noise = rng.geometric(stop, size) - rng.geometric(stop, size)
    summed = int(np.rint(np.asarray(records) * 1024).sum()) + noise
    stop = -np.expm1(-0.05)
    people = len(records) + rng.geometric(stop, size) - rng.geometric(stop, size)
    return np.clip(summed / 1024 / np.maximum(people, 1), 0, 1)
