// Represents the parsed text of a loop nest, in which parameters have no values yet. docs/cost.md has the grammar.
#pragma once
#include "access/affine/affine.h"
#include "hw/machine.h" // nw_class
#include "ir/expr/expr.h"

enum {
  NW_TEXT_PARAMS = 64,
  NW_TEXT_SETS = 64,
  NW_TEXT_ARRAYS = 256,
  NW_TEXT_DIMS = 16,
  NW_TEXT_DEPTH = 64, // nested loops and ifs
  NW_TEXT_REFS = 512, // references of a statement
  NW_TEXT_LINES = 20000, // loops, ifs and statements together
};

typedef struct nw_text_param {
  const char *name;
  const nw_expr *value; // may use earlier parameters
} nw_text_param;

typedef struct nw_text_set { // a named set of parameter values: `sizes SMALL: N = 60, M = 70`
  const char *name;
  int n;
  const char **param;
  int64_t *value;
} nw_text_set;

typedef struct nw_text_array {
  const char *name;
  const char *dtype; // NULL if the text has bytes(elem) instead
  int elem;
  int ndim;
  const nw_expr **dim;
  // `pad` is the number of elements added to each row. `align` and `address` are in bytes. Each is NULL if it is not in
  // the text.
  const nw_expr *pad, *align, *address;
  int line, column;
} nw_text_array;

typedef struct nw_text_ref {
  int array, nindex;
  const nw_expr **index;
  int64_t lanes; // number of adjacent elements
  int line, column;
} nw_text_ref;

typedef struct nw_text_ops { // numbers of operations in a value, by class; f64 operations count as f32 operations
  int of[NW_CLASS_COUNT];
  int calls; // number of calls of functions that have no class
} nw_text_ops;

typedef enum nw_text_kind { NW_TEXT_SEQ, NW_TEXT_LOOP, NW_TEXT_IF, NW_TEXT_STMT } nw_text_kind;

typedef struct nw_text_node nw_text_node;
struct nw_text_node {
  nw_text_kind kind;
  int line, column;
  nw_vec kid; // nw_text_node *, of SEQ, LOOP, IF
  const char *name; // LOOP
  const nw_expr *lo, *hi; // LOOP: lo..hi, half-open
  int64_t step; // LOOP
  bool parallel, reversed; // LOOP
  int64_t chunk; // LOOP
  const nw_expr *cond; // IF
  nw_text_node *other; // IF: a SEQ, or NULL
  // STMT: `target op value`, or only a value
  int ntargets; // 1 if the target is an array element; 0 if it is a scalar, or there is none
  const char *scalar; // the target if it is a scalar
  const char *op; // "=", "+=", ...; all except "=" read the target before the value
  const char *value; // the text of the value, with the byte 1 in place of each reference
  int nrefs;
  nw_text_ref *ref; // first the target, if it is an array element; then the references in the value, in source order
  nw_text_ops ops; // the operations of the value and of `op`
};

typedef struct nw_text {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_pool *pool;
  const char *name;
  nw_vec param, set, array; // nw_text_param *, nw_text_set *, nw_text_array *
  nw_vec vec; // nw_vec *: the vectors of the nodes, which nw_text_free frees
  nw_text_node *root;
} nw_text;

// Parses the text of a nest. Returns NULL on failure; the message then begins with "line:column: ".
nw_text *nw_text_parse(nw_ctx *c, const char *text);
// Prints a nest. If given[i] is true, value[i] is printed instead of the value that parameter i has in the text. If
// `given` is NULL, no value is replaced.
void nw_text_print(nw_str *out, const nw_text *t, const bool *given, const int64_t *value);
void nw_text_free(nw_text *t);
nw_text *nw_text_new(nw_ctx *c);
nw_text_node *nw_text_node_new(nw_text *t, nw_text_kind kind);

// Builds the nest of the text, in the arena. `value` has the values of the parameters, in order.
nw_affine_nest *nw_text_nest(nw_ctx *c, nw_arena *a, const nw_text *t, const int64_t *value);
// Finds the value of each parameter. A value that is given by name has priority over a value in the set of sizes. A
// value in the set has priority over the value in the text. `set` is the name of the set, or NULL. Sets given[i] to
// true if the value of parameter i is not from the text. Returns false if a name is unknown, or if a value is not a
// number or is out of range.
bool nw_text_values(nw_ctx *c, const nw_text *t, const char *set, int n, const char *const *name, const int64_t *value,
                    bool *given, int64_t *out);
// Returns a text with the same accesses as a nest.
nw_text *nw_text_of(nw_ctx *c, const nw_affine_nest *n);
