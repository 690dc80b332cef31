/* Every function of remat_bb.h, with right and with wrong arguments. Ends with 0 where all answers are right. The
 * argument is a folder for files. */
#define _POSIX_C_SOURCE 200809L
#include "remat_bb.h"

#include <math.h>
#include <pthread.h>
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

static int is_near(double a, double b) {
    return fabs(a - b) <= 1e-7 * (1 + fabs(b));
}

/* max 3x + 2y + 10 subject to x + y <= 4, x + 3y <= 6, x <= 3: x = 3, y = 1, objective 21. */
static const double COST[] = {3, 2}, LOWER[] = {0, 0}, UPPER[] = {3, 1e30};
static const double SIDES_LOWER[] = {-INFINITY, -1e20}, SIDES_UPPER[] = {4, 6};

static void one_call_linear(void) {
    const int64_t starts[] = {0, 2};
    const int32_t by_cols[] = {0, 1, 0, 1};
    const double col_values[] = {1, 1, 1, 3}, row_values[] = {1, 1, 1, 3};
    for (int by_rows = 0; by_rows < 2; by_rows++) {
        double x[2], reduced[2], rows[2], duals[2], objective;
        char cols_basis[2], rows_basis[2];
        int status = -7;
        OK(remat_lp_call(2, 2, 4, by_rows ? REMAT_BY_ROWS : REMAT_BY_COLUMNS, REMAT_MAXIMISE, 10, COST, LOWER, UPPER,
                         SIDES_LOWER, SIDES_UPPER, starts, by_cols, by_rows ? row_values : col_values, x, reduced, rows,
                         duals, cols_basis, rows_basis, &objective, &status));
        CHECK(status == REMAT_STATUS_OPTIMAL);
        CHECK(strcmp(remat_status_name(status), "optimal") == 0);
        NEAR(objective, 21);
        NEAR(x[0], 3);
        NEAR(x[1], 1);
        NEAR(rows[0], 4);
        NEAR(rows[1], 6);
        /* Strong duality, and reduced costs by their definition. */
        for (int j = 0; j < 2; j++) {
            NEAR(reduced[j], COST[j] - duals[0] - duals[1] * (j ? 3 : 1));
        }
        NEAR(10 + 4 * duals[0] + 6 * duals[1] + 3 * (reduced[0] > 0 ? reduced[0] : 0), 21);
        int basic = 0;
        for (int k = 0; k < 2; k++) {
            basic += (cols_basis[k] == 'B') + (rows_basis[k] == 'B');
        }
        CHECK(basic == 2);
        OK(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 10, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER,
                         starts, by_cols, row_values, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    }
    double x[2];
    int status = -7;
    const double empty[] = {7, 7};
    OK(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, empty, SIDES_UPPER, starts, by_cols,
                     row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status));
    CHECK(status == REMAT_STATUS_INFEASIBLE && isnan(x[0]));
    const double wrong[] = {0, NAN};
    const int32_t far[] = {0, 2, 0, 1};
    const int64_t back[] = {0, 5};
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, wrong, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts,
                        by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "cost[1] is NaN");
    CHECK(status == REMAT_STATUS_NONE);
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts,
                        far, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "indices[1] is 2");
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, back,
                        by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "starts");
    FAILS(remat_lp_call(-2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts,
                        by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "num_cols is -2");
    FAILS(remat_lp_call(2, 2, 4, 3, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts, by_cols,
                        row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "format is 3");
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, 0, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts, by_cols,
                        row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "sense is 0");
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, NULL, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts,
                        by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_NULL, "cost is a null pointer");
}

static const double WORTH[] = {10, 13, 7, 8}, WEIGHT[] = {3, 4, 2, 3};
static const double ZEROS[] = {0, 0, 0, 0}, ONES[] = {1, 1, 1, 1};
static const int32_t FOUR[] = {0, 1, 2, 3};

