challenge = 10


def pair():
    return 8, 9


def event(outputs):
    size = abs(outputs[:, 0] - 8)
    return (outputs[:, 1] - size) % 2 == 0


def repair(count, bits):
    """Noise m or more has probability A·2^−m on either side, A = 2/3 rounded up to a multiple of 2^−20."""
    share = -(-2 * 2**20 // 3)
    place = bits.take(40)
    noise = 0
    for size in range(1, 21):
        reach = share << (20 - size)
        noise += (place < reach) - (place >= 2**40 - reach)
    return min(max(count + noise, 0), 20), 40
