// Arguments of a step. Private to sched/.
#pragma once
#include "sched/sched.h"

int nw_param_count(const nw_primitive *row);
bool nw_args_resolve(
    nw_step *st); // st->args checked against the row and copied to st->resolved; loops have name and id
// An EXPR or COND as an expression of the program: text is read, the user's sizes become the program's (exprs.c).
bool nw_arg_written(nw_step *st, const nw_param *param, nw_arg *a);
// No division by what may be zero in what is written, where the step is about (divisions.c).
bool nw_args_divide(nw_step *st);
nw_arg nw_arg_copy(nw_arena *arena, nw_pool *pool, const nw_arg *a);
nw_arg *nw_args_copy(nw_arena *arena, nw_pool *pool, const nw_primitive *row, const nw_arg *args);
char *nw_step_show(const nw_primitive *row, const nw_arg *args); // s:split("i", 32, {tail = "cut"}); heap
