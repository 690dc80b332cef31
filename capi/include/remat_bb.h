/*
 * remat_bb.h: the C interface of remat-bb.
 *
 * Linear programs, programs with integers, and rematerialization plans. docs/reference/c-api.md has the build, the link flags
 * and an example. C99 and C++.
 *
 * Errors
 *   Functions that return int give REMAT_OK (0) or a REMAT_ERROR_ number, but for counts and statuses, which are -1
 *   for an error. remat_last_error() has the text of the last error on the calling thread, remat_get_error() that of
 *   a model. After an error outputs are as they were, unless a function says otherwise. No call ends the process, but
 *   for an end of memory.
 *
 * Handles
 *   A RematModel* is a number that nothing is behind: one that was freed, or was never given out, is
 *   REMAT_ERROR_HANDLE. Columns and rows have handles from 0 up in order of creation, which are never given out again:
 *   they keep their meaning when others are removed. "By handle" is said of vectors with one entry for each handle
 *   given out (remat_num_col_handles, remat_num_row_handles); entries of removed ones are NaN, or '-'. Programs from
 *   which nothing is removed have the indices that other solvers give.
 *
 * Numbers
 *   Bounds and sides from 1e20 on are infinite. Costs, entries and constants are finite. NaN is refused everywhere, but
 *   in starts, where it stands for "not said". Texts are UTF-8.
 *
 * Ownership
 *   The library keeps no pointer to an array or text of the caller's after a call. Pointers that it returns are the
 *   library's: those of remat_version and remat_status_name are constant, that of remat_last_error is valid until
 *   the next error on its thread. Only texts that a function says are the caller's are freed, by remat_free_text.
 *
 * Threads
 *   Every function may be called from any thread. Calls with one model take turns. While a model is being solved,
 *   whatever is called with it is REMAT_ERROR_BUSY, but for remat_interrupt, remat_get_error and remat_free (which
 *   lets the solve end). Solves, reads and writes run on threads of the library's own: the calling one needs 64 KiB of
 *   stack. Callbacks come one at a time, on the thread that called remat_solve. None of this may be called in a signal
 *   handler.
 *
 * Safety
 *   The caller promises: an array has as many entries as are said, a text ends with a NUL, an output or a buffer can
 *   be written to, and nobody changes any of them during the call. Null pointers and wrong alignment are found and
 *   refused. Callbacks return: no longjmp, no exception of C++ leaves them.
 */
#ifndef REMAT_BB_H
#define REMAT_BB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program with its options, starts, callbacks and answer. */
typedef struct RematModel RematModel;

enum {
    REMAT_OK = 0,
    REMAT_ERROR_NULL = 1,      /* a pointer is null where it must not be */
    REMAT_ERROR_HANDLE = 2,    /* a model was freed, or is none */
    REMAT_ERROR_ARGUMENT = 3,  /* a number, length, name or text makes no sense */
    REMAT_ERROR_FILE = 4,      /* a file cannot be read or written */
    REMAT_ERROR_NO_RESULT = 5, /* the last solve has no such result */
    REMAT_ERROR_BUSY = 6,      /* the model is being solved */
    REMAT_ERROR_SOLVE = 7,     /* the solve could not be carried out */
    REMAT_ERROR_INTERNAL = 8   /* a defect of the library */
};

enum {
    REMAT_STATUS_NONE = 0,             /* not solved since the last edit */
    REMAT_STATUS_OPTIMAL = 1,          /* optimal, within the gaps where there are integers */
    REMAT_STATUS_INFEASIBLE = 2,       /* no point exists */
    REMAT_STATUS_UNBOUNDED = 3,        /* the objective has no limit */
    REMAT_STATUS_CUTOFF = 4,           /* nothing is better than the cutoff */
    REMAT_STATUS_TIME_LIMIT = 5,
    REMAT_STATUS_NODE_LIMIT = 6,
    REMAT_STATUS_ITERATION_LIMIT = 7,
    REMAT_STATUS_MEMORY_LIMIT = 8,
    REMAT_STATUS_WORK_LIMIT = 9,
    REMAT_STATUS_INTERRUPTED = 10,     /* by remat_interrupt or by a callback */
    REMAT_STATUS_NUMERIC = 11,         /* numerical trouble that no remedy cured */
    REMAT_STATUS_FEASIBLE = 12,        /* of plans: one that is not proven best */
    REMAT_STATUS_LIMIT = 13,           /* of plans: a limit, and none was found */
    REMAT_STATUS_INFEASIBLE_OR_UNBOUNDED = 14 /* the relaxation has no limit, and no point was found */
};