static void one_call_integer(void) {
    const int64_t starts[] = {0};
    const double least[] = {-INFINITY}, most[] = {7};
    double x[4], row[1], objective, bound;
    int status = -7;
    OK(remat_mip_call(4, 1, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, least, most, starts, FOUR, WEIGHT,
                      "BBBB", 60, x, row, &objective, &bound, &status));
    CHECK(status == REMAT_STATUS_OPTIMAL && objective == 23 && bound >= 23 && bound < 23.1);
    CHECK(x[0] == 1 && x[1] == 1 && x[2] == 0 && x[3] == 0 && row[0] == 7);
    /* The relaxation: the third item whole, the second in parts. */
    OK(remat_mip_call(4, 1, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, least, most, starts, FOUR, WEIGHT,
                      NULL, INFINITY, NULL, NULL, &objective, NULL, NULL));
    NEAR(objective, 7 + 10 + 13 * 0.5);
    FAILS(remat_mip_call(4, 1, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, least, most, starts, FOUR, WEIGHT,
                         "BBxB", 60, x, row, &objective, &bound, &status),
          REMAT_ERROR_ARGUMENT, "no kind of column");
    FAILS(remat_mip_call(4, 1, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, least, most, starts, FOUR, WEIGHT,
                         "BBBB", NAN, x, row, &objective, &bound, &status),
          REMAT_ERROR_ARGUMENT, "time_limit");
}

/* A forward pass of three and a backward pass that needs each of its results. */
static const char *GRAPH = "{\"nodes\": ["
                           "{\"id\": \"a\", \"time\": 2, \"size\": 10}, {\"id\": \"b\", \"time\": 3, \"size\": 10},"
                           "{\"id\": \"c\", \"time\": 4, \"size\": 10}, {\"id\": \"d\", \"time\": 5, \"size\": 10},"
                           "{\"id\": \"e\", \"time\": 6, \"size\": 10}],"
                           "\"links\": [{\"source\": \"a\", \"target\": \"b\"}, {\"source\": \"b\", \"target\": \"c\"},"
                           "{\"source\": \"c\", \"target\": \"d\"}, {\"source\": \"b\", \"target\": \"d\"},"
                           "{\"source\": \"a\", \"target\": \"e\"}, {\"source\": \"d\", \"target\": \"e\"}]}";

static void one_call_plan(void) {
    char *plan = NULL;
    uint64_t cost, bound, peak;
    int status;
    /* All fits: each node runs once. */
    OK(remat_solve_call(GRAPH, 1000, INFINITY, 1, &plan, &cost, &bound, &peak, &status));
    CHECK(status == REMAT_STATUS_OPTIMAL && cost == 20 && bound == 20 && peak > 30 && plan != NULL);
    CHECK(strstr(plan, "remat-plan/1") != NULL && strstr(plan, "\"compute\"") != NULL);
    OK(remat_free_text(plan));
    /* One byte less than that needs a node twice, the cheapest. */
    OK(remat_solve_call(GRAPH, peak - 1, 60, 0, &plan, &cost, &bound, &peak, &status));
    CHECK(status == REMAT_STATUS_OPTIMAL && cost == 22 && bound == 22 && peak == 30);
    OK(remat_free_text(plan));
    FAILS(remat_free_text(plan), REMAT_ERROR_HANDLE, "freed");
    OK(remat_free_text(NULL));
    OK(remat_solve_call(GRAPH, 15, INFINITY, 1, &plan, &cost, NULL, &peak, &status));
    CHECK(status == REMAT_STATUS_INFEASIBLE && cost == UINT64_MAX && peak == UINT64_MAX && plan == NULL);
    OK(remat_solve_call(GRAPH, 1000, INFINITY, 1, NULL, NULL, NULL, NULL, NULL));
    FAILS(remat_solve_call("{\"nodes\": 7}", 15, INFINITY, 1, &plan, &cost, &bound, &peak, &status),
          REMAT_ERROR_ARGUMENT, "instance_json:1:");
    FAILS(remat_solve_call(NULL, 15, INFINITY, 1, &plan, &cost, &bound, &peak, &status), REMAT_ERROR_NULL,
          "instance_json");
    FAILS(remat_solve_call(GRAPH, 15, -1, 1, &plan, &cost, &bound, &peak, &status), REMAT_ERROR_ARGUMENT, "time_limit");
    FAILS(remat_solve_call(GRAPH, 15, 1, -1, &plan, &cost, &bound, &peak, &status), REMAT_ERROR_ARGUMENT, "threads");
}

