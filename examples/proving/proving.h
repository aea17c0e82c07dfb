/* Randomness for a mechanism in C: from the system in production, from the lab while it is proved.
 *
 * `serve` answers `attacklab prove --exec`: it calls the mechanism for each request, and every draw of the mechanism
 * becomes a line that asks the lab. docs/protocol.md describes the lines. A mechanism linked with another definition of
 * these functions (one that reads getrandom, say) runs unchanged in production.
 */
#ifndef PROVING_H
#define PROVING_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* Write one line. */
static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* Write one request, and read the reply. */
static uint64_t ask(const char *request, uint64_t first, uint64_t second) {
    char reply[64];
    printf(request, first, second);
    putchar('\n');
    fflush(stdout);
    if (!fgets(reply, sizeof reply, stdin)) fail("the lab did not reply");
    return strtoull(reply, NULL, 10);
}

/* 1 with probability n/d, otherwise 0. */
static int coin(uint64_t n, uint64_t d) { return (int)ask("coin %" PRIu64 " %" PRIu64, n, d); }

/* Uniform in [0, n). */
static uint64_t below(uint64_t n) { return ask("below %" PRIu64, n, 0); }

/* Uniform in [0, 2^k). */
static uint64_t take(unsigned k) { return ask("take %" PRIu64, k, 0); }

/* Answer requests until the input ends. The fields of a request are in a fixed order and spacing, so no JSON library is
 * needed: a float is a string, which strtod reads exactly. */
static int serve(void (*mechanism)(double input)) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        const char *input = strstr(line, "\"input\": ");
        if (strncmp(line, "{\"prove\": 1, ", 13) || !input) {
            say("{\"error\": \"this program is for attacklab prove\"}");
        } else {
            input += strlen("\"input\": ");
            mechanism(strtod(input + (*input == '"'), NULL));
        }
        fflush(stdout);
    }
    return 0;
}

#endif
