/* Every function of remat_bb.h with handles, pointers, lengths and numbers that are wrong: an error each, never a crash.
 * hostile_threads.c has those that come at a bad time. The argument is a folder for files. */
#include "hostile.h"

static const double NOT_A_NUMBER[] = {0, NAN}, TOO_LARGE[] = {0, INFINITY};
static const int32_t BOTH[] = {0, 1}, OUTSIDE[] = {0, 2}, BELOW[] = {0, -1};
static const int64_t PARTS[] = {0, 2};
static double numbers[8];
static int32_t whole[8];
static int64_t counter;
static int number;
static char letters[8];
static size_t needed;
static const char *file;

/* Calls that are right, but for the model: REMAT_ERROR_ numbers. */
#define ONE(name, ...)                                                                                                 \
    static int call_##name(RematModel *m) { return name(m, __VA_ARGS__); }
ONE(remat_get_error, letters, 8, &needed)
ONE(remat_set_sense, REMAT_MINIMISE)
ONE(remat_set_offset, 1)
ONE(remat_add_col, 0, 1, 0, 'C', NULL, NULL)
ONE(remat_add_cols, 2, ZEROS, ONES, ZEROS, NULL, NULL, NULL)
ONE(remat_add_row, 0, 1, 2, BOTH, ONES, NULL, NULL)
ONE(remat_add_rows, 1, ZEROS, ONES, 0, PARTS, NULL, NULL, NULL, NULL)
ONE(remat_set_col_bounds, 0, 0, 1)
ONE(remat_set_cost, 0, 1)
ONE(remat_set_products, 0, NULL, NULL, NULL)
ONE(remat_set_kind, 0, 'C')
ONE(remat_set_row_sides, 0, 0, 1)
ONE(remat_set_entry, 0, 0, 1)
ONE(remat_remove_cols, 0, NULL)
ONE(remat_remove_rows, 0, NULL)
ONE(remat_get_objective_sense, NULL, NULL)
ONE(remat_get_col, 0, NULL, NULL, NULL, NULL)
ONE(remat_get_row, 0, NULL, NULL, NULL)
ONE(remat_get_row_entries, 0, 0, NULL, NULL)
ONE(remat_get_entry, 0, 0, numbers)
ONE(remat_set_name, "n")
ONE(remat_get_name, letters, 8, NULL)
ONE(remat_set_col_name, 0, "x")
ONE(remat_set_row_name, 0, "r")
ONE(remat_get_col_name, 0, letters, 8, NULL)
ONE(remat_get_row_name, 0, letters, 8, NULL)
ONE(remat_col_by_name, "x", whole)
ONE(remat_row_by_name, "r", whole)
ONE(remat_read, file)
ONE(remat_write, file)
ONE(remat_set_double_option, "time_limit", 1)
ONE(remat_set_int_option, "seed", 1)
ONE(remat_set_bool_option, "log", 1)
ONE(remat_set_string_option, "algorithm", "dual")
ONE(remat_get_double_option, "time_limit", numbers)
ONE(remat_get_int_option, "seed", &counter)
ONE(remat_get_bool_option, "log", &number)
ONE(remat_get_string_option, "algorithm", letters, 8, NULL)
ONE(remat_add_start, 2, ZEROS)
ONE(remat_add_partial_start, 1, BOTH, ZEROS)
ONE(remat_set_progress_callback, NULL, NULL)
ONE(remat_set_incumbent_callback, NULL, NULL)
ONE(remat_set_log_callback, NULL, NULL)
ONE(remat_get_objective, numbers)
ONE(remat_get_bound, numbers)
ONE(remat_get_gap, numbers)
ONE(remat_get_seconds, numbers)
ONE(remat_get_nodes, &counter)
ONE(remat_get_iterations, &counter)
ONE(remat_get_recognised, &counter)
ONE(remat_get_rounded, letters, 8, NULL)
ONE(remat_get_exact_objective, letters, 8, NULL)
ONE(remat_get_exact_bound, letters, 8, NULL)
ONE(remat_get_values, 2, numbers)
ONE(remat_get_row_values, 1, numbers)
ONE(remat_get_duals, 1, numbers)
ONE(remat_get_reduced_costs, 2, numbers)
ONE(remat_get_col_basis, 2, letters)
ONE(remat_get_row_basis, 1, letters)
ONE(remat_get_farkas, 1, numbers)
ONE(remat_get_ray, 2, numbers)
ONE(remat_get_point, 0, numbers, 2, numbers)
static int call_remat_clear_starts(RematModel *m) { return remat_clear_starts(m); }
static int call_remat_solve(RematModel *m) { return remat_solve(m); }
static int call_remat_interrupt(RematModel *m) { return remat_interrupt(m); }