static void linear_with_edits(void) {
    RematModel *model = remat_create();
    CHECK(model != NULL);
    CHECK(remat_get_status(model) == REMAT_STATUS_NONE);
    OK(remat_set_sense(model, REMAT_MAXIMISE));
    OK(remat_set_offset(model, 10));
    int32_t first = -1, row = -1;
    OK(remat_add_cols(model, 2, LOWER, UPPER, COST, NULL, NULL, &first));
    CHECK(first == 0);
    const int64_t starts[] = {0, 2};
    const int32_t cols[] = {0, 1, 0, 1};
    const double values[] = {1, 1, 1, 3};
    const char *const names[] = {"sum", NULL};
    OK(remat_add_rows(model, 2, SIDES_LOWER, SIDES_UPPER, 4, starts, cols, values, names, &row));
    CHECK(row == 0);
    CHECK(remat_num_cols(model) == 2 && remat_num_rows(model) == 2 && remat_num_nonzeros(model) == 4);
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_OPTIMAL);
    double objective, bound, gap, seconds, x[3], reduced[3], duals[2], activity[2];
    int64_t nodes, iterations, recognised;
    OK(remat_get_objective(model, &objective));
    OK(remat_get_bound(model, &bound));
    OK(remat_get_gap(model, &gap));
    OK(remat_get_seconds(model, &seconds));
    OK(remat_get_nodes(model, &nodes));
    OK(remat_get_iterations(model, &iterations));
    OK(remat_get_recognised(model, &recognised));
    NEAR(objective, 21);
    CHECK(bound == objective && gap == 0 && seconds >= 0 && nodes == 0 && iterations >= 0 && recognised == 0);
    OK(remat_get_values(model, 2, x));
    OK(remat_get_row_values(model, 2, activity));
    OK(remat_get_duals(model, 2, duals));
    OK(remat_get_reduced_costs(model, 2, reduced));
    NEAR(x[0], 3);
    NEAR(x[1], 1);
    NEAR(activity[1], 6);
    FAILS(remat_get_values(model, 3, x), REMAT_ERROR_ARGUMENT, "room for 3 values, there are 2");
    FAILS(remat_get_values(model, 2, NULL), REMAT_ERROR_NULL, "values");
    FAILS(remat_get_farkas(model, 2, duals), REMAT_ERROR_NO_RESULT, "");
    FAILS(remat_get_ray(model, 2, x), REMAT_ERROR_NO_RESULT, "");
    char basis[3];
    OK(remat_get_col_basis(model, 2, basis));
    CHECK(basis[1] == 'B');
    OK(remat_get_row_basis(model, 2, basis));
    /* A side moves: the objective by its dual. */
    OK(remat_set_row_sides(model, 1, -INFINITY, 6.5));
    CHECK(remat_get_status(model) == REMAT_STATUS_NONE);
    FAILS(remat_get_objective(model, &objective), REMAT_ERROR_NO_RESULT, "not solved");
    FAILS(remat_get_duals(model, 2, duals), REMAT_ERROR_NO_RESULT, "not solved");
    OK(remat_set_row_sides(model, 0, -INFINITY, 3.5));
    OK(remat_solve(model));
    OK(remat_get_objective(model, &objective));
    NEAR(objective, 10 + 9 + 1);
    /* A third column, of which the first row has 2. */
    int32_t third = -1;
    OK(remat_add_col(model, 0, 1, 9, 'C', "third", &third));
    OK(remat_set_entry(model, 0, third, 2));
    double entry = 0, lower, upper, cost;
    char kind;
    OK(remat_get_entry(model, 0, third, &entry));
    CHECK(entry == 2);
    OK(remat_get_entry(model, 1, third, &entry));
    CHECK(entry == 0);
    OK(remat_set_col_bounds(model, third, 0, 1.5));
    OK(remat_set_cost(model, third, 8));
    OK(remat_get_col(model, third, &lower, &upper, &cost, &kind));
    CHECK(lower == 0 && upper == 1.5 && cost == 8 && kind == 'C');
    OK(remat_solve(model));
    OK(remat_get_values(model, 3, x));
    OK(remat_get_objective(model, &objective));
    /* 8 for 2, then 3 for 1. */
    NEAR(x[2], 1.5);
    NEAR(x[0], 0.5);
    NEAR(objective, 10 + 12 + 1.5);
    /* Without the first: handles stay. */
    const int32_t gone[] = {0};
    OK(remat_remove_cols(model, 1, gone));
    CHECK(remat_num_cols(model) == 2 && remat_num_col_handles(model) == 3);
    FAILS(remat_set_cost(model, 0, 1), REMAT_ERROR_ARGUMENT, "column 0 is not in the program");
    OK(remat_solve(model));
    OK(remat_get_values(model, 3, x));
    CHECK(isnan(x[0]));
    NEAR(x[1], 0.5);
    NEAR(x[2], 1.5);
    OK(remat_get_col_basis(model, 3, basis));
    CHECK(basis[0] == '-');
    const int32_t twice[] = {1, 1};
    OK(remat_remove_rows(model, 2, twice));
    CHECK(remat_num_rows(model) == 1 && remat_num_row_handles(model) == 2);
    int32_t count = 0, entries[2];
    double of[2];
    OK(remat_get_row(model, 0, &lower, &upper, &count));
    CHECK(count == 2 && upper == 3.5 && isinf(lower));
    OK(remat_get_row_entries(model, 0, 2, entries, of));
    CHECK(entries[0] == 1 && of[0] == 1 && entries[1] == third && of[1] == 2);
    FAILS(remat_get_row_entries(model, 0, 1, entries, of), REMAT_ERROR_ARGUMENT, "there are 2");
    int sense;
    double offset;
    OK(remat_get_objective_sense(model, &sense, &offset));
    CHECK(sense == REMAT_MAXIMISE && offset == 10);
    /* What is wrong changes nothing. */
    const double bad[] = {1, NAN};
    const int32_t nobody[] = {1, 9};
    FAILS(remat_add_row(model, 0, 1, 2, entries, bad, NULL, &row), REMAT_ERROR_ARGUMENT, "NaN");
    FAILS(remat_add_row(model, 0, 1, 2, nobody, values, NULL, &row), REMAT_ERROR_ARGUMENT, "column 9");
    FAILS(remat_add_row(model, NAN, 1, 0, NULL, NULL, NULL, &row), REMAT_ERROR_ARGUMENT, "NaN");
    FAILS(remat_add_rows(model, 2, SIDES_LOWER, bad, 4, starts, cols, values, NULL, &row), REMAT_ERROR_ARGUMENT,
          "upper[1]");
    FAILS(remat_add_rows(model, 2, SIDES_LOWER, SIDES_UPPER, 4, starts, cols, values, NULL, &row), REMAT_ERROR_ARGUMENT,
          "column 0");
    FAILS(remat_add_cols(model, 2, LOWER, UPPER, bad, NULL, NULL, &first), REMAT_ERROR_ARGUMENT, "cost[1]");
    FAILS(remat_add_cols(model, -1, LOWER, UPPER, COST, NULL, NULL, &first), REMAT_ERROR_ARGUMENT, "count is -1");
    FAILS(remat_add_col(model, 0, 1, INFINITY, 'C', NULL, NULL), REMAT_ERROR_ARGUMENT, "inf");
    FAILS(remat_set_kind(model, 1, 'Q'), REMAT_ERROR_ARGUMENT, "'Q'");
    FAILS(remat_set_offset(model, NAN), REMAT_ERROR_ARGUMENT, "constant");
    FAILS(remat_remove_cols(model, 2, nobody), REMAT_ERROR_ARGUMENT, "column 9");
    FAILS(remat_remove_rows(model, 1, nobody), REMAT_ERROR_ARGUMENT, "row 1");
    FAILS(remat_set_entry(model, -4, 1, 1), REMAT_ERROR_ARGUMENT, "row -4");
    CHECK(remat_num_cols(model) == 2 && remat_num_rows(model) == 1 && remat_num_row_handles(model) == 2);
    OK(remat_add_row(model, 1, 1, 1, entries, ONES, "pick", &row));
    CHECK(row == 2);
    OK(remat_free(model));
}

