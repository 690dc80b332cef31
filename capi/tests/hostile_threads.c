/* Calls at a bad time: from callbacks, from other threads, on small stacks, while a model is solved or freed. */
#include "hostile.h"

#include <limits.h>
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 200, STACK_BYTES = 64 * 1024 };

struct visit {
    RematModel *model;
    pthread_t caller;
    int looks, points, lines, frees;
};

/* All that a callback must not do, and a solve of its own, which it may. */
static void misuse(struct visit *visit) {
    CHECK(pthread_equal(pthread_self(), visit->caller));
    every_call_is(visit->model, REMAT_ERROR_BUSY);
    RematModel *other = knapsack();
    OK(remat_solve(other));
    CHECK(remat_get_status(other) == REMAT_STATUS_OPTIMAL);
    OK(remat_free(other));
    OK(remat_interrupt(visit->model));
    if (visit->frees) {
        OK(remat_free(visit->model));
        every_call_is(visit->model, REMAT_ERROR_HANDLE);
        CHECK(remat_free(visit->model) == REMAT_ERROR_HANDLE && remat_interrupt(visit->model) == REMAT_ERROR_HANDLE);
    }
}

static int on_look(const RematProgress *progress, void *user) {
    struct visit *visit = user;
    (void)progress;
    if (visit->looks++ == 0 && visit->points == 0) {
        misuse(visit);
    }
    return 0;
}

static int on_point(double objective, int32_t count, const double *values, void *user) {
    struct visit *visit = user;
    CHECK(isfinite(objective) && count == 38 && values[0] == values[0]);
    if (visit->points++ == 0 && visit->looks == 0) {
        misuse(visit);
    }
    return 0;
}

static void on_line(const char *line, void *user) {
    struct visit *visit = user;
    CHECK(line[0] != 0);
    if (visit->lines++ == 0) {
        CHECK(pthread_equal(pthread_self(), visit->caller));
        every_call_is(visit->model, REMAT_ERROR_BUSY);
    }
}

static void from_callbacks(void) {
    for (int k = 0; k < 6; k++) {
        struct visit visit;
        memset(&visit, 0, sizeof visit);
        visit.model = market_split(4, 30, 99);
        visit.caller = pthread_self();
        visit.frees = k % 2;
        OK(remat_set_int_option(visit.model, "threads", k < 4 ? 1 : 2));
        OK(remat_set_log_callback(visit.model, on_line, &visit));
        if (k / 2 == 0) {
            OK(remat_set_progress_callback(visit.model, on_look, &visit));
        } else {
            OK(remat_set_incumbent_callback(visit.model, on_point, &visit));
        }
        OK(remat_solve(visit.model));
        CHECK(visit.looks + visit.points >= 1 && visit.lines >= 1);
        CHECK(remat_get_status(visit.model) == (visit.frees ? -1 : REMAT_STATUS_INTERRUPTED));
        CHECK(remat_free(visit.model) == (visit.frees ? REMAT_ERROR_HANDLE : REMAT_OK));
    }
}

static void *frees_once(void *user) {
    return (void *)(intptr_t)(remat_free(user) == REMAT_OK);
}

static void freed_by_many(void) {
    for (int round = 0; round < 20; round++) {
        RematModel *model = knapsack();
        pthread_t threads[THREADS];
        intptr_t freed = 0;
        for (int k = 0; k < THREADS; k++) {
            CHECK(pthread_create(&threads[k], NULL, frees_once, model) == 0);
        }
        for (int k = 0; k < THREADS; k++) {
            void *one;
            CHECK(pthread_join(threads[k], &one) == 0);
            freed += (intptr_t)one;
        }
        CHECK(freed == 1);
    }
}