typedef int (*Call)(RematModel *);
#define CALL(name) call_##name
static const Call EDITS[] = {
    CALL(remat_set_sense), CALL(remat_set_offset), CALL(remat_add_col), CALL(remat_add_cols), CALL(remat_add_row),
    CALL(remat_add_rows), CALL(remat_set_col_bounds), CALL(remat_set_cost), CALL(remat_set_kind),
    CALL(remat_set_products),
    CALL(remat_set_row_sides), CALL(remat_set_entry), CALL(remat_remove_cols), CALL(remat_remove_rows),
    CALL(remat_get_objective_sense), CALL(remat_get_col), CALL(remat_get_row), CALL(remat_get_row_entries),
    CALL(remat_get_entry), CALL(remat_set_name), CALL(remat_get_name), CALL(remat_set_col_name),
    CALL(remat_set_row_name), CALL(remat_get_col_name), CALL(remat_get_row_name), CALL(remat_col_by_name),
    CALL(remat_row_by_name), CALL(remat_read), CALL(remat_write), CALL(remat_set_double_option),
    CALL(remat_set_int_option), CALL(remat_set_bool_option), CALL(remat_set_string_option),
    CALL(remat_get_double_option), CALL(remat_get_int_option), CALL(remat_get_bool_option),
    CALL(remat_get_string_option), CALL(remat_add_start), CALL(remat_add_partial_start), CALL(remat_clear_starts),
    CALL(remat_set_progress_callback), CALL(remat_set_incumbent_callback), CALL(remat_set_log_callback),
    CALL(remat_get_objective), CALL(remat_get_bound), CALL(remat_get_gap), CALL(remat_get_seconds),
    CALL(remat_get_nodes), CALL(remat_get_iterations), CALL(remat_get_recognised), CALL(remat_get_values),
    CALL(remat_get_rounded), CALL(remat_get_exact_objective), CALL(remat_get_exact_bound),
    CALL(remat_get_row_values), CALL(remat_get_duals), CALL(remat_get_reduced_costs), CALL(remat_get_col_basis),
    CALL(remat_get_row_basis), CALL(remat_get_farkas), CALL(remat_get_ray), CALL(remat_get_point), CALL(remat_solve)};
enum { EDITS_COUNT = sizeof EDITS / sizeof *EDITS };

void every_call_is(RematModel *model, int code) {
    for (int k = 0; k < EDITS_COUNT; k++) {
        const int found = EDITS[k](model);
        if (found != code) {
            fprintf(stderr, "call %d of EDITS: %d, last error: %s\n", k, found, remat_last_error());
        }
        CHECK(found == code);
    }
    CHECK(remat_num_cols(model) == -1 && remat_num_rows(model) == -1 && remat_num_nonzeros(model) == -1);
    CHECK(remat_num_col_handles(model) == -1 && remat_num_row_handles(model) == -1);
    CHECK(remat_get_status(model) == -1 && remat_num_points(model) == -1);
}

static void wrong_handles(void) {
    RematModel *freed = remat_create(), *alive = remat_create();
    OK(remat_free(freed));
    RematModel *const none[] = {freed, (RematModel *)(uintptr_t)1, (RematModel *)(uintptr_t)~(uintptr_t)0,
                                (RematModel *)((uintptr_t)alive + 1), (RematModel *)(uintptr_t)numbers};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        every_call_is(none[k], REMAT_ERROR_HANDLE);
        CHECK(call_remat_get_error(none[k]) == REMAT_ERROR_HANDLE);
        CHECK(call_remat_interrupt(none[k]) == REMAT_ERROR_HANDLE);
        FAILS(remat_free(none[k]), REMAT_ERROR_HANDLE, "freed");
    }
    every_call_is(NULL, REMAT_ERROR_NULL);
    CHECK(call_remat_get_error(NULL) == REMAT_ERROR_NULL && call_remat_interrupt(NULL) == REMAT_ERROR_NULL);
    OK(remat_free(NULL));
    OK(remat_free(alive));
    FAILS(remat_free(alive), REMAT_ERROR_HANDLE, "freed");
    /* Texts of nobody. */
    char own[] = "own";
    FAILS(remat_free_text(own), REMAT_ERROR_HANDLE, "none of these");
    FAILS(remat_free_text((char *)(uintptr_t)8), REMAT_ERROR_HANDLE, "none of these");
    CHECK(remat_status_name(-1) == NULL && remat_status_name(INT32_MAX) == NULL);
}

