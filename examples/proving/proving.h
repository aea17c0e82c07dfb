/* Randomness for a mechanism in C: while it is proved, each draw is a line that asks the lab (docs/reference/protocol.md).
 *
 * `serve` answers `attacklab prove --exec` by calling the mechanism for each request. In production, link the mechanism
 * with a `coin` and a `below` that read the system's entropy, and with a `say` that does nothing.
 */
#ifndef PROVING_H
#define PROVING_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write one line. */
static void say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
}

/* Read the reply to the request that was written last. */
static uint64_t reply(void) {
    char line[64];
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) exit(1);
    return strtoull(line, NULL, 10);
}

/* 1 with probability n/d, otherwise 0. */
static int coin(uint64_t n, uint64_t d) {
    say("coin %" PRIu64 " %" PRIu64, n, d);
    return (int)reply();
}

/* Uniform in [0, n). */
static uint64_t below(uint64_t n) {
    say("below %" PRIu64, n);
    return reply();
}

/* Answer requests until the input ends. Their fields are in a fixed order and spacing, so no JSON library is needed; a
 * float is a string, which strtod reads exactly. */
static int serve(void (*mechanism)(double input)) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        const char *input = strstr(line, "\"input\": ");
        if (strncmp(line, "{\"prove\": 1, ", 13) || !input) {
            say("{\"error\": \"this program answers attacklab prove only\"}");
        } else {
            input += strlen("\"input\": ");
            mechanism(strtod(input + (*input == '"'), NULL));
        }
        fflush(stdout);
    }
    return 0;
}

#endif