enum { REMAT_MINIMISE = 1, REMAT_MAXIMISE = -1 };

enum { REMAT_BY_COLUMNS = 1, REMAT_BY_ROWS = 2 };

/* ---- Version, errors, texts ------------------------------------------------------------------------------------ */

/* The version of the library, as "0.1.0". */
const char *remat_version(void);

/* Text of the last error on the calling thread; empty before the first. */
const char *remat_last_error(void);

/* Words of a status; NULL for a number that is none. */
const char *remat_status_name(int status);

/* Frees a text that is the caller's. NULL is fine; a text that was freed already is REMAT_ERROR_HANDLE. */
int remat_free_text(char *text);

/* ---- One call ---------------------------------------------------------------------------------------------------
 *
 * min or max  cost^T x + offset   subject to   row_lower <= A x <= row_upper,  col_lower <= x <= col_upper
 *
 * A has num_nonzeros entries, compressed by columns (starts has num_cols numbers, indices are rows) or by rows (starts
 * has num_rows numbers, indices are columns). Part k is indices[starts[k]] up to indices[starts[k + 1]], the last part
 * ends at num_nonzeros; a further number in starts is not read. Entries of one place are added up.
 *
 * Outputs may be NULL each. col_value, reduced_cost and col_basis have num_cols entries, row_value, row_dual and
 * row_basis num_rows. Without a point they are NaN and '-'. Settings are the defaults.
 */

/* Solves a linear program. Duals are the change of the objective per unit of a side, reduced costs are
 * cost - A^T dual. Letters of a basis: 'B' basic, 'L' at the lower side, 'U' at the upper, 'F' free at 0. */
int remat_lp_call(int32_t num_cols, int32_t num_rows, int64_t num_nonzeros, int format, int sense, double offset,
                  const double *cost, const double *col_lower, const double *col_upper, const double *row_lower,
                  const double *row_upper, const int64_t *starts, const int32_t *indices, const double *values,
                  double *col_value, double *reduced_cost, double *row_value, double *row_dual, char *col_basis,
                  char *row_basis, double *objective, int *status);

/* Solves a program with integers: kinds has a letter for each column ('C' continuous, 'B' binary, 'I' integer); NULL
 * for continuous columns. time_limit is in seconds, INFINITY for none. No point is better than bound. */
int remat_mip_call(int32_t num_cols, int32_t num_rows, int64_t num_nonzeros, int format, int sense, double offset,
                   const double *cost, const double *col_lower, const double *col_upper, const double *row_lower,
                   const double *row_upper, const int64_t *starts, const int32_t *indices, const double *values,
                   const char *kinds, double time_limit, double *col_value, double *row_value, double *objective,
                   double *bound, int *status);

/* Finds the plan of least cost of a training step within budget_bytes bytes, fixed memory included.
 *
 * instance_json   a remat-instance/1 document or a NetworkX node-link graph (docs/reference/formats.md)
 * time_limit      seconds; INFINITY for a fixed amount of work, whose answer is the same on any number of threads
 * threads         0 for one per core
 * plan_json       the plan as a remat-plan/1 document: the caller's, freed by remat_free_text; NULL without a plan
 * cost            of the plan, in the instance's unit; UINT64_MAX without one
 * bound           no plan costs less
 * peak_bytes      of the plan; UINT64_MAX without one
 * status          REMAT_STATUS_OPTIMAL (within 0.01%), _FEASIBLE, _INFEASIBLE or _LIMIT
 *
 * Outputs may be NULL each. A budget that nothing fits is a status, not an error. */