/* Two columns, one row of both. */
static RematModel *two(void) {
    RematModel *model = remat_create();
    OK(remat_add_cols(model, 2, ZEROS, ONES, ONES, "CB", NULL, NULL));
    OK(remat_add_row(model, 1, 2, 2, BOTH, ONES, NULL, NULL));
    return model;
}

static void wrong_numbers(void) {
    RematModel *m = two();
    const double bad[][2] = {{INFINITY, INFINITY}, {1e20, 1}, {-INFINITY, -INFINITY}, {0, -1e20}, {NAN, 1}, {0, NAN}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const double low = bad[k][0], high = bad[k][1], lows[] = {0, low}, highs[] = {1, high};
        FAILS(remat_add_col(m, low, high, 0, 'C', NULL, NULL), REMAT_ERROR_ARGUMENT, "bounds of column 2");
        FAILS(remat_add_cols(m, 2, lows, highs, ZEROS, NULL, NULL, NULL), REMAT_ERROR_ARGUMENT, "lower[1] and upper[1]");
        FAILS(remat_add_row(m, low, high, 2, BOTH, ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "bounds of row 1");
        FAILS(remat_add_rows(m, 2, lows, highs, 2, PARTS, BOTH, ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "upper[1]");
        FAILS(remat_set_col_bounds(m, 0, low, high), REMAT_ERROR_ARGUMENT, "bounds of column 0");
        FAILS(remat_set_row_sides(m, 0, low, high), REMAT_ERROR_ARGUMENT, "bounds of row 0");
        FAILS(remat_lp_call(2, 0, 0, REMAT_BY_ROWS, 1, 0, ZEROS, lows, highs, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL, NULL, NULL, NULL, NULL, NULL),
              REMAT_ERROR_ARGUMENT, "lower[1]");
        FAILS(remat_mip_call(1, 2, 0, REMAT_BY_COLUMNS, 1, 0, ZEROS, ZEROS, ONES, lows, highs, PARTS, NULL, NULL, "B",
                             1, NULL, NULL, NULL, NULL, NULL),
              REMAT_ERROR_ARGUMENT, "row_lower[1]");
    }
    const double *const infinite[] = {NOT_A_NUMBER, TOO_LARGE};
    for (int k = 0; k < 2; k++) {
        const double value = infinite[k][1], huge[] = {1e308, 1e308};
        const int32_t same[] = {0, 0};
        FAILS(remat_set_offset(m, value), REMAT_ERROR_ARGUMENT, "constant");
        FAILS(remat_set_cost(m, 0, value), REMAT_ERROR_ARGUMENT, "cost of column 0");
        FAILS(remat_set_products(m, 2, BOTH, BOTH, infinite[k]), REMAT_ERROR_ARGUMENT, "factors[1]");
        FAILS(remat_add_col(m, 0, 1, value, 'C', NULL, NULL), REMAT_ERROR_ARGUMENT, "cost");
        FAILS(remat_add_cols(m, 2, ZEROS, ONES, infinite[k], NULL, NULL, NULL), REMAT_ERROR_ARGUMENT, "cost[1]");
        FAILS(remat_set_entry(m, 0, 0, value), REMAT_ERROR_ARGUMENT, "entry of row 0");
        FAILS(remat_add_row(m, 0, 1, 2, BOTH, infinite[k], NULL, NULL), REMAT_ERROR_ARGUMENT, "column 1");
        FAILS(remat_add_row(m, 0, 1, 2, same, huge, NULL, NULL), REMAT_ERROR_ARGUMENT, "is inf");
        FAILS(remat_add_rows(m, 2, ZEROS, ONES, 2, PARTS, same, huge, NULL, NULL), REMAT_ERROR_ARGUMENT, "is inf");
        FAILS(remat_add_rows(m, 1, ZEROS, ONES, 2, PARTS, BOTH, infinite[k], NULL, NULL), REMAT_ERROR_ARGUMENT,
              "values[1]");
        FAILS(remat_lp_call(1, 0, 0, REMAT_BY_ROWS, 1, value, ZEROS, ZEROS, ONES, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL, NULL, NULL, NULL, NULL, NULL, NULL),
              REMAT_ERROR_ARGUMENT, "constant");
        FAILS(remat_add_partial_start(m, 2, BOTH, infinite[k]), REMAT_ERROR_ARGUMENT, "values[1]");
        FAILS(remat_solve_call("{}", 1, value == INFINITY ? -INFINITY : NAN, 1, NULL, NULL, NULL, NULL, NULL),
              REMAT_ERROR_ARGUMENT, "time_limit");
        FAILS(remat_mip_call(1, 0, 0, REMAT_BY_ROWS, 1, 0, ZEROS, ZEROS, ONES, NULL, NULL, NULL, NULL, NULL, NULL,
                             -INFINITY, NULL, NULL, NULL, NULL, NULL),
              REMAT_ERROR_ARGUMENT, "time_limit");
    }
    FAILS(remat_add_start(m, 2, TOO_LARGE), REMAT_ERROR_ARGUMENT, "values[1]");
    const char *const doubles[] = {"time_limit", "relative_gap", "absolute_gap", "cutoff", "feasibility_tolerance",
                                   "integrality_tolerance", "optimality_tolerance"};
    for (size_t k = 0; k < sizeof doubles / sizeof *doubles; k++) {
        FAILS(remat_set_double_option(m, doubles[k], NAN), REMAT_ERROR_ARGUMENT, doubles[k]);
    }
    const char *const counts[] = {"threads", "seed", "node_limit", "iteration_limit", "work_limit", "memory_limit",
                                  "pool_size"};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        FAILS(remat_set_int_option(m, counts[k], INT64_MIN), REMAT_ERROR_ARGUMENT, counts[k]);
    }
    const int senses[] = {0, 2, INT32_MIN};
    for (int k = 0; k < 3; k++) {
        FAILS(remat_set_sense(m, senses[k]), REMAT_ERROR_ARGUMENT, "sense");
    }
    for (int letter = -128; letter < 128; letter++) {
        if (letter == 0 || strchr("CBISN", letter) == NULL) {
            FAILS(remat_set_kind(m, 0, (char)letter), REMAT_ERROR_ARGUMENT, "no kind");
            FAILS(remat_add_col(m, 0, 1, 0, (char)letter, NULL, NULL), REMAT_ERROR_ARGUMENT, "no kind");
        }
    }
    CHECK(remat_num_cols(m) == 2 && remat_num_rows(m) == 1 && remat_num_nonzeros(m) == 2);
    CHECK(remat_num_col_handles(m) == 2 && remat_num_row_handles(m) == 1);
    OK(remat_solve(m));
    OK(remat_get_objective(m, numbers));
    NEAR(numbers[0], 1);
    OK(remat_free(m));
}

static void wrong_lengths(void) {
    RematModel *m = two();
    const int64_t back[] = {0, -1}, far[] = {0, 3}, late[] = {1, 2};
    const int64_t *const parts[] = {back, far, late};
    for (int k = 0; k < 3; k++) {
        FAILS(remat_add_rows(m, 2, ZEROS, ONES, 2, parts[k], BOTH, ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "starts");
        FAILS(remat_lp_call(2, 2, 2, REMAT_BY_ROWS, 1, 0, ZEROS, ZEROS, ONES, ZEROS, ONES, parts[k], BOTH, ONES, NULL,
                            NULL, NULL, NULL, NULL, NULL, NULL, NULL),
              REMAT_ERROR_ARGUMENT, "starts");
    }
    const int32_t least = INT32_MIN;
    FAILS(remat_add_cols(m, least, ZEROS, ONES, ZEROS, NULL, NULL, NULL), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_add_rows(m, least, ZEROS, ONES, 0, PARTS, NULL, NULL, NULL, NULL), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_add_rows(m, 1, ZEROS, ONES, INT64_MIN, PARTS, BOTH, ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "nonzeros");
    FAILS(remat_add_rows(m, 1, ZEROS, ONES, INT64_MAX, PARTS, BOTH, ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "entries");
    FAILS(remat_add_row(m, 0, 1, -1, BOTH, ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "num_nonzeros");
    FAILS(remat_remove_cols(m, -1, BOTH), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_set_products(m, -1, BOTH, BOTH, ONES), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_remove_rows(m, least, BOTH), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_add_start(m, 1, ZEROS), REMAT_ERROR_ARGUMENT, "1 values, there are 2");
    FAILS(remat_add_start(m, -1, ZEROS), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_add_partial_start(m, -1, BOTH, ZEROS), REMAT_ERROR_ARGUMENT, "count");
    OK(remat_solve(m));
    FAILS(remat_get_values(m, 1, numbers), REMAT_ERROR_ARGUMENT, "room for 1");
    FAILS(remat_get_values(m, -1, numbers), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_get_row_values(m, 0, numbers), REMAT_ERROR_ARGUMENT, "room for 0");
    FAILS(remat_get_point(m, -1, numbers, 2, numbers), REMAT_ERROR_ARGUMENT, "number");
    FAILS(remat_get_point(m, INT32_MAX, numbers, 2, numbers), REMAT_ERROR_NO_RESULT, "no point");
    FAILS(remat_get_point(m, 0, numbers, 3, numbers), REMAT_ERROR_ARGUMENT, "room for 3");
    FAILS(remat_get_row_entries(m, 0, 3, whole, numbers), REMAT_ERROR_ARGUMENT, "room for 3");
    OK(remat_remove_rows(m, 1, BOTH));
    OK(remat_set_kind(m, 1, 'C'));
    OK(remat_solve(m));
    FAILS(remat_get_duals(m, 0, numbers), REMAT_ERROR_ARGUMENT, "there are 1");
    FAILS(remat_get_reduced_costs(m, 3, numbers), REMAT_ERROR_ARGUMENT, "there are 2");
    FAILS(remat_get_col_basis(m, 9, letters), REMAT_ERROR_ARGUMENT, "there are 2");
    FAILS(remat_get_row_basis(m, 9, letters), REMAT_ERROR_ARGUMENT, "there are 1");
    const int32_t *const handles[] = {OUTSIDE, BELOW};
    for (int k = 0; k < 2; k++) {
        const int32_t col = handles[k][1];
        FAILS(remat_remove_cols(m, 2, handles[k]), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_remove_rows(m, 2, handles[k]), REMAT_ERROR_ARGUMENT, "row");
        FAILS(remat_add_row(m, 0, 1, 2, handles[k], ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_add_rows(m, 2, ZEROS, ONES, 2, PARTS, handles[k], ONES, NULL, NULL), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_add_partial_start(m, 2, handles[k], ZEROS), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_set_col_bounds(m, col, 0, 1), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_set_cost(m, col, 1), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_set_products(m, 2, BOTH, handles[k], ONES), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_set_kind(m, col, 'C'), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_set_row_sides(m, col, 0, 1), REMAT_ERROR_ARGUMENT, "row");
        FAILS(remat_set_entry(m, col, 0, 1), REMAT_ERROR_ARGUMENT, "row");
        FAILS(remat_get_col(m, col, numbers, NULL, NULL, NULL), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_get_row(m, col, numbers, NULL, NULL), REMAT_ERROR_ARGUMENT, "row");
        FAILS(remat_get_entry(m, 0, col, numbers), REMAT_ERROR_ARGUMENT, "");
        FAILS(remat_set_col_name(m, col, "x"), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_set_row_name(m, col, "x"), REMAT_ERROR_ARGUMENT, "row");
        FAILS(remat_get_col_name(m, col, letters, 8, NULL), REMAT_ERROR_ARGUMENT, "column");
        FAILS(remat_get_row_name(m, col, letters, 8, NULL), REMAT_ERROR_ARGUMENT, "row");
    }
    OK(remat_free(m));
}

static void wrong_pointers(void) {
    RematModel *m = two();
    uint64_t size = 7;
    int status;
    /* An output that cannot be written to is found before anything is done. */
    int32_t *odd = (int32_t *)(void *)((char *)whole + 1);
    double *odd_double = (double *)(void *)((char *)numbers + 1);
    FAILS(remat_add_col(m, 0, 1, 0, 'C', NULL, odd), REMAT_ERROR_ARGUMENT, "col");
    FAILS(remat_add_cols(m, 1, ZEROS, ONES, ZEROS, NULL, NULL, odd), REMAT_ERROR_ARGUMENT, "first");
    FAILS(remat_add_row(m, 0, 1, 0, NULL, NULL, NULL, odd), REMAT_ERROR_ARGUMENT, "row");
    FAILS(remat_add_rows(m, 1, ZEROS, ONES, 0, PARTS, NULL, NULL, NULL, odd), REMAT_ERROR_ARGUMENT, "first");
    CHECK(remat_num_cols(m) == 2 && remat_num_rows(m) == 1);
    FAILS(remat_add_cols(m, 1, NULL, ONES, ZEROS, NULL, NULL, NULL), REMAT_ERROR_NULL, "lower");
    FAILS(remat_add_cols(m, 1, ZEROS, NULL, ZEROS, NULL, NULL, NULL), REMAT_ERROR_NULL, "upper");
    FAILS(remat_add_cols(m, 1, odd_double, ONES, ZEROS, NULL, NULL, NULL), REMAT_ERROR_ARGUMENT, "lower");
    FAILS(remat_add_row(m, 0, 1, 1, NULL, ONES, NULL, NULL), REMAT_ERROR_NULL, "cols");
    FAILS(remat_add_row(m, 0, 1, 1, BOTH, NULL, NULL, NULL), REMAT_ERROR_NULL, "values");
    FAILS(remat_add_rows(m, 1, ZEROS, ONES, 1, NULL, BOTH, ONES, NULL, NULL), REMAT_ERROR_NULL, "starts");
    FAILS(remat_remove_cols(m, 1, NULL), REMAT_ERROR_NULL, "cols");
    FAILS(remat_set_products(m, 1, NULL, BOTH, ONES), REMAT_ERROR_NULL, "first");
    FAILS(remat_set_products(m, 1, BOTH, NULL, ONES), REMAT_ERROR_NULL, "second");
    FAILS(remat_set_products(m, 1, BOTH, BOTH, NULL), REMAT_ERROR_NULL, "factors");
    FAILS(remat_remove_rows(m, 1, NULL), REMAT_ERROR_NULL, "rows");
    FAILS(remat_get_row_entries(m, 0, 2, NULL, numbers), REMAT_ERROR_NULL, "cols");
    FAILS(remat_get_row_entries(m, 0, 2, whole, NULL), REMAT_ERROR_NULL, "values");
    FAILS(remat_get_entry(m, 0, 0, NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_set_name(m, NULL), REMAT_ERROR_NULL, "name");
    FAILS(remat_set_col_name(m, 0, NULL), REMAT_ERROR_NULL, "name");
    FAILS(remat_set_row_name(m, 0, "\xc3"), REMAT_ERROR_ARGUMENT, "UTF-8");
    FAILS(remat_get_name(m, NULL, 8, NULL), REMAT_ERROR_NULL, "buffer");
    FAILS(remat_get_col_name(m, 0, NULL, 0, NULL), REMAT_ERROR_ARGUMENT, "0 bytes");
    FAILS(remat_get_row_name(m, 0, letters, 1, NULL), REMAT_ERROR_ARGUMENT, "1 bytes");
    FAILS(remat_col_by_name(m, NULL, whole), REMAT_ERROR_NULL, "name");
    FAILS(remat_col_by_name(m, "C0", NULL), REMAT_ERROR_NULL, "col");
    FAILS(remat_row_by_name(m, "R0", odd), REMAT_ERROR_ARGUMENT, "row");
    FAILS(remat_read(m, NULL), REMAT_ERROR_NULL, "path");
    FAILS(remat_write(m, NULL), REMAT_ERROR_NULL, "path");
    FAILS(remat_read(m, ""), REMAT_ERROR_FILE, "");
    FAILS(remat_read(m, "."), REMAT_ERROR_FILE, "");
    FAILS(remat_write(m, "/"), REMAT_ERROR_FILE, "");
    FAILS(remat_write(m, "a.mps.bz2"), REMAT_ERROR_FILE, ".bz2");
    FAILS(remat_set_double_option(m, NULL, 1), REMAT_ERROR_NULL, "name");
    FAILS(remat_set_string_option(m, "algorithm", NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_set_string_option(m, "algorithm", "\xff"), REMAT_ERROR_ARGUMENT, "UTF-8");
    FAILS(remat_get_double_option(m, "cutoff", NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_get_int_option(m, "seed", NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_get_bool_option(m, "log", NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_get_bool_option(m, "", &number), REMAT_ERROR_ARGUMENT, "no option");
    FAILS(remat_get_string_option(m, "algorithm", NULL, 8, NULL), REMAT_ERROR_NULL, "buffer");
    FAILS(remat_set_int_option(m, "log", 1), REMAT_ERROR_ARGUMENT, "bool");
    FAILS(remat_add_start(m, 2, NULL), REMAT_ERROR_NULL, "values");
    FAILS(remat_add_partial_start(m, 1, NULL, ZEROS), REMAT_ERROR_NULL, "cols");
    FAILS(remat_add_partial_start(m, 1, BOTH, NULL), REMAT_ERROR_NULL, "values");
    OK(remat_solve(m));
    FAILS(remat_get_objective(m, NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_get_nodes(m, NULL), REMAT_ERROR_NULL, "value");
    FAILS(remat_get_values(m, 2, odd_double), REMAT_ERROR_ARGUMENT, "values");
    FAILS(remat_get_point(m, 0, NULL, 2, NULL), REMAT_ERROR_NULL, "values");
    numbers[0] = 7;
    FAILS(remat_get_point(m, 0, odd_double, 2, numbers), REMAT_ERROR_ARGUMENT, "objective");
    FAILS(remat_get_col(m, 0, numbers, odd_double, NULL, NULL), REMAT_ERROR_ARGUMENT, "upper");
    CHECK(numbers[0] == 7);
    FAILS(remat_solve_call("{}", 1, 1, 1, NULL, (uint64_t *)(void *)((char *)&size + 1), NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "cost");
    FAILS(remat_solve_call("", 1, 1, 1, NULL, &size, NULL, NULL, &status), REMAT_ERROR_ARGUMENT, "instance_json");
    FAILS(remat_plan("{}", "\xff", NULL, NULL, 0, NULL, NULL, &status), REMAT_ERROR_ARGUMENT, "UTF-8");
    FAILS(remat_plan("{}", "1", NULL, NULL, INT64_MAX, NULL, NULL, &status), REMAT_ERROR_NULL, "names");
    FAILS(remat_solve_call("\xff", 1, 1, 1, NULL, &size, NULL, NULL, &status), REMAT_ERROR_ARGUMENT, "UTF-8");
    FAILS(remat_solve_call("[[[[[[[[", 1, 1, 1, NULL, &size, NULL, NULL, &status), REMAT_ERROR_ARGUMENT, "");
    CHECK(size == 7);
    FAILS(remat_mip_call(1, 1, 1, REMAT_BY_ROWS, 1, 0, ZEROS, ZEROS, ONES, ZEROS, NULL, PARTS, BOTH, ONES, NULL, 1,
                         NULL, NULL, NULL, NULL, NULL),
          REMAT_ERROR_NULL, "row_upper");
    FAILS(remat_lp_call(1, 1, 1, REMAT_BY_ROWS, 1, 0, ZEROS, ZEROS, ONES, ZEROS, ONES, PARTS, BOTH, ONES, odd_double,
                        NULL, NULL, NULL, NULL, NULL, NULL, NULL),
          REMAT_ERROR_ARGUMENT, "col_value");
    OK(remat_free(m));
}

int main(int count, char **arguments) {
    char path[1024];
    CHECK(count == 2 && snprintf(path, sizeof path, "%s/hostile.mps", arguments[1]) < (int)sizeof path);
    file = path;
    wrong_handles();
    wrong_numbers();
    wrong_lengths();
    wrong_pointers();
    bad_times(path);
    puts("all right");
    return 0;
}
