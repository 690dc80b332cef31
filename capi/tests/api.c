/* Every function of remat_bb.h, with right and with wrong arguments, with calls.c and search.c. Ends with 0 where all
 * answers are right. The argument is a folder for files. */
#include "check.h"

#include <pthread.h>

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

static void quadratic(void) {
    RematModel *model = remat_create();
    const int32_t first[] = {0, 1}, second[] = {0, 1};
    const double convex[] = {1, 2}, concave[] = {1, -2};
    double x[2], objective;
    /* x^2 - 3x + 2y^2 - 2y, with y whole. */
    OK(remat_add_col(model, 0, 10, -3, 'C', NULL, NULL));
    OK(remat_add_col(model, 0, 10, -2, 'I', NULL, NULL));
    OK(remat_set_products(model, 2, first, second, convex));
    OK(remat_solve(model));
    CHECK(remat_get_status(model) == REMAT_STATUS_OPTIMAL);
    OK(remat_get_values(model, 2, x));
    OK(remat_get_objective(model, &objective));
    CHECK(fabs(objective + 2.25) < 1e-4 && fabs(x[0] - 1.5) < 1e-2);
    /* -x^2 cannot be minimised. */
    OK(remat_set_kind(model, 1, 'C'));
    OK(remat_set_products(model, 2, first, second, concave));
    FAILS(remat_solve(model), REMAT_ERROR_ARGUMENT, "");
    /* Without products it is linear again. */
    OK(remat_set_products(model, 0, NULL, NULL, NULL));
    OK(remat_solve(model));
    OK(remat_get_objective(model, &objective));
    NEAR(objective, -50);
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

/* min x, 3 x >= a number, with the option exact. */
static void exact(RematModel *model, const char *folder) {
    static const char *const sides[] = {"1", "0.1234567890123456789"};
    char path[1024], text[128];
    for (int k = 0; k < 2; k++) {
        CHECK(snprintf(path, sizeof path, "%s/exact.lp", folder) < (int)sizeof path);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fprintf(file, "Min\n x\nSubject To\n low: 3 x >= %s\nEnd\n", sides[k]) >= 0);
        CHECK(fclose(file) == 0);
        OK(remat_read(model, path));
        OK(remat_get_rounded(model, text, sizeof text, NULL));
        OK(remat_set_bool_option(model, "exact", 0));
        OK(remat_solve(model));
        FAILS(remat_get_exact_bound(model, text, sizeof text, NULL), REMAT_ERROR_NO_RESULT, "option exact");
        OK(remat_set_bool_option(model, "exact", 1));
        if (k == 0) {
            OK(remat_solve(model));
            OK(remat_get_exact_objective(model, text, sizeof text, NULL));
            CHECK(strcmp(text, "1/3") == 0);
            OK(remat_get_exact_bound(model, text, sizeof text, NULL));
            CHECK(strcmp(text, "1/3") == 0);
        } else {
            CHECK(strstr(text, "line 4: row low") != NULL);
            FAILS(remat_solve(model), REMAT_ERROR_ARGUMENT, "more digits than a double holds");
        }
    }
    OK(remat_set_bool_option(model, "exact", 0));
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
    static const char nl[] = "g3 0 1 0\n 2 1 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 0 0 0 0\n 2 2\n 0 0\n"
                             " 0 0 0 0 0\n"
                             "C0\nn0\nO0 0\nn0\nx2\n0 2\n1 1\nr\n2 3\nb\n0 0 2\n0 0 2\nk1\n1\nJ0 2\n0 1\n1 1\n"
                             "G0 2\n0 1\n1 2\n";
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
    exact(copy, folder);
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
    FAILS(remat_set_string_option(model, "algorithm", "interior"), REMAT_ERROR_ARGUMENT, "auto, primal, dual or barrier");
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
    calls();
    linear_with_edits();
    quadratic();
    proofs();
    search();
    names_and_files(arguments[1]);
    options();
    puts("all right");
    return 0;
}
