/* The textbook's Laplace mechanism in C, for `attacklab audit --exec`. Its outputs are those of exec_laplace.py, bit
 * for bit; docs/reference/protocol.md describes the protocol. It answers with the bytes of an array.
 *
 *     cc -O2 -ffp-contract=off -o exec_laplace exec_laplace.c -lm
 *
 * The fields of a request are in a fixed order and spacing, so no JSON library is needed.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SCALE = 1.0;

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t next_word(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
}

static double laplace(double answer, uint64_t *state) {
    uint64_t word = next_word(state);
    double uniform = (double)((word >> 11) + 1) * 0x1p-53;
    double noise = -SCALE * log(uniform);
    return word & 1 ? answer + noise : answer - noise;
}

/* Where the value of a key begins, or NULL. */
static const char *value_of(const char *line, const char *key) {
    const char *found = strstr(line, key);
    return found ? found + strlen(key) : NULL;
}

/* The eight bytes of a double in hexadecimal, the lowest first. */
static void print_bytes(double output) {
    uint64_t bits;
    memcpy(&bits, &output, sizeof bits);
    for (int byte = 0; byte < 8; byte++, bits >>= 8) {
        putchar("0123456789abcdef"[bits >> 4 & 15]);
        putchar("0123456789abcdef"[bits & 15]);
    }
}

int main(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        const char *input = value_of(line, "\"input\": ");
        const char *trials = value_of(line, "\"trials\": ");
        const char *seed = value_of(line, "\"seed\": ");
        if (!strstr(line, "\"kind\": \"noise\"") || !input || !trials || !seed) {
            puts("{\"error\": \"the Laplace mechanism adds noise; it does not answer other requests\"}");
        } else {
            /* A float is a string, which strtod reads exactly; it rounds an integer, as a textbook's code does. */
            double answer = strtod(input + (*input == '"'), NULL);
            uint64_t count = strtoull(trials, NULL, 10), state = strtoull(seed, NULL, 10);
            printf("{\"values\": {\"array\": \"f8\", \"shape\": [%llu], \"bytes\": \"", (unsigned long long)count);
            for (uint64_t trial = 0; trial < count; trial++) print_bytes(laplace(answer, &state));
            puts("\"}}");
        }
        fflush(stdout);
    }
    return 0;
}
