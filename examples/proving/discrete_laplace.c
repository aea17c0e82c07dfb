/* The discrete Laplace mechanism in C, for `attacklab prove --exec`; with -DNAIVE, its broken twin.
 *
 *     cc -O2 -o discrete_laplace examples/proving/discrete_laplace.c
 *     attacklab prove --exec ./discrete_laplace --kind noise --epsilon 0.1
 *
 * To an integer answer it adds x with probability in proportion to e^(-|x|/SCALE), by integers and coins alone: Canonne,
 * Kamath and Steinke 2020, 'The discrete Gaussian for differential privacy', algorithm 2. The line that begins a call or
 * a round names all that it depends on, so the lab finds its law once.
 *
 * The naive twin keeps negative zeros, so that zero comes twice as often as it should.
 */
#include "proving.h"

#ifndef SCALE
#define SCALE 10
#endif

/* 1 with probability e^(-n/d), where n <= d: whether the first k at which a coin of n/(d*k) fails is odd. */
static int bernoulli_exp(uint64_t n, uint64_t d) {
    uint64_t k = 1;
    say("begin call bernoulli_exp %" PRIu64 " %" PRIu64, n, d);
    while (coin(n, d * k)) k++;
    say("end call %d", (int)(k & 1));
    return (int)(k & 1);
}

/* One round: whether it is accepted. */
static int drawn(int64_t *noise) {
    uint64_t fraction = below(SCALE), whole = 0;
    if (!bernoulli_exp(fraction, SCALE)) return 0;
    while (bernoulli_exp(1, 1)) whole++;
    *noise = (int64_t)(fraction + SCALE * whole);
    if (coin(1, 2)) {
#ifndef NAIVE
        if (!*noise) return 0;
#endif
        *noise = -*noise;
    }
    return 1;
}

static void mechanism(double answer) {
    int64_t noise;
    for (say("begin round laplace %d", SCALE); !drawn(&noise); say("begin round laplace %d", SCALE)) {
        say("end round rejected");
    }
    say("end round accepted %" PRId64, noise);
    say("output %" PRId64, (int64_t)answer + noise);
}

int main(void) { return serve(mechanism); }
