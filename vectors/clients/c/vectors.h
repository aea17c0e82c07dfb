/* Holds an implementation to the test vectors and prints TAP: one test for each mechanism of each file. Write a
 * `vectors_answer` and call `vectors_check`; vectors/clients/README.md has an example, and docs/reference/vectors.md
 * describes the files. What has integers beyond 64 bits is skipped. */
#pragma once
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value as the files write it; "skip" if there is no such mechanism, "failed" if it refuses the input. */
typedef struct { char text[128]; } vectors_value;

/* `vectors_get` has all fields of the case. */
typedef struct { const char *type, *mechanism, *start; char path[64]; } vectors_question;

typedef vectors_value vectors_answer(const vectors_question *);

static vectors_question vectors_asked;
static vectors_answer *vectors_implementation;
static double vectors_trials = 10000, vectors_share;
static char vectors_reason[700], vectors_fields[1 << 23], *vectors_free;

/* Pseudorandom numbers, which are for tests alone. */
static uint64_t vectors_state;

#define VECTORS_BECAUSE(...) snprintf(vectors_reason, sizeof vectors_reason, __VA_ARGS__)

/* JSON, with integers of up to nine digits; escapes stay as they are written. What is no object or list is kept under
 * its path: "groups/0/cases/3/parameters/scale", NUL, "1/2", NUL. */

static char *vectors_blank(char *at) { return at + strspn(at, " \t\r\n"); }
static char *vectors_string_end(char *at) {
    for (at++; *at != '"'; at++)
        if ((unsigned char)*at < 32 || (*at == '\\' && !(*++at && strchr("\"\\/bfnrtu", *at)))) return NULL;
    return at;
}

/* What follows a value, or NULL if it is not JSON. */
static char *vectors_parse(char *at, size_t length) {
    static char path[256];
    char open = *at, close = open == '{' ? '}' : ']', *end = at + strspn(at, "0123456789"), name[64];
    if (open == '{' || open == '[') {
        at = vectors_blank(at + 1);
        for (int index = 0; *at != close; index++) {
            snprintf(name, sizeof name, "%d", index);
            if (open == '{') {
                if (*at != '"' || !(end = vectors_string_end(at)) || end - at > 60) return NULL;
                snprintf(name, sizeof name, "%.*s", (int)(end - at) - 1, at + 1);
                if (*(at = vectors_blank(end + 1)) != ':') return NULL;
                at = vectors_blank(at + 1);
            }
            if (length > 180) return NULL;
            at = vectors_parse(at, length + (size_t)sprintf(path + length, "/%s", name));
            if (!at || (*at != ',' && *at != close)) return NULL;
            if (*at == ',' && *(at = vectors_blank(at + 1)) == close) return NULL;
        }
        return vectors_blank(at + 1);
    }
    if (!strncmp(at, "true", 4) || !strncmp(at, "null", 4)) end = at + 4;
    else if (!strncmp(at, "false", 5)) end = at + 5;
    else if (open == '"') end = vectors_string_end(at++);
    if (!end || (open != '"' && (end == at || end - at > (open == '0' ? 1 : 9)))) return NULL;
    path[length] = 0;
    if (vectors_free + length + (end - at) + 3 > vectors_fields + sizeof vectors_fields) return NULL;
    vectors_free += sprintf(vectors_free, "%s%c%.*s", path + 1, 0, (int)(end - at), at) + 1;
    return vectors_blank(end + (open == '"'));
}

static int vectors_load(const char *name) {
    static char file[1 << 20];
    FILE *stream = fopen(name, "rb");
    size_t size = stream ? fread(file, 1, sizeof file - 1, stream) : 0;
    file[size] = 0;
    memset(vectors_free = vectors_fields, 0, sizeof vectors_fields);
    return stream && !fclose(stream) && vectors_parse(vectors_blank(file), 0) == file + size;
}

/* An answer: "%lld" of an integer, "%a" of a double, "true", "false", "null", "skip" or "failed". */
static vectors_value vectors_say(const char *format, ...) {
    vectors_value value;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value.text, sizeof value.text, format, arguments);
    va_end(arguments);
    return value;
}

/* What is kept under a path, from here on; "" if nothing is. */
static const char *vectors_find(const char *from, vectors_value path) {
    while (*from && strcmp(from, path.text)) from += strlen(from) + 1, from += strlen(from) + 1;
    return *from ? from + strlen(from) + 1 : "";
}

/* A field of the case, such as "parameters/scale"; "" if there is none. */
static const char *vectors_get(const char *name) {
    return vectors_find(vectors_asked.start, vectors_say("%s/%s", vectors_asked.path, name));
}

