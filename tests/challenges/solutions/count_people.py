challenge = 7
verdict = "sound"


def pairs():
    return [(0, 1), (19, 20), (10, 11)]
