/* Programs and plans in one call. */
#include "check.h"

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
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, wrong, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER,
                        starts, by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "cost[1] is NaN");
    CHECK(status == REMAT_STATUS_NONE);
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, starts,
                        far, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "indices[1] is 2");
    FAILS(remat_lp_call(2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER, back,
                        by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
          REMAT_ERROR_ARGUMENT, "starts");
    FAILS(remat_lp_call(-2, 2, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, COST, LOWER, UPPER, SIDES_LOWER, SIDES_UPPER,
                        starts, by_cols, row_values, x, NULL, NULL, NULL, NULL, NULL, NULL, &status),
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
    FAILS(remat_mip_call(4, 1, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, least, most, starts, FOUR,
                         WEIGHT, "BBxB", 60, x, row, &objective, &bound, &status),
          REMAT_ERROR_ARGUMENT, "no kind of column");
    FAILS(remat_mip_call(4, 1, 4, REMAT_BY_ROWS, REMAT_MAXIMISE, 0, WORTH, ZEROS, ONES, least, most, starts, FOUR,
                         WEIGHT, "BBBB", NAN, x, row, &objective, &bound, &status),
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
    const uint64_t budget = peak - 1;
    OK(remat_solve_call(GRAPH, budget, 60, 0, &plan, &cost, &bound, &peak, &status));
    CHECK(status == REMAT_STATUS_OPTIMAL && cost == 22 && bound == 22 && peak <= budget);
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

static void plan_with_options(void) {
    const char *const names[] = {"threads", "reorder", "alignment"};
    const char *const values[] = {"1", "true", "2"};
    const char *const wrong[] = {"1", "perhaps", "2"};
    const char *const unknown[] = {"threads", "colour", "alignment"};
    char *plan = NULL, *answer = NULL;
    int status;
    OK(remat_plan(GRAPH, "100%", names, values, 3, &plan, &answer, &status));
    CHECK(status == REMAT_STATUS_OPTIMAL && strstr(plan, "\"addresses\"") != NULL);
    CHECK(strstr(answer, "\"status\":\"optimal\"") != NULL && strstr(answer, "\"objective\":20") != NULL);
    CHECK(strstr(answer, "\"alignment_bytes\":2") != NULL && strstr(answer, "\"any_order_bound\":20") != NULL);
    OK(remat_free_text(plan));
    OK(remat_free_text(answer));
    OK(remat_plan(GRAPH, "15", NULL, NULL, 0, &plan, &answer, &status));
    CHECK(status == REMAT_STATUS_INFEASIBLE && plan == NULL && strstr(answer, "\"infeasible\"") != NULL);
    OK(remat_free_text(answer));
    OK(remat_plan(GRAPH, "1000", NULL, NULL, 0, NULL, NULL, NULL));
    FAILS(remat_plan(GRAPH, "100%", names, wrong, 3, &plan, &answer, &status), REMAT_ERROR_ARGUMENT, "reorder");
    FAILS(remat_plan(GRAPH, "100%", unknown, values, 3, &plan, &answer, &status), REMAT_ERROR_ARGUMENT, "colour");
    FAILS(remat_plan(GRAPH, "much", names, values, 3, &plan, &answer, &status), REMAT_ERROR_ARGUMENT, "budget");
    FAILS(remat_plan(GRAPH, "100%", names, values, -1, &plan, &answer, &status), REMAT_ERROR_ARGUMENT, "count");
    FAILS(remat_plan(GRAPH, "100%", NULL, values, 3, &plan, &answer, &status), REMAT_ERROR_NULL, "names");
    FAILS(remat_plan(NULL, "100%", names, values, 3, &plan, &answer, &status), REMAT_ERROR_NULL, "instance_json");
}

void calls(void) {
    one_call_linear();
    one_call_integer();
    one_call_plan();
    plan_with_options();
}
