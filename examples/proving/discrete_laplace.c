/* The discrete Laplace mechanism in C, exact: for `attacklab prove --exec`.
 *
 *     cc -O2 -o discrete_laplace discrete_laplace.c
 *     attacklab prove --exec ./discrete_laplace --kind noise --epsilon 0.1 --first 0 --second 1
 *
 * An integer answer plus noise x with probability in proportion to e^(-|x|/10), by integers and fair coins alone:
 * Canonne, Kamath and Steinke 2020, 'The discrete Gaussian for differential privacy', algorithm 2. What a round or a
 * call depends on is in its line, so the lab finds its law once.
 */
#include "proving.h"

enum { SCALE = 10 };

/* 1 with probability e^(-n/d), where n <= d: the parity of the first k at which a coin of n/(d*k) fails. */
static int bernoulli_exp(uint64_t n, uint64_t d) {
    say("begin call exp %" PRIu64 " %" PRIu64, n, d);
    uint64_t k = 1;
    while (coin(n, d * k)) k++;
    say("end call %d", (int)(k & 1));
    return (int)(k & 1);
}

/* One round: whether it is accepted. A negative zero is rejected, or zero would come twice as often as it should. */
static int round_of_noise(int64_t *noise) {
    uint64_t fraction = below(SCALE);
    if (!bernoulli_exp(fraction, SCALE)) return 0;
    uint64_t whole = 0;
    while (bernoulli_exp(1, 1)) whole++;
    int negative = coin(1, 2);
    *noise = (int64_t)(fraction + SCALE * whole);
    if (negative && !*noise) return 0;
    if (negative) *noise = -*noise;
    return 1;
}

static void mechanism(double input) {
    int64_t noise;
    for (;;) {
        say("begin round laplace %d", SCALE);
        if (round_of_noise(&noise)) break;
        say("end round rejected");
    }
    say("end round accepted %" PRId64, noise);
    say("output %" PRId64, (int64_t)input + noise);
}

int main(void) { return serve(mechanism); }
