challenge = 5
verdict = "sound"


def pairs():
    return [([0, 30], [1, 29]), ([15, 15], [16, 14]), ([24, 24, 24], [25, 23, 23])]