int remat_solve_call(const char *instance_json, uint64_t budget_bytes, double time_limit, int32_t threads,
                     char **plan_json, uint64_t *cost, uint64_t *bound, uint64_t *peak_bytes, int *status);

/* The same with every option of a solve, and with the answer that `remat-bb solve --json` prints.
 *
 * budget          bytes, an amount such as "6GiB", or a share of the peak without recomputation such as "60%"
 * names, values   count pairs: options of `remat-bb solve` with `_` for `-`, such as "gap", "1%"; "offload", "pcie4";
 *                 "reorder", "true". Both may be NULL where count is 0
 * plan_json       the plan as a remat-plan/1 document: the caller's, freed by remat_free_text; NULL without a plan
 * answer_json     status, objective, bound, gap, peak_memory_bytes and the other fields: the caller's as well
 *
 * Outputs may be NULL each. REMAT_ERROR_ARGUMENT names an option that does not exist or whose value makes no sense. */
int remat_plan(const char *instance_json, const char *budget, const char *const *names, const char *const *values,
               int64_t count, char **plan_json, char **answer_json, int *status);

/* ---- Models ----------------------------------------------------------------------------------------------------- */

/* An empty program, to be minimised; NULL for an error. */
RematModel *remat_create(void);

/* Frees a program. NULL is fine; one that was freed already is REMAT_ERROR_HANDLE. */
int remat_free(RematModel *model);

/* Text of the last error with a model; empty before the first.
 *
 * Texts go into a buffer of room bytes, the NUL included. needed, which may be NULL, takes the bytes that are needed;
 * where there is less room, that is all that is written and REMAT_ERROR_ARGUMENT returned. With buffer NULL and room 0
 * a call only asks for that number. So it is with every function that has these three. */
int remat_get_error(const RematModel *model, char *buffer, size_t room, size_t *needed);

/* ---- Edits ------------------------------------------------------------------------------------------------------
 *
 * An edit takes the answer of the last solve away. One that is an error changes nothing else.
 */

/* Sets the sense: REMAT_MINIMISE or REMAT_MAXIMISE. */
int remat_set_sense(RematModel *model, int sense);

/* Sets the constant of the objective. */
int remat_set_offset(RematModel *model, double offset);

/* Adds a column without entries: 'C' continuous, 'B' binary, 'I' integer, 'S' semi-continuous (0 or within its bounds),
 * 'N' semi-integer. name and col (its handle) may be NULL. */
int remat_add_col(RematModel *model, double lower, double upper, double cost, char kind, const char *name,
                  int32_t *col);

/* Adds columns without entries. kinds (NULL: all continuous), names and each of them, and first may be NULL. Handles
 * follow that of the first. */
int remat_add_cols(RematModel *model, int32_t count, const double *lower, const double *upper, const double *cost,
                   const char *kinds, const char *const *names, int32_t *first);

/* Adds a row, lower <= values^T x[cols] <= upper. Entries of one column are added up. name and row may be NULL. */
int remat_add_row(RematModel *model, double lower, double upper, int32_t num_nonzeros, const int32_t *cols,
                  const double *values, const char *name, int32_t *row);

/* Adds rows, compressed by rows as in remat_lp_call; starts has count numbers. names and each of them, and first may be
 * NULL. */
int remat_add_rows(RematModel *model, int32_t count, const double *lower, const double *upper, int64_t num_nonzeros,
                   const int64_t *starts, const int32_t *cols, const double *values, const char *const *names,
                   int32_t *first);

/* Sets the bounds of a column. */
int remat_set_col_bounds(RematModel *model, int32_t col, double lower, double upper);

/* Sets the cost of a column. */
int remat_set_cost(RematModel *model, int32_t col, double cost);