static void proofs(void) {
    RematModel *model = remat_create();
    OK(remat_add_col(model, 0, 1, -1, 'C', NULL, NULL));
    OK(remat_add_col(model, 0, INFINITY, -1, 'C', NULL, NULL));
    const int32_t cols[] = {0, 1};
    const double ones[] = {1, 1}, less[] = {1, -1};
    /* x - y >= 2 is more than x <= 1 lets it be. */
    OK(remat_add_row(model, -INFINITY, 1, 2, cols, ones, NULL, NULL));
    OK(remat_add_row(model, 2, INFINITY, 2, cols, less, NULL, NULL));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_INFEASIBLE);
    double y[2], x[2], ray[2];
    OK(remat_get_farkas(model, 2, y));
    const double side = (y[0] > 0 ? -INFINITY : y[0] * 1) + (y[1] > 0 ? y[1] * 2 : -INFINITY);
    const double on_x = y[0] + y[1], on_y = y[0] - y[1];
    CHECK(isfinite(side));
    /* The most that the combined row can be within the bounds. */
    CHECK(on_y <= 1e-9 && (on_x > 0 ? on_x : 0) < side);
    FAILS(remat_get_values(model, 2, x), REMAT_ERROR_NO_RESULT, "no point");
    FAILS(remat_get_duals(model, 2, y), REMAT_ERROR_NO_RESULT, "duals");
    CHECK(remat_num_points(model) == 0);
    const int32_t both[] = {0, 1};
    OK(remat_remove_rows(model, 2, both));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_UNBOUNDED);
    OK(remat_get_ray(model, 2, ray));
    OK(remat_get_values(model, 2, x));
    CHECK(ray[0] == 0 && ray[1] > 0 && x[0] >= 0 && x[0] <= 1 && x[1] >= 0);
    OK(remat_free(model));
}

