/* What the programs in C share: checks that end the program, and small programs. */
#ifndef CHECK_H
#define CHECK_H

#define _POSIX_C_SOURCE 200809L
#include "remat_bb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s\nlast error: %s\n", __FILE__, __LINE__, #what, remat_last_error());             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == REMAT_OK)
#define NEAR(a, b) CHECK(is_near(a, b))
#define FAILS(call, code, words)                                                                                       \
    do {                                                                                                               \
        CHECK((call) == (code));                                                                                       \
        CHECK(strstr(remat_last_error(), words) != NULL);                                                              \
    } while (0)

static inline int is_near(double a, double b) {
    return fabs(a - b) <= 1e-7 * (1 + fabs(b));
}

/* max 3x + 2y + 10 subject to x + y <= 4, x + 3y <= 6, x <= 3: x = 3, y = 1, objective 21. */
extern const double COST[2], LOWER[2], UPPER[2], SIDES_LOWER[2], SIDES_UPPER[2];

/* Four things of which a bag that carries 7 takes the first two, worth 23. */
extern const double WORTH[4], WEIGHT[4], ZEROS[4], ONES[4];
extern const int32_t FOUR[4];

/* A model of the bag. */
RematModel *knapsack(void);

/* A market split (Cornuejols and Dawande) from a seed: far more nodes than a test has time for. */
RematModel *market_split(int rows, int cols, uint64_t state);

/* Programs and plans in one call (calls.c). */
void calls(void);

/* Programs with integers: points, starts, callbacks, ends (search.c). */
void search(void);

#endif
