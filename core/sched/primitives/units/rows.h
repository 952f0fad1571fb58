// The rows of tensors that a unit uses, and its executions that use given rows. Private to units/.
#pragma once
#include "sched/sched.h"

// An index of a block in the unit, along dimension `dim` of a buffer outside of it.
typedef struct nw_row {
  const nw_stmt *block;
  const nw_buffer *buffer;
  int dim;
  const nw_expr *index; // in terms of loops
  int64_t coef[NW_MAX_DEPTH]; // of each loop around the unit; 0 for other statements
  const nw_expr *rest; // the index without these loops
  // For each number: the range of the row in one execution, without the part that the number adds.
  const nw_expr *least[NW_MAX_DEPTH], *most[NW_MAX_DEPTH];
  bool moves; // true if a number moves it
  const nw_expr *last; // otherwise: its last value in all executions; NULL if it is not known
} nw_row;

// The loops that number the executions of the unit along one dimension.
typedef struct nw_number {
  int n;
  int at[NW_MAX_DEPTH]; // the loops, as positions in `around`; the most significant digit first
  const nw_row *row; // the first row that uses them
  const nw_expr *lo, *hi; // the first and the last execution
  const nw_expr *above; // last computed row - last row that is read; the least if there are several reads
  const nw_expr *ready; // condition that an execution (nw_some_execution) is ready; NULL if each from lo to hi is
  nw_stmt *loop; // the new loop
  const nw_expr *now; // the number of the execution, in terms of the new loop
} nw_number;

typedef struct nw_moving {
  nw_step *st;
  nw_stmt *unit, *loop; // loop: where the unit moves; NULL for the root
  bool reverse; // the unit moves to the stages that it reads, instead of those that read it
  nw_path own, at; // paths of the unit and of its new place
  int naround;
  nw_stmt *around[NW_MAX_DEPTH]; // the loops and guards that hold nothing but the unit, outermost first
  nw_vec row; // nw_row *
  int nnumbers;
  nw_number number[NW_MAX_DEPTH];
  const nw_expr *ready; // reverse: condition that the rows which do not move are computed; NULL if there are none
} nw_moving;

bool nw_allocates(const nw_stmt *s, const char *buffer); // true if the buffer is allocated at or below s
// Finds the rows of the unit, the loops around it that number its executions, and the rows that one execution uses. Makes
// a refusal and returns false if they are not known. Called before the unit is removed from its old place.
bool nw_find_rows(nw_moving *x);
// Finds the executions that one iteration of the new place needs, or those that become ready in it. Called after the
// unit was removed.
void nw_find_executions(nw_moving *x);
int64_t nw_row_step(const nw_row *r, const nw_number *n); // how far the row moves from one execution to the next
int64_t nw_number_weight(const nw_number *n, int i); // weight of digit i
bool nw_is_digit(const nw_number *n, int loop); // true if the loop at this position is a digit of the number
const nw_expr *nw_number_end(const nw_moving *x, const nw_number *n); // the number after the last execution
const nw_expr *nw_some_execution(const nw_moving *x); // stands for the number of an execution in `ready`
