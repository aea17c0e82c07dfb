/* Holds a formula for the scale of Laplace noise to calibration.json.
 *
 *     cc -O2 -frounding-math -o consumer consumer.c -lm
 *     ./consumer calibration.json exact    (or naive)
 *
 * The files are written with one field a line and in a fixed order, so no JSON library is needed. */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Noise must not be too small, so the quotient is rounded upward. */
static double exact(double sensitivity, double epsilon) {
    int mode = fegetround();
    fesetround(FE_UPWARD);
    volatile double scale = sensitivity / epsilon;
    fesetround(mode);
    return scale;
}

/* The flaw: rounding to nearest makes about half of all scales a little too small. */
static double naive(double sensitivity, double epsilon) { return sensitivity / epsilon; }

int main(int count, char **words) {
    FILE *file = count == 3 ? fopen(words[1], "r") : NULL;
    if (!file || (strcmp(words[2], "exact") && strcmp(words[2], "naive"))) {
        fputs("usage: consumer calibration.json exact|naive\n", stderr);
        return 2;
    }
    double (*scale_of)(double, double) = strcmp(words[2], "naive") ? exact : naive;
    char line[1024], text[64];
    int inside = 0, id = 0, checked = 0, failed = 0;
    double sensitivity = 0, epsilon = 0;
    while (fgets(line, sizeof line, file)) {
        if (strstr(line, "\"mechanism\": ")) inside = strstr(line, "\"laplace_scale\"") != NULL;
        if (!inside) continue;
        sscanf(line, " \"id\": %d", &id);
        if (sscanf(line, " \"sensitivity\": \"%63[^\"]", text) == 1) sensitivity = strtod(text, NULL);
        if (sscanf(line, " \"epsilon\": \"%63[^\"]", text) == 1) epsilon = strtod(text, NULL);
        if (sscanf(line, " \"limit\": \"%63[^\"]", text) == 1) {
            double scale = scale_of(sensitivity, epsilon);
            checked++;
            if (!(scale >= strtod(text, NULL))) {
                printf("case %d: the scale %a is less than %s\n", id, scale, text);
                failed++;
            }
        }
    }
    printf("%d cases, %d failed\n", checked, failed);
    return checked ? failed > 0 : 2;
}
