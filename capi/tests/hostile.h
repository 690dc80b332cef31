/* What the two files of the hostile program share. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "check.h"

/* Checks that every function that takes a model, but for those that may be called at any time, gives an error, or -1. */
void every_call_is(RematModel *model, int code);

/* Edits, frees and solves from callbacks and from other threads; small stacks. The path is that of a file to write. */
void bad_times(const char *path);

#endif
