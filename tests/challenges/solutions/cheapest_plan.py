from itertools import accumulate

challenge = 8


def pair():
    return [24, 24], [24, 25]


def event(outputs):
    return outputs == 1


def below(end, bits):
    place = bits.take((end - 1).bit_length())
    return place if place < end else None


def repair(costs, bits):
    weights = [1 << (max(costs) - cost) for cost in costs]
    place = bits.repeat(below, sum(weights))
    return next(number for number, end in enumerate(accumulate(weights)) if place < end)