static RematModel *knapsack(void) {
    RematModel *model = remat_create();
    OK(remat_set_sense(model, REMAT_MAXIMISE));
    OK(remat_add_cols(model, 4, ZEROS, ONES, WORTH, "BBBI", NULL, NULL));
    OK(remat_add_row(model, -INFINITY, 7, 4, FOUR, WEIGHT, "weight", NULL));
    return model;
}

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
    told->last_is_optimal = strncmp(line, "optimal, objective 23", 21) == 0;
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

/* A market split of Cornuejols and Dawande: far more nodes than a test has time for. */
static RematModel *hard(void) {
    enum { ROWS = 5, COLS = 40 };
    RematModel *model = remat_create();
    uint64_t state = 12345;
    for (int j = 0; j < COLS; j++) {
        OK(remat_add_col(model, 0, 1, 0, 'B', NULL, NULL));
    }
    for (int i = 0; i < ROWS; i++) {
        int32_t cols[COLS + 2];
        double values[COLS + 2], sum = 0;
        for (int j = 0; j < COLS; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            cols[j] = j;
            values[j] = (double)((state >> 33) % 100);
            sum += values[j];
        }
        /* Over and under the half, at a cost. */
        for (int side = 0; side < 2; side++) {
            OK(remat_add_col(model, 0, INFINITY, 1, 'C', NULL, &cols[COLS + side]));
            values[COLS + side] = side ? 1 : -1;
        }
        OK(remat_add_row(model, floor(sum / 2), floor(sum / 2), COLS + 2, cols, values, NULL, NULL));
    }
    return model;
}

