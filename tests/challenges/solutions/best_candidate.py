challenge = 5
verdict = "sound"


def pairs():
    return [([0, 60], [1, 59]), ([30, 30], [31, 29]), ([24, 24, 24], [25, 23, 23])]