/* Sets the quadratic part of the objective: the sum of factors[k] * first[k] * second[k]. Repeated products are added
 * up, 0 products remove it. A minimised objective must be convex, a maximised one concave, except for products that
 * have a linear form: those with a binary factor, and those of bounded columns of which one is integer. */
int remat_set_products(RematModel *model, int64_t count, const int32_t *first, const int32_t *second,
                       const double *factors);

/* Sets the kind of a column: 'C', 'B', 'I', 'S' or 'N'. */
int remat_set_kind(RematModel *model, int32_t col, char kind);

/* Sets the sides of a row. */
int remat_set_row_sides(RematModel *model, int32_t row, double lower, double upper);

/* Sets the entry of a row in a column; 0 removes it. Takes time by the length of the row. */
int remat_set_entry(RematModel *model, int32_t row, int32_t col, double value);

/* Removes columns and their entries, in one pass over the program. */
int remat_remove_cols(RematModel *model, int32_t count, const int32_t *cols);

/* Removes rows. */
int remat_remove_rows(RematModel *model, int32_t count, const int32_t *rows);

/* ---- Looks at the program --------------------------------------------------------------------------------------- */

/* Number of columns, of rows, of entries that are not 0; -1 for an error. */
int32_t remat_num_cols(const RematModel *model);
int32_t remat_num_rows(const RematModel *model);
int64_t remat_num_nonzeros(const RematModel *model);

/* Number of handles given out so far: the length of vectors by handle; -1 for an error. */
int32_t remat_num_col_handles(const RematModel *model);
int32_t remat_num_row_handles(const RematModel *model);

/* Sense and constant of the objective. Outputs may be NULL. */
int remat_get_objective_sense(const RematModel *model, int *sense, double *offset);

/* Bounds, cost and kind of a column. Outputs may be NULL. */
int remat_get_col(const RematModel *model, int32_t col, double *lower, double *upper, double *cost, char *kind);

/* Sides of a row and the number of its entries. Outputs may be NULL. */
int remat_get_row(const RematModel *model, int32_t row, double *lower, double *upper, int32_t *num_nonzeros);

/* Entries of a row: num_nonzeros is the number that remat_get_row says. */
int remat_get_row_entries(const RematModel *model, int32_t row, int32_t num_nonzeros, int32_t *cols,
                          double *values);

/* The entry of a row in a column, 0 where there is none. */
int remat_get_entry(const RematModel *model, int32_t row, int32_t col, double *value);

/* ---- Names ------------------------------------------------------------------------------------------------------
 *
 * A column without a name of its own has its handle behind a C, a row its handle behind an R. Names are no edits.
 */

int remat_set_name(RematModel *model, const char *name);
int remat_get_name(const RematModel *model, char *buffer, size_t room, size_t *needed);
int remat_set_col_name(RematModel *model, int32_t col, const char *name);
int remat_set_row_name(RematModel *model, int32_t row, const char *name);
int remat_get_col_name(const RematModel *model, int32_t col, char *buffer, size_t room, size_t *needed);
int remat_get_row_name(const RematModel *model, int32_t row, char *buffer, size_t room, size_t *needed);

/* Handle of the first column, or row, of a name; REMAT_ERROR_ARGUMENT where there is none. */
int remat_col_by_name(RematModel *model, const char *name, int32_t *col);
int remat_row_by_name(RematModel *model, const char *name, int32_t *row);

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* Reads a program in the place of the present one: an LP file (.lp), an AMPL file (.nl; its starting point becomes a
 * start), or an MPS file (any other name); LP and MPS files may be gzipped. Options and callbacks stay, starts go. */
int remat_read(RematModel *model, const char *path);

/* Writes the program as an LP file (.lp) or an MPS file, gzipped where the name ends in .gz; names with the ending of
 * another compression are refused. Handles are not kept: columns and rows are in order. */
int remat_write(const RematModel *model, const char *path);

