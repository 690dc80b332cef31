/* Programs with integers: points, starts, callbacks, ends. */
#include "check.h"

#include <pthread.h>

struct told {
    int points, lines, last_is_optimal;
    double best;
};

static int on_point(double objective, int32_t count, const double *values, void *user) {
    struct told *told = user;
    double sum = 0;
    for (int32_t j = 0; j < count; j++) {
        sum += WORTH[j] * values[j];
    }
    CHECK(count == 4 && sum == objective);
    told->points++;
    told->best = objective;
    return 0;
}

static void on_line(const char *line, void *user) {
    struct told *told = user;
    told->lines++;
    told->last_is_optimal = strncmp(line, "optimal: objective 23", 21) == 0;
}

static void integer(void) {
    RematModel *model = knapsack();
    struct told told = {0, 0, 0, 0};
    OK(remat_set_incumbent_callback(model, on_point, &told));
    OK(remat_set_log_callback(model, on_line, &told));
    OK(remat_set_int_option(model, "threads", 2));
    OK(remat_set_int_option(model, "pool_size", 5));
    OK(remat_solve(model));
    double objective, x[4], other;
    OK(remat_get_objective(model, &objective));
    OK(remat_get_values(model, 4, x));
    CHECK(objective == 23 && x[0] == 1 && x[1] == 1);
    CHECK(told.points > 0 && told.best == 23 && told.lines >= 2 && told.last_is_optimal);
    FAILS(remat_get_duals(model, 1, x), REMAT_ERROR_NO_RESULT, "duals");
    const int32_t points = remat_num_points(model);
    CHECK(points >= 1 && points <= 5);
    double before = INFINITY;
    for (int32_t k = 0; k < points; k++) {
        double sum = 0, weight = 0;
        OK(remat_get_point(model, k, &other, 4, x));
        for (int j = 0; j < 4; j++) {
            sum += WORTH[j] * x[j];
            weight += WEIGHT[j] * x[j];
        }
        CHECK(sum == other && weight <= 7 && other <= before);
        before = other;
    }
    FAILS(remat_get_point(model, points, &other, 4, x), REMAT_ERROR_NO_RESULT, "there is no point");
    /* Edits and a second solve; the log is switched off. */
    const int lines = told.lines;
    OK(remat_set_bool_option(model, "log", 0));
    OK(remat_set_row_sides(model, 0, -INFINITY, 9));
    OK(remat_set_kind(model, 3, 'C'));
    OK(remat_solve(model));
    OK(remat_get_objective(model, &objective));
    CHECK(objective == 30 && told.lines == lines);
    /* It may be 0 as well. */
    char kind;
    OK(remat_set_col_bounds(model, 3, 0.75, 1));
    OK(remat_set_kind(model, 3, 'S'));
    OK(remat_get_col(model, 3, NULL, NULL, NULL, &kind));
    OK(remat_solve(model));
    OK(remat_get_objective(model, &objective));
    CHECK(kind == 'S' && objective == 30);
    OK(remat_set_col_bounds(model, 3, 0, 1));
    OK(remat_set_kind(model, 3, 'C'));
    /* Only what is better than the best is wanted: nothing. */
    OK(remat_set_double_option(model, "cutoff", 31));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_CUTOFF && remat_num_points(model) == 0);
    OK(remat_free(model));
}

