// Declares what the files share that make the naive program: program.c has its names, sizes and buffers, nests.c the
// nests of computes and scans, call.c those of calls of intrinsics, and definitions.c those of updates.
#pragma once
#include "te/internal.h"

typedef struct nw_te_place_of { // the buffer of output `out` of an operation
  const nw_teop *op;
  int out;
  const char *buffer;
} nw_te_place_of;

typedef struct nw_te_renaming { // the replacement of a symbol
  const char *symbol;
  const nw_expr *to;
} nw_te_renaming;

typedef struct nw_te_maker {
  nw_ctx *ctx;
  nw_program *p;
  nw_vec order; // const nw_teop *
  nw_vec nests; // nw_stmt *, the statements of the root
  const nw_teop *only; // for the program of a single operation: all other operations become inputs
  char **name; // for each operation of `order`, the name of its stages and buffers
  char **inner; // the names of the stages inside the scans of `order`, in its order
  int ninner;
  nw_te_place_of *at;
  int nat;
  nw_te_renaming *size;
  int nsize;
  const nw_teop *reading; // the operation whose bodies are being converted
  nw_te_renaming *var; // replacements of the variables of the current block
  int nvar;
} nw_te_maker;

const char *nw_te_name_of(const nw_te_maker *m, const nw_teop *op);
const char *nw_te_inner_name(const nw_te_maker *m, const nw_teop *scan, int i);
void nw_te_add_buffer(nw_te_maker *m, const nw_teop *op, const char *name, int out, nw_role role);
void nw_te_map_buffer(nw_te_maker *m, const nw_teop *op, int out, const char *buffer);
const char *nw_te_buffer_of(const nw_te_maker *m, const nw_teop *op, int out);
// Returns e with the sizes, the variables of the current block and the buffers of the program. Reads are those of
// m->reading.
const nw_expr *nw_te_plain(nw_te_maker *m, const nw_expr *e);
// Returns a variable whose name differs from those of the n variables and of the sizes.
const nw_expr *nw_te_fresh_var(nw_te_maker *m, const nw_block_var *var, int n, const char *want);
bool nw_te_is_size(const nw_te_maker *m, const char *name);

// ---- nests.c

// A block that is being built, and the loops around it, outermost first.
typedef struct nw_te_nest {
  nw_stmt *outer, *inner, *block;
} nw_te_nest;

// Adds a loop inside the nest.
nw_stmt *nw_te_enclose(nw_te_maker *m, nw_te_nest *n, const char *name, const nw_expr *begin, const nw_expr *extent);
void nw_te_close_nest(nw_te_maker *m, nw_te_nest *n);
nw_stmt *nw_te_new_block(nw_te_maker *m, const char *name, int nvars, int ntargets);
void nw_te_add_var(nw_te_maker *m, nw_stmt *b, const char *symbol, const char *name, nw_var_kind kind,
                   const nw_expr *lo, const nw_expr *extent, const nw_expr *bind);
// Gives the block of a compute its variables, which are bound to these loops, and its targets.
void nw_te_fill_block(nw_te_maker *m, nw_stmt *block, const nw_teop *op, nw_stmt *const *axis, nw_stmt *const *reduce);
nw_stmt *nw_te_compute_nest(nw_te_maker *m, const nw_teop *op);
// Makes the nest that writes the first rows of a state. If the scan absorbs the init (nw_te_absorbs_init) and the init
// has no buffer, the nest has the body of the init. Otherwise the nest copies the init tensor, and its loops have the
// names of the update's axes.
nw_stmt *nw_te_init_nest(nw_te_maker *m, const nw_teop *scan, int k);
// Makes the loop over the time steps, with the updates and the stages inside the scan.
nw_stmt *nw_te_time_loop(nw_te_maker *m, const nw_teop *scan);

// Makes the nest that writes the values before the updates: the body of a compute that is updated, or a copy.
nw_stmt *nw_te_first_nest(nw_te_maker *m, const nw_teop *op);

// ---- call.c
// Makes the nest of a stage that calls of an intrinsic compute. *init is a statement that must run before it, or NULL.
nw_stmt *nw_te_call_nest(nw_te_maker *m, const nw_teop *op, nw_stmt **init);

// ---- definitions.c
// Makes the nest of definition d of an update, and returns its outermost loop. `loop` has the loops of the definition
// before it, and gets those of this one.
nw_stmt *nw_te_definition(nw_te_maker *m, const nw_teop *op, int d, nw_stmt **loop);
