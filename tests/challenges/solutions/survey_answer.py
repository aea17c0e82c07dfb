challenge = 2
verdict = "sound"


def pairs():
    return [(0, 1), (0, 4), (2, 3)]