static void starts(void) {
    RematModel *model = knapsack();
    struct told told = {0, 0, 0, 0};
    OK(remat_set_incumbent_callback(model, on_point, &told));
    OK(remat_set_bool_option(model, "heuristics", 0));
    OK(remat_set_bool_option(model, "presolve", 0));
    OK(remat_set_bool_option(model, "cuts", 0));
    OK(remat_set_int_option(model, "node_limit", 0));
    double objective = 0;
    const double whole[] = {0, 1, 1, 0}, open[] = {NAN, 0, NAN, NAN}, bad[] = {INFINITY, 0, 0, 0};
    OK(remat_add_start(model, 4, whole));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_NODE_LIMIT);
    OK(remat_get_objective(model, &objective));
    CHECK(objective == 20);
    /* Without the second item 18 is the most; the short search for the rest has no nodes. */
    OK(remat_clear_starts(model));
    OK(remat_set_int_option(model, "node_limit", 100));
    OK(remat_add_start(model, 4, open));
    const int32_t one[] = {1};
    OK(remat_add_partial_start(model, 1, one, ZEROS));
    told.points = 0;
    OK(remat_solve(model));
    OK(remat_get_objective(model, &objective));
    CHECK(objective == 23 && told.points >= 2);
    FAILS(remat_add_start(model, 3, whole), REMAT_ERROR_ARGUMENT, "3 values, there are 4");
    FAILS(remat_add_start(model, 4, bad), REMAT_ERROR_ARGUMENT, "values[0]");
    FAILS(remat_add_partial_start(model, 1, one, bad), REMAT_ERROR_ARGUMENT, "values[0]");
    OK(remat_free(model));
}

struct watch {
    RematModel *model;
    int looks, busy, from_thread, frees;
    pthread_t thread;
};

static void *interrupts(void *user) {
    OK(remat_interrupt(user));
    return NULL;
}

static int on_look(const RematProgress *progress, void *user) {
    struct watch *watch = user;
    CHECK(progress->seconds >= 0 && progress->nodes >= 0 && progress->open_nodes >= 0 && progress->iterations >= 0);
    CHECK(progress->bound <= 0.5 || progress->bound <= progress->objective);
    watch->looks++;
    if (watch->looks == 1) {
        watch->busy = remat_num_cols(watch->model) == -1 && remat_solve(watch->model) == REMAT_ERROR_BUSY &&
                      strstr(remat_last_error(), "being solved") != NULL;
        if (watch->from_thread) {
            CHECK(pthread_create(&watch->thread, NULL, interrupts, watch->model) == 0);
        }
    }
    if (watch->frees) {
        OK(remat_free(watch->model));
        return 1;
    }
    /* With the thread the search goes on until the interrupt comes. */
    return !watch->from_thread && watch->looks == 3;
}

static int first_point_ends(double objective, int32_t count, const double *values, void *user) {
    CHECK(count == 50 && values != NULL && objective >= 0);
    ++*(int *)user;
    return 1;
}

static void ends(void) {
    for (int from_thread = 0; from_thread < 2; from_thread++) {
        RematModel *model = market_split(5, 40, 12345);
        struct watch watch;
        memset(&watch, 0, sizeof watch);
        watch.model = model;
        watch.from_thread = from_thread;
        OK(remat_set_progress_callback(model, on_look, &watch));
        OK(remat_solve(model));
        CHECK(remat_get_status(model) == REMAT_STATUS_INTERRUPTED);
        CHECK(watch.busy && watch.looks >= (from_thread ? 1 : 3));
        if (from_thread) {
            CHECK(pthread_join(watch.thread, NULL) == 0);
        }
        OK(remat_free(model));
    }
    /* A model that is freed while it is solved. */
    struct watch watch;
    memset(&watch, 0, sizeof watch);
    watch.model = market_split(5, 40, 12345);
    watch.frees = 1;
    OK(remat_set_progress_callback(watch.model, on_look, &watch));
    OK(remat_solve(watch.model));
    CHECK(watch.looks == 1);
    FAILS(remat_solve(watch.model), REMAT_ERROR_HANDLE, "freed");
    RematModel *model = market_split(5, 40, 12345);
    int points = 0;
    OK(remat_set_incumbent_callback(model, first_point_ends, &points));
    OK(remat_solve(model));
    CHECK(points >= 1 && remat_get_status(model) == REMAT_STATUS_INTERRUPTED && remat_num_points(model) == 1);
    OK(remat_set_incumbent_callback(model, NULL, NULL));
    OK(remat_set_int_option(model, "node_limit", 3));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_NODE_LIMIT);
    OK(remat_set_double_option(model, "time_limit", 0));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_TIME_LIMIT);
    OK(remat_interrupt(model));
    OK(remat_free(model));
}

void search(void) {
    integer();
    starts();
    ends();
}
