// Intrinsics: small computations implemented by external code.
//
// An intrinsic has a description, the nest that it replaces, and an implementation: a C function
//
//     void symbol(tile, ..., int64_t stride, ..., int64_t constant, ...)
//
// which gets a pointer to the first element of the tile of each argument, in the order of `args`; then, in the same order,
// the distance in elements between neighbours along every dimension whose stride is not fixed; then the constants. It
// reads its inputs and writes its outputs, the whole tile and nothing else; a reduction that does not own its init
// adds to the existing values. Tiles of outputs do not overlap other tiles.
//
// Called intrinsics are verified: only tested intrinsics enter the session's table (check/trial.c).
#pragma once
#include "ir/program/program.h"

#define NW_MAX_TILES 8 // arguments of an intrinsic
#define NW_MAX_TILE_DIMS 8
#define NW_MAX_CONSTANTS 8
#define NW_MAX_WORDS 16 // words of a call: pointers, strides and constants together

typedef struct nw_tile_dim {
  int64_t extent;
  int64_t stride; // fixed, or NW_ANY_STRIDE: passed at the call
  int own; // loop of the description that moves only along this dimension, -1 if the extent is 1
  int64_t step; // ... by this many elements per iteration
} nw_tile_dim;

typedef struct nw_intrinsic_arg {
  const char *name; // a parameter of the description
  nw_dtype dtype;
  bool output;
  int ndim;
  nw_tile_dim dim[NW_MAX_TILE_DIMS];
} nw_intrinsic_arg;

struct nw_intrinsic {
  char *name, *id; // "mm16", "mm16:1c9a2f07": the id depends on every character of the registration
  nw_program *description; // counted; loops around one block
  const nw_stmt *block;
  bool init; // true: a reduction starts from its init; false: it continues from the values in the output
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH]; // loops with more than one iteration
  int nargs;
  nw_intrinsic_arg arg[NW_MAX_TILES];
  char *library, *symbol;
  // Optional: `void *special(const int64_t *words)` in the same library makes, for these strides and constants, a function
  // that takes only the tiles, or returns NULL; used if the strides are constants. Its functions are jump-safe.
  char *special;
  int nconstants;
  int64_t constant[NW_MAX_CONSTANTS];
  bool jump_safe; // holds no lock, owns no memory, calls nothing that does: it can be interrupted at any moment
  void *handle; // of the library, open in the session
};

NW_API const nw_intrinsic *nw_intrinsic_find(nw_ctx *c, const char *name); // by name or id, NULL if there is none
int nw_intrinsic_count(nw_ctx *c);
const nw_intrinsic *nw_intrinsic_at(nw_ctx *c, int i);
// Takes it; it replaces one of the same name, but programs that use the old one keep it.
const nw_intrinsic *nw_intrinsic_add(nw_ctx *c, nw_intrinsic *in);
void nw_intrinsic_free(nw_intrinsic *in);

// Reads the description into the fields above; the caller sets `strides` of the arguments before. False with a
// diagnostic if it cannot be an intrinsic.
bool nw_intrinsic_describe(nw_ctx *c, nw_intrinsic *in, nw_program *description);
// An index of the description: the coefficient of each loop, and the rest. False if it is not affine.
bool nw_intrinsic_index(const nw_intrinsic *in, const nw_expr *e, int64_t *coef, int64_t *rest);
// The id: name and a hash of everything relevant. `content` is the text of the implementation, or NULL.
void nw_intrinsic_identify(nw_intrinsic *in, const char *content, size_t n);

// ---- unify.c: is this nest an instance of that description?

// The position of a tile: the physical position of its first element, and the physical step along each of its dimensions.
typedef struct nw_window {
  const char *buffer;
  int n; // physical dimensions
  const nw_expr *at[NW_MAX_TILE_DIMS];
  int64_t step[NW_MAX_TILE_DIMS][NW_MAX_TILE_DIMS]; // [dimension of the tile][physical dimension]
} nw_window;

typedef struct nw_match {
  const nw_stmt *block;
  const nw_expr *where; // a condition around the whole nest; NULL is none
  nw_window window[NW_MAX_TILES]; // by argument
  // If it does not match: the parts that differ, as heap text, and the statement.
  char *expected, *found;
  const nw_stmt *at;
} nw_match;

// `nest` is a loop of p, or a call with a loop inside. False and no diagnostic if it does not match.
bool nw_unify(const nw_program *p, const nw_stmt *nest, const nw_intrinsic *in, nw_match *out);
void nw_match_free(nw_match *m);