/* The first number of the file that was read that has more digits than a double holds, and was rounded, with its place;
 * an empty text without one. */
int remat_get_rounded(const RematModel *model, char *buffer, size_t room, size_t *needed);

/* ---- Options ----------------------------------------------------------------------------------------------------
 *
 * double  time_limit              seconds from remat_solve on; INFINITY (default) for none
 *         relative_gap            the solve ends at |objective - bound| <= relative_gap * |objective|; 1e-7
 *         absolute_gap            the same without the factor; 1e-9
 *         cutoff                  only better points are wanted; INFINITY (default) or -INFINITY for none
 *         feasibility_tolerance   largest violation of a row or bound, 1e-10 to 1e-3; 1e-6
 *         integrality_tolerance   largest distance from an integer in a relaxation, 1e-10 to 1e-3; 1e-6
 *         optimality_tolerance    largest violation of a reduced cost in a linear program; 1e-7
 * int     threads                 0 (default) for one per core. The answer does not depend on it
 *         seed                    of all random choices; 0
 *         node_limit              nodes of the tree; -1 (default) for none, as in the next three
 *         iteration_limit         simplex iterations of a linear program
 *         work_limit              deterministic units, about one per entry of the matrix touched
 *         memory_limit            bytes of open nodes
 *         pool_size               points that are kept; 1
 * bool    presolve, cuts, heuristics   1
 *         recognise               published rematerialization programs are solved as such; 1
 *         opportunistic           faster on several threads, and not the same in every run; 0
 *         exact                   the answer is settled in rational numbers, and gaps with their defaults are 0; 0.
 *                                 Programs of files whose numbers were rounded are refused
 *         log                     lines go to the log callback, where there is one; 1
 * string  algorithm               of linear programs: auto, primal, dual or barrier
 *         node_selection          best-estimate, best-bound or depth-first
 *
 * A value that makes no sense is REMAT_ERROR_ARGUMENT and changes nothing.
 */

int remat_set_double_option(RematModel *model, const char *name, double value);
int remat_set_int_option(RematModel *model, const char *name, int64_t value);
int remat_set_bool_option(RematModel *model, const char *name, int value);
int remat_set_string_option(RematModel *model, const char *name, const char *value);
int remat_get_double_option(const RematModel *model, const char *name, double *value);
int remat_get_int_option(const RematModel *model, const char *name, int64_t *value);
int remat_get_bool_option(const RematModel *model, const char *name, int *value);
int remat_get_string_option(const RematModel *model, const char *name, char *buffer, size_t room, size_t *needed);

/* ---- Starts ----------------------------------------------------------------------------------------------------- */

/* Adds a point to start from: values by handle, NaN for those that are not said, which a short search finds. Starts
 * that no feasible point has are left out by the solve. They stay until they are cleared; linear programs have no use
 * for them. */
int remat_add_start(RematModel *model, int32_t count, const double *values);

/* Adds a point to start from, of which count columns are said. */
int remat_add_partial_start(RematModel *model, int32_t count, const int32_t *cols, const double *values);

/* Takes all starts away. */
int remat_clear_starts(RematModel *model);

/* ---- Callbacks --------------------------------------------------------------------------------------------------
 *
 * user goes to the function as it is. A callback of NULL is none. They hold the search up.
 */

/* A look at a search. Later versions may have further members at the end. */
typedef struct RematProgress {
    double seconds;     /* since the start */
    double objective;   /* of the best point; NaN without one */
    double bound;       /* no point is better */
    int64_t nodes;      /* done */
    int64_t open_nodes;
    int64_t iterations; /* of the simplex methods */
} RematProgress;

/* Takes a look after each round of nodes. Not 0 ends the solve with the best point so far. */
typedef int (*RematProgressCallback)(const RematProgress *progress, void *user);

/* Takes each better point: count values by handle. Not 0 ends the solve with the best point so far. */
typedef int (*RematIncumbentCallback)(double objective, int32_t count, const double *values, void *user);