struct watch {
    RematModel *model;
    int looks, busy, from_thread;
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
        RematModel *model = hard();
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
    RematModel *model = hard();
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

static void names_and_files(const char *folder) {
    RematModel *model = knapsack(), *copy = remat_create();
    char text[64], path[1024];
    size_t needed = 0;
    int32_t handle = -1;
    OK(remat_set_name(model, "r\xc3\xbc" "cksack"));
    OK(remat_get_name(model, NULL, 0, &needed));
    CHECK(needed == 10);
    OK(remat_get_name(model, text, needed, NULL));
    CHECK(strcmp(text, "r\xc3\xbc" "cksack") == 0);
    FAILS(remat_get_name(model, text, 9, &needed), REMAT_ERROR_ARGUMENT, "10 are needed");
    FAILS(remat_set_name(model, "\xff"), REMAT_ERROR_ARGUMENT, "UTF-8");
    OK(remat_set_name(model, "knapsack"));
    OK(remat_get_col_name(model, 2, text, sizeof text, NULL));
    CHECK(strcmp(text, "C2") == 0);
    OK(remat_set_col_name(model, 2, "lamp"));
    OK(remat_get_col_name(model, 2, text, sizeof text, NULL));
    CHECK(strcmp(text, "lamp") == 0);
    OK(remat_get_row_name(model, 0, text, sizeof text, NULL));
    CHECK(strcmp(text, "weight") == 0);
    OK(remat_set_row_name(model, 0, "load"));
    OK(remat_row_by_name(model, "load", &handle));
    CHECK(handle == 0);
    OK(remat_col_by_name(model, "lamp", &handle));
    CHECK(handle == 2);
    OK(remat_col_by_name(model, "C3", &handle));
    CHECK(handle == 3);
    FAILS(remat_col_by_name(model, "C2", &handle), REMAT_ERROR_ARGUMENT, "there is no column \"C2\"");
    FAILS(remat_row_by_name(model, "weight", &handle), REMAT_ERROR_ARGUMENT, "there is no row");
    static const char *const endings[] = {"mps", "lp", "mps.gz", "lp.gz"};
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        double objective;
        char kind;
        CHECK(snprintf(path, sizeof path, "%s/knapsack.%s", folder, endings[k]) < (int)sizeof path);
        OK(remat_write(model, path));
        OK(remat_read(copy, path));
        OK(remat_col_by_name(copy, "lamp", &handle));
        OK(remat_get_col(copy, handle, NULL, NULL, NULL, &kind));
        CHECK(remat_num_cols(copy) == 4 && kind == 'B');
        OK(remat_solve(copy));
        OK(remat_get_objective(copy, &objective));
        CHECK(objective == 23);
    }
    /* min x0 + 2 x1, x0 + x1 >= 3, 0 <= x <= 2, from the point (2, 1). */
    static const char nl[] = "g3 0 1 0\n 2 1 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 0 0 0 0\n 2 2\n 0 0\n 0 0 0 0 0\n"
                             "C0\nn0\nO0 0\nn0\nx2\n0 2\n1 1\nr\n2 3\nb\n0 0 2\n0 0 2\nk1\n1\nJ0 2\n0 1\n1 1\nG0 2\n0 1\n"
                             "1 2\n";
    CHECK(snprintf(path, sizeof path, "%s/two.nl", folder) < (int)sizeof path);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(nl, file) >= 0 && fclose(file) == 0);
    double objective;
    OK(remat_read(copy, path));
    OK(remat_solve(copy));
    OK(remat_get_objective(copy, &objective));
    NEAR(objective, 4);
    FAILS(remat_write(copy, path), REMAT_ERROR_FILE, ".nl");
    CHECK(snprintf(path, sizeof path, "%s/not-there.mps", folder) < (int)sizeof path);
    FAILS(remat_read(copy, path), REMAT_ERROR_FILE, "not-there.mps");
    CHECK(remat_num_cols(copy) == 2);
    OK(remat_get_error(copy, NULL, 0, &needed));
    char *longer = malloc(needed);
    CHECK(longer != NULL);
    OK(remat_get_error(copy, longer, needed, NULL));
    CHECK(strstr(longer, "not-there.mps") != NULL);
    free(longer);
    OK(remat_free(model));
    OK(remat_free(copy));
}

