/* The textbook's Laplace mechanism, exact and naive, held to the vectors: an example of `vectors.h`, and its test.
 *
 *     cc -O2 -frounding-math -o laplace laplace.c -lm
 *     ./laplace exact ../../law.json ../../calibration.json    (or naive) */
#include <fenv.h>

#include "vectors.h"

static int is_naive;

/* 1 with probability e^(-n/d), n at most d: Canonne, Kamath and Steinke 2020, algorithm 1. */
static int bernoulli_exp(long long n, long long d) {
    long long failure = 1;
    while (vectors_coin(n, d * failure)) failure++;
    return failure % 2 == 1;
}

/* The flaw: what is rounded down to 0 comes with either sign, so 0 is too frequent, and nothing lies beyond 53 ln 2. */
static long long naive_noise(double scale) {
    uint64_t word = vectors_word();
    long long magnitude = (long long)floor(-scale * log(1 - (double)(word >> 11) * 0x1p-53));
    return word & 1 ? magnitude : -magnitude;
}

/* Noise with probabilities in proportion to e^(-|x| s/t): algorithm 2 there. */
static long long discrete_laplace(long long t, long long s) {
    if (is_naive) return naive_noise((double)t / (double)s);
    for (;;) {
        long long rest = vectors_below(t), whole = 0;
        if (!bernoulli_exp(rest, t)) continue;
        while (bernoulli_exp(1, 1)) whole++;
        long long magnitude = (rest + t * whole) / s;
        if (!vectors_coin(1, 2)) return magnitude;
        if (magnitude) return -magnitude;
    }
}

/* Noise with probabilities in proportion to (n/d)^|x|. */
static long long two_sided_geometric(long long n, long long d) {
    if (is_naive) return naive_noise(1 / log((double)d / (double)n));
    for (;;) {
        long long magnitude = 0;
        while (vectors_coin(n, d)) magnitude++;
        if (!vectors_coin(1, 2)) return magnitude;
        if (magnitude) return -magnitude;
    }
}

/* The flaw: the mode is not set, so quotients are rounded to nearest, and scales of noise are too small. */
static double divided(double numerator, double denominator) {
    int before = fegetround();
    if (!is_naive) fesetround(FE_UPWARD);
    volatile double quotient = numerator / denominator;
    fesetround(before);
    return quotient;
}

static double real(const char *name) { return strtod(vectors_get(name), NULL); }

static int is_called(const char *type, const char *mechanism) {
    return !strcmp(vectors_asked.type, type) && !strcmp(vectors_asked.mechanism, mechanism);
}

static vectors_value answer(const vectors_question *question) {
    (void)question;
    long long n, d;
    if (is_called("calibration", "laplace_scale"))
        return vectors_say("%a", divided(real("parameters/sensitivity"), real("parameters/epsilon")));
    if (is_called("calibration", "laplace_epsilon"))
        return vectors_say("%a", divided(real("parameters/sensitivity"), real("parameters/scale")));
    if (is_called("law", "two_sided_geometric")) {
        vectors_rational(vectors_get("parameters/ratio"), &n, &d);
        return vectors_say("%lld", two_sided_geometric(n, d));
    }
    if (is_called("law", "discrete_laplace")) {
        vectors_rational(vectors_get("parameters/scale"), &n, &d);
        return n > 1LL << 48 ? vectors_say("skip") : vectors_say("%lld", discrete_laplace(n, d));
    }
    return vectors_say("skip");
}

/* `limits TRIALS SHARE` prints the lower limit for each number of hits, for a test of their error rate. */
int main(int count, char **words) {
    if (count == 4 && !strcmp(words[1], "limits")) {
        vectors_trials = atof(words[2]);
        for (int hits = 0; hits <= vectors_trials; hits++) printf("%a\n", vectors_limit(hits, atof(words[3])));
        return 0;
    }
    is_naive = count > 1 && !strcmp(words[1], "naive");
    if (count < 3 || (!is_naive && strcmp(words[1], "exact"))) {
        fputs("usage: laplace exact|naive FILE...\n", stderr);
        return 2;
    }
    return vectors_check(count - 2, words + 2, answer);
}