/* Takes a line, without its end. */
typedef void (*RematLogCallback)(const char *line, void *user);

/* Set the functions that follow programs with integers, and, for the log, linear programs. */
int remat_set_progress_callback(RematModel *model, RematProgressCallback callback, void *user);
int remat_set_incumbent_callback(RematModel *model, RematIncumbentCallback callback, void *user);
int remat_set_log_callback(RematModel *model, RematLogCallback callback, void *user);

/* ---- Solves ----------------------------------------------------------------------------------------------------- */

/* Solves the program: one without integers by the simplex methods, others by branch and cut. A limit, an infeasible or
 * an unbounded program is a status, not an error. */
int remat_solve(RematModel *model);

/* Ends the solve at work, if there is one, with the best point so far. From any thread, and from callbacks. */
int remat_interrupt(RematModel *model);

/* ---- Results ----------------------------------------------------------------------------------------------------
 *
 * Of the last solve. What it does not have is REMAT_ERROR_NO_RESULT. count is remat_num_col_handles or
 * remat_num_row_handles.
 */

/* A REMAT_STATUS_ number; -1 for an error. */
int remat_get_status(const RematModel *model);

/* Objective of the best point, in the program's sense, with its constant. */
int remat_get_objective(const RematModel *model, double *value);

/* The number that no point is better than. */
int remat_get_bound(const RematModel *model, double *value);

/* |objective - bound| / max(1e-10, |objective|); INFINITY without a point. */
int remat_get_gap(const RematModel *model, double *value);

/* Seconds that the solve took. */
int remat_get_seconds(const RematModel *model, double *value);

/* Nodes of the tree, and simplex iterations. */
int remat_get_nodes(const RematModel *model, int64_t *value);
int remat_get_iterations(const RematModel *model, int64_t *value);

/* Nodes of the training graph, where the program was recognised and solved as a rematerialization program; else 0. */
int remat_get_recognised(const RematModel *model, int64_t *value);

/* Objective and bound as fractions, p/q or p, with the option exact. */
int remat_get_exact_objective(const RematModel *model, char *buffer, size_t room, size_t *needed);
int remat_get_exact_bound(const RematModel *model, char *buffer, size_t room, size_t *needed);

/* Values of the best point by handle. Those of integer columns are integers. */
int remat_get_values(const RematModel *model, int32_t count, double *values);

/* Activities A x of the rows at the best point, by handle. */
int remat_get_row_values(const RematModel *model, int32_t count, double *values);

/* Of a linear program: by row the change of the objective per unit of its side; by column cost - A^T dual. */
int remat_get_duals(const RematModel *model, int32_t count, double *values);
int remat_get_reduced_costs(const RematModel *model, int32_t count, double *values);

/* Of a linear program, letters by handle: 'B' basic, 'L' at the lower side, 'U' at the upper, 'F' free at 0, '-'
 * removed. They are no text: no NUL ends them. */
int remat_get_col_basis(const RematModel *model, int32_t count, char *values);
int remat_get_row_basis(const RematModel *model, int32_t count, char *values);

/* Of an infeasible linear program: multipliers y by row, whose combined row y^T A x would have to lie where the
 * columns' bounds do not let it: y^T A x >= sum of y_i * (row_lower_i if y_i > 0, row_upper_i if y_i < 0) holds for
 * every x within the rows, and for none within the columns' bounds. */
int remat_get_farkas(const RematModel *model, int32_t count, double *values);

/* Of an unbounded linear program: a direction by column in which the objective improves without end from the point of
 * remat_get_values. */
int remat_get_ray(const RematModel *model, int32_t count, double *values);

/* Number of points that were kept (option pool_size); -1 for an error. */
int32_t remat_num_points(const RematModel *model);

/* Point of a number from 0, the best first. objective may be NULL. */
int remat_get_point(const RematModel *model, int32_t number, double *objective, int32_t count, double *values);

#ifdef __cplusplus
}
#endif

#endif