/* Reads "n/d" or "n"; false if it is something else, or too large. */
static int vectors_rational(const char *text, long long *numerator, long long *denominator) {
    char *end;
    errno = 0;
    *numerator = strtoll(text, &end, 10);
    *denominator = *end == '/' ? strtoll(end + 1, &end, 10) : 1;
    return *text && !*end && !errno && *denominator > 0;
}

/* Types count, and so does the sign of zero. */
static int vectors_same(const char *first, const char *second) {
    if (!strpbrk(first, "xn") || !strpbrk(second, "xn")) return !strcmp(first, second);
    double a = strtod(first, NULL), b = strtod(second, NULL);
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* 64 fair bits: SplitMix64 (Steele, Lea and Flood 2014). */
static inline uint64_t vectors_word(void) {
    uint64_t mixed = vectors_state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
}

/* An integer uniform below a bound of at least 1. */
static inline long long vectors_below(long long bound) {
    for (uint64_t word, limit = UINT64_MAX - UINT64_MAX % (uint64_t)bound;;)
        if ((word = vectors_word()) < limit) return (long long)(word % (uint64_t)bound);
}

/* 1 with probability n/d, else 0. */
static inline int vectors_coin(long long n, long long d) { return vectors_below(d) < n; }

/* The lower or upper end of a probability as a double, and a part in 10^9 further out. */
static double vectors_end(const char *name, const char *end) {
    const char *exact = vectors_get(name), *text = *exact ? exact : vectors_get(vectors_say("%s/%s", name, end).text);
    const char *slash = strchr(text, '/'), *below = slash ? slash + 1 : "1";
    vectors_value fractions[] = {vectors_say("0.%.30s", text), vectors_say("0.%.30s", below)}; /* from 0.1 to 1 */
    double ratio = strtod(fractions[0].text, NULL) / strtod(fractions[1].text, NULL);
    ratio *= pow(10, (double)strspn(text, "0123456789") - (double)strlen(below));
    return *end == 'l' ? ratio * (1 - 1e-9) : *text == '0' ? 0 : fmax(ratio * (1 + 1e-9), 0x1p-1022);
}

/* A lower confidence limit of the probability of what happened in some trials, too high with probability `share` / 2 at
 * most: Hoeffding 1963, 'Probability Inequalities for Sums of Bounded Random Variables', theorem 1, (2.1). An upper
 * limit is 1 less the lower limit of what did not happen. A millionth covers the rounding of the logarithms. */
static double vectors_limit(double hits, double share) {
    double low = 0, high = hits / vectors_trials, misses = vectors_trials - hits;
    for (int step = 0; hits > 0 && step < 100; step++) {
        double middle = low + (high - low) / 2, loss = hits * log(hits / vectors_trials / middle);
        if (misses > 0) loss += misses * log(misses / vectors_trials / (1 - middle));
        *(loss > log(2 / share) + 1e-6 ? &low : &high) = middle;
    }
    return low;
}

static vectors_value vectors_ask(void) {
    VECTORS_BECAUSE("the implementation does not answer");
    return vectors_implementation(&vectors_asked);
}

static int vectors_fits(const char *place, double hits, const char *probability, double tests) {
    double share = vectors_share / tests, upper = vectors_end(probability, "upper");
    double low = vectors_limit(hits, share), high = 1 - vectors_limit(vectors_trials - hits, share);
    VECTORS_BECAUSE("P of %s (%s) lies in [%g, %g], not at %g", place, probability, low, high, upper);
    return low <= upper && (high >= vectors_end(probability, "lower") || !strcmp(probability, "rest"));
}

/* Whether outputs fit the probability of each outcome, of each tail (all integers from one on), and of all others.
 * Verdicts are 1 for right, 0 for wrong, -1 for skipped. */
static int vectors_law(void) {
    static vectors_value drawn[1 << 17];
    const char *place, *lists[] = {"law/%d/%d", "tails/%d/%d"};
    double tests = 1, others = vectors_trials;
    long long least, number, one;
    for (int trial = 0; trial < vectors_trials; trial++) {
        const char *text = (drawn[trial] = vectors_ask()).text;
        if (!strcmp(text, "skip") || !strcmp(text, "failed")) return *text == 's' ? -1 : 0;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int list = 0; list < 2; list++)
            for (int row = 0; *(place = vectors_get(vectors_say(lists[list], row, 0).text)); row++) {
                double hits = 0;
                vectors_rational(place, &least, &one);
                for (int trial = 0; trial < vectors_trials && pass; trial++)
                    hits += !list ? vectors_same(drawn[trial].text, place)
                                  : vectors_rational(drawn[trial].text, &number, &one) && number >= least;
                if (pass && !vectors_fits(place, hits, vectors_say(lists[list], row, 1).text, tests)) return 0;
                tests += !pass, others -= list ? 0 : hits;
            }
    return vectors_fits("another outcome", others, "rest", tests);
}

static int vectors_judged(const char *type) {
    if (!strcmp(type, "law")) return vectors_law();
    VECTORS_BECAUSE("this client does not have the type");
    if (strcmp(type, "calibration")) return -1;
    const char *unsafe = vectors_get("unsafe"), *limit = vectors_get("limit");
    vectors_value answer = vectors_ask();
    if (!strcmp(answer.text, "skip") || !strcmp(answer.text, "failed")) return -1; /* a formula may refuse */
    VECTORS_BECAUSE("its value %s is %s: the limit is %s", answer.text, unsafe, limit);
    double value = strtod(answer.text, NULL), end = strtod(limit, NULL);
    return strcmp(unsafe, "too small") ? value <= end : value >= end;
}

static int vectors_case(const char *id) {
    const char *flag;
    int verdict = vectors_judged(vectors_asked.type);
    if (verdict) return verdict;
    printf("# case %s (%s): %s\n", id, vectors_get("comment"), vectors_reason);
    for (int index = 0; *(flag = vectors_get(vectors_say("flags/%d", index).text)); index++)
        printf("#   %s: %s\n", flag, vectors_find(vectors_fields, vectors_say("notes/%s/effect", flag)));
    return 0;
}

/* VECTORS_SEED replays a run, VECTORS_TRIALS says how often a law is sampled, VECTORS_ALPHA how often any law may fail
 * a sound sampler. Returns 0 if nothing fails, 1 if a case does, 2 if a file cannot be read or nothing is checked. */
static int vectors_check(int count, char **files, vectors_answer *answer) {
    const char *seed = getenv("VECTORS_SEED"), *trials = getenv("VECTORS_TRIALS"), *level = getenv("VECTORS_ALPHA");
    double sampled = 0, alpha = level ? atof(level) : 1e-9;
    int tests = 0, passed = 0, failed = 0;
    FILE *entropy = fopen("/dev/urandom", "rb");
    if (!entropy || !fread(&vectors_state, 8, 1, entropy) || fclose(entropy)) return 2;
    vectors_implementation = answer, vectors_trials = trials ? atof(trials) : 10000, errno = 0;
    if (seed) vectors_state = strtoull(seed, NULL, 10);
    int is_seed = !seed || (!errno && *seed && !seed[strspn(seed, "0123456789")]);
    if (!is_seed || !(alpha > 0 && alpha < 1 && vectors_trials >= 1 && vectors_trials <= 1 << 17))
        return puts("Bail out! VECTORS_ALPHA is in (0, 1), VECTORS_TRIALS 1 to 131072, VECTORS_SEED below 2^64"), 2;
    printf("# VECTORS_SEED=%" PRIu64 ", %g samples, alpha %g\n", vectors_state, vectors_trials, alpha);
    for (int file = 0; file < 2 * count; file++) { /* first for the number of sampled cases */
        const char *name = files[file % count], *all = vectors_fields, *id;
        if (!vectors_load(name) || strcmp(vectors_find(all, vectors_say("version")), "1"))
            return printf("Bail out! %s is not a file of vectors of version 1\n", name), 2;
        vectors_asked.type = vectors_find(all, vectors_say("type"));
        if (file < count) sampled += !strcmp(vectors_asked.type, "law") * atof(vectors_find(all, vectors_say("cases")));
        vectors_share = alpha / sampled;
        for (int group = 0; file >= count; group++) {
            int counts[3] = {0, 0, 0}; /* skipped, wrong, right */
            vectors_asked.mechanism = vectors_find(all, vectors_say("groups/%d/mechanism", group));
            if (!*vectors_asked.mechanism) break;
            for (int index = 0;; index++) {
                sprintf(vectors_asked.path, "groups/%d/cases/%d", group, index);
                vectors_asked.start = all;
                if (!*(id = vectors_get("id"))) break;
                vectors_asked.start = id - strlen(vectors_asked.path) - 4;
                counts[1 + vectors_case(id)]++;
            }
            printf("%s %d - %s ", counts[1] ? "not ok" : "ok", ++tests, vectors_asked.type);
            printf("%s: %d right, %d wrong, %d skipped", vectors_asked.mechanism, counts[2], counts[1], counts[0]);
            printf(counts[1] + counts[2] ? "\n" : " # SKIP %s\n", vectors_reason);
            failed += counts[1], passed += counts[2];
        }
    }
    printf("1..%d\n", tests);
    return failed ? 1 : passed ? 0 : 2;
}
