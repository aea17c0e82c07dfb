import numpy as np

challenge = 11


def pair():
    return [0.0], [0.0, 100.0]


def event(outputs):
    return outputs == 0


def repair(baskets, size, rng):
    total = np.sum(baskets) + rng.laplace(0, 100 / 0.5, size)
    people = len(baskets) + rng.laplace(0, 1 / 0.5, size)
    return total / np.maximum(people, 1)
