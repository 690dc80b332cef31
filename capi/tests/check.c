/* Small programs that the programs in C share. */
#include "check.h"

const double COST[] = {3, 2}, LOWER[] = {0, 0}, UPPER[] = {3, 1e30};
const double SIDES_LOWER[] = {-INFINITY, -1e20}, SIDES_UPPER[] = {4, 6};
const double WORTH[] = {10, 13, 7, 8}, WEIGHT[] = {3, 4, 2, 3};
const double ZEROS[] = {0, 0, 0, 0}, ONES[] = {1, 1, 1, 1};
const int32_t FOUR[] = {0, 1, 2, 3};

RematModel *knapsack(void) {
    RematModel *model = remat_create();
    OK(remat_set_sense(model, REMAT_MAXIMISE));
    OK(remat_add_cols(model, 4, ZEROS, ONES, WORTH, "BBBI", NULL, NULL));
    OK(remat_add_row(model, -INFINITY, 7, 4, FOUR, WEIGHT, "weight", NULL));
    return model;
}

RematModel *market_split(int rows, int cols, uint64_t state) {
    enum { MOST = 48 };
    CHECK(cols + 2 <= MOST);
    RematModel *model = remat_create();
    for (int j = 0; j < cols; j++) {
        OK(remat_add_col(model, 0, 1, 0, 'B', NULL, NULL));
    }
    for (int i = 0; i < rows; i++) {
        int32_t entries[MOST];
        double values[MOST], sum = 0;
        for (int j = 0; j < cols; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            entries[j] = j;
            values[j] = (double)((state >> 33) % 100);
            sum += values[j];
        }
        /* Over and under the half, at a cost. */
        for (int side = 0; side < 2; side++) {
            OK(remat_add_col(model, 0, INFINITY, 1, 'C', NULL, &entries[cols + side]));
            values[cols + side] = side ? 1 : -1;
        }
        OK(remat_add_row(model, floor(sum / 2), floor(sum / 2), cols + 2, entries, values, NULL, NULL));
    }
    return model;
}