/* Edits, looks and solves of one model from everywhere: each is done, or refused for a reason. */
static void *edits(void *user) {
    RematModel *model = user;
    for (int k = 0; k < ROUNDS; k++) {
        double objective;
        const int32_t col = k % 4;
        const int codes[] = {remat_set_cost(model, col, k % 7), remat_set_col_bounds(model, col, 0, 1),
                             k % 50 ? REMAT_OK : remat_solve(model), remat_get_objective(model, &objective),
                             remat_interrupt(model)};
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            CHECK(codes[i] == REMAT_OK || codes[i] == REMAT_ERROR_BUSY || codes[i] == REMAT_ERROR_HANDLE ||
                  (i == 3 && codes[i] == REMAT_ERROR_NO_RESULT));
        }
    }
    return NULL;
}

static void edited_by_many(void) {
    for (int round = 0; round < 2; round++) {
        RematModel *model = knapsack();
        pthread_t threads[THREADS];
        for (int k = 0; k < THREADS; k++) {
            CHECK(pthread_create(&threads[k], NULL, edits, model) == 0);
        }
        /* In the second round under their hands. */
        if (round == 1) {
            OK(remat_free(model));
        }
        for (int k = 0; k < THREADS; k++) {
            CHECK(pthread_join(threads[k], NULL) == 0);
        }
        if (round == 0) {
            OK(remat_solve(model));
            CHECK(remat_get_status(model) == REMAT_STATUS_OPTIMAL);
            OK(remat_free(model));
        }
    }
}

static void *frees_while_solved(void *user) {
    while (remat_num_cols(user) != -1 || strstr(remat_last_error(), "being solved") == NULL) {
    }
    every_call_is(user, REMAT_ERROR_BUSY);
    OK(remat_interrupt(user));
    OK(remat_free(user));
    return NULL;
}

static void freed_while_solved(void) {
    RematModel *model = market_split(4, 30, 99);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, frees_while_solved, model) == 0);
    OK(remat_solve(model));
    CHECK(pthread_join(thread, NULL) == 0);
    every_call_is(model, REMAT_ERROR_HANDLE);
}

static int looks_on(double objective, int32_t count, const double *values, void *user) {
    CHECK(pthread_equal(pthread_self(), *(pthread_t *)user) && count == 4 && values[0] * 0 == 0 && objective > 0);
    return 0;
}

static const char *file;

/* Everything that takes more than a few bytes of stack. */
static void *on_small_stack(void *user) {
    static const char graph[] = "{\"nodes\": [{\"id\": \"a\", \"time\": 2, \"size\": 10},"
                                "{\"id\": \"b\", \"time\": 3, \"size\": 10}, {\"id\": \"c\", \"time\": 4, \"size\": 10}],"
                                "\"links\": [{\"source\": \"a\", \"target\": \"b\"}, {\"source\": \"b\", \"target\": \"c\"},"
                                "{\"source\": \"a\", \"target\": \"c\"}]}";
    RematModel *model = knapsack(), *copy = remat_create();
    pthread_t me = pthread_self();
    double objective;
    uint64_t cost;
    int status;
    (void)user;
    OK(remat_set_incumbent_callback(model, looks_on, &me));
    OK(remat_solve(model));
    OK(remat_get_objective(model, &objective));
    CHECK(objective == 23);
    OK(remat_write(model, file));
    OK(remat_read(copy, file));
    for (int j = 0; j < 4; j++) {
        OK(remat_set_kind(copy, j, 'C'));
    }
    OK(remat_solve(copy));
    OK(remat_get_objective(copy, &objective));
    NEAR(objective, 7 + 10 + 13 * 0.5);
    OK(remat_solve_call(graph, 25, INFINITY, 1, NULL, &cost, NULL, NULL, &status));
    OK(remat_lp_call(4, 0, 0, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, NULL, NULL, NULL, NULL, NULL, NULL,
                     NULL, NULL, NULL, NULL, NULL, &objective, &status));
    NEAR(objective, 38);
    OK(remat_free(model));
    OK(remat_free(copy));
    return NULL;
}

static void small_stacks(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
    CHECK(pthread_create(&thread, &attributes, on_small_stack, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && pthread_attr_destroy(&attributes) == 0);
}

void bad_times(const char *path) {
    file = path;
    small_stacks();
    from_callbacks();
    freed_by_many();
    edited_by_many();
    freed_while_solved();
}
