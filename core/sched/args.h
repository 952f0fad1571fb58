// Checks, copies and writes the arguments of a step. Private to sched/.
#pragma once
#include "sched/sched.h"

int nw_param_count(const nw_primitive *row);
// Checks st->args against the row, and copies them to st->resolved with the name and the id of each loop.
bool nw_args_resolve(nw_step *st);
// Converts an argument of kind EXPR or COND to an expression of the program. Parses text, and replaces the user's sizes
// by the program's sizes (exprs.c). Returns false on failure.
bool nw_arg_written(nw_step *st, const nw_param *param, nw_arg *a);
// Checks that e uses no loops. Otherwise reports an error that names the argument.
bool nw_expr_of_sizes(nw_step *st, const nw_param *param, const nw_expr *e);
// Checks that the step's expressions cannot divide by zero at the location where they are used (divisions.c).
bool nw_args_divide(nw_step *st);
nw_arg nw_arg_copy(nw_arena *arena, nw_pool *pool, const nw_arg *a);
nw_arg *nw_args_copy(nw_arena *arena, nw_pool *pool, const nw_primitive *row, const nw_arg *args);
// Writes a number with the digits that are needed to read the same number again: 0, 0.5, inf.
void nw_number_show(nw_str *out, double f);
// Returns the text of a step, for example s:split("i", 32, {tail = "cut"}), as a heap string.
char *nw_step_show(const nw_primitive *row, const nw_arg *args);