static void options(void) {
    RematModel *model = remat_create();
    double number;
    int64_t whole;
    int flag;
    char word[32];
    OK(remat_get_double_option(model, "time_limit", &number));
    CHECK(isinf(number));
    OK(remat_set_double_option(model, "time_limit", 12.5));
    OK(remat_get_double_option(model, "time_limit", &number));
    CHECK(number == 12.5);
    OK(remat_get_int_option(model, "node_limit", &whole));
    CHECK(whole == -1);
    OK(remat_set_int_option(model, "seed", 77));
    OK(remat_get_int_option(model, "seed", &whole));
    CHECK(whole == 77);
    OK(remat_get_bool_option(model, "recognise", &flag));
    CHECK(flag == 1);
    OK(remat_set_bool_option(model, "recognise", 0));
    OK(remat_get_bool_option(model, "recognise", &flag));
    CHECK(flag == 0);
    OK(remat_set_string_option(model, "algorithm", "primal"));
    OK(remat_get_string_option(model, "algorithm", word, sizeof word, NULL));
    CHECK(strcmp(word, "primal") == 0);
    FAILS(remat_set_string_option(model, "algorithm", "barrier"), REMAT_ERROR_ARGUMENT, "auto, primal or dual");
    FAILS(remat_set_double_option(model, "threads", 2), REMAT_ERROR_ARGUMENT, "remat_set_int_option");
    FAILS(remat_get_int_option(model, "presolve", &whole), REMAT_ERROR_ARGUMENT, "remat_get_bool_option");
    FAILS(remat_set_bool_option(model, "presolv", 1), REMAT_ERROR_ARGUMENT, "there is no option \"presolv\"");
    FAILS(remat_set_double_option(model, "relative_gap", NAN), REMAT_ERROR_ARGUMENT, "relative_gap");
    FAILS(remat_set_double_option(model, NULL, 1), REMAT_ERROR_NULL, "name");
    OK(remat_free(model));
}

static void *own_error(void *user) {
    (void)user;
    CHECK(strcmp(remat_last_error(), "") == 0);
    FAILS(remat_set_offset(NULL, 1), REMAT_ERROR_NULL, "null pointer");
    return NULL;
}

static void handles(void) {
    RematModel *model = remat_create(), *wrong = (RematModel *)(uintptr_t)12345;
    pthread_t thread;
    OK(remat_free(model));
    FAILS(remat_free(model), REMAT_ERROR_HANDLE, "freed");
    FAILS(remat_solve(model), REMAT_ERROR_HANDLE, "freed");
    FAILS(remat_set_cost(wrong, 0, 1), REMAT_ERROR_HANDLE, "freed");
    CHECK(remat_num_cols(model) == -1 && remat_num_rows(NULL) == -1 && remat_num_nonzeros(wrong) == -1);
    CHECK(remat_get_status(NULL) == -1);
    OK(remat_free(NULL));
    CHECK(remat_status_name(99) == NULL);
    CHECK(strchr(remat_version(), '.') != NULL);
    FAILS(remat_set_sense(NULL, 1), REMAT_ERROR_NULL, "null pointer");
    CHECK(pthread_create(&thread, NULL, own_error, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    handles();
    one_call_linear();
    one_call_integer();
    one_call_plan();
    linear_with_edits();
    proofs();
    integer();
    starts();
    ends();
    names_and_files(arguments[1]);
    options();
    puts("all right");
    return 0;
}
