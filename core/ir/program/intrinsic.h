// Intrinsics: small computations that somebody else's code does.
//
// An intrinsic has a description, the nest it stands for, and an implementation: a C function
//
//     void symbol(tile, ..., int64_t stride, ..., int64_t constant, ...)
//
// which gets a pointer to the first element of the tile of each argument, in the order of `args`; then, in the same order,
// the distance in elements between neighbours along every dimension whose stride is not fixed; then the constants. It
// reads its inputs and writes its outputs, all of the tile and nothing else; a reduction that does not own its init
// adds to what it finds. Tiles of outputs overlap no other tile.
//
// What a program calls is verified: nothing gets into the session's table but through the trial (check/trial.c).
#pragma once
#include "ir/program/program.h"

#define NW_MAX_TILES 8 // arguments of an intrinsic
#define NW_MAX_TILE_DIMS 8
#define NW_MAX_CONSTANTS 8
#define NW_MAX_WORDS 16 // of a call: pointers, strides and constants together

typedef struct nw_tile_dim {
  int64_t extent;
  int64_t stride; // fixed, or NW_ANY_STRIDE: it is passed
  int own; // loop of the description that moves along this dimension alone, -1 when the extent is 1
  int64_t step; // ... by so many elements
} nw_tile_dim;

typedef struct nw_intrinsic_arg {
  const char *name; // a parameter of the description
  nw_dtype dtype;
  bool output;
  int ndim;
  nw_tile_dim dim[NW_MAX_TILE_DIMS];
} nw_intrinsic_arg;

struct nw_intrinsic {
  char *name, *id; // "mm16", "mm16:1c9a2f07": the id says what was registered, to the last character
  nw_program *description; // counted; loops around one block
  const nw_stmt *block;
  bool init; // a reduction starts from its init here; else it goes on from what the output holds
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH]; // of more than one iteration
  int nargs;
  nw_intrinsic_arg arg[NW_MAX_TILES];
  char *library, *symbol;
  // Optional: `void *special(const int64_t *words)` in the same library makes, for these strides and constants, a function
  // that takes the tiles alone, or gives NULL; used where the strides are constants. What it makes is jump-safe.
  char *special;
  int nconstants;
  int64_t constant[NW_MAX_CONSTANTS];
  bool jump_safe; // holds no lock, owns no memory, calls nothing that does: it can be left at any moment
  void *handle; // of the library, open in the session
};

NW_API const nw_intrinsic *nw_intrinsic_find(nw_ctx *c, const char *name); // by name or id, NULL if there is none
int nw_intrinsic_count(nw_ctx *c);
const nw_intrinsic *nw_intrinsic_at(nw_ctx *c, int i);
// Takes it; one of the same name gives way, but programs that were made with it keep it.
const nw_intrinsic *nw_intrinsic_add(nw_ctx *c, nw_intrinsic *in);
void nw_intrinsic_free(nw_intrinsic *in);

// Reads the description into the fields above; `strides` of an argument are set by the caller before. False with a
// diagnostic when it is nothing an intrinsic can be: see the messages.
bool nw_intrinsic_describe(nw_ctx *c, nw_intrinsic *in, nw_program *description);
// An index of the description: what each of its loops adds, and the rest. False when it is not affine.
bool nw_intrinsic_index(const nw_intrinsic *in, const nw_expr *e, int64_t *coef, int64_t *rest);
// The id: name and a hash of all that matters. `content` is the text of the implementation, or NULL.
void nw_intrinsic_identify(nw_intrinsic *in, const char *content, size_t n);

// ---- unify.c: is this nest an instance of that description?

// Where a tile lies: the physical position of its first element, and the physical step along each of its dimensions.
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
  // When it is none: the parts that differ, as text on the heap, and where it was found.
  char *expected, *found;
  const nw_stmt *at;
} nw_match;

// `nest` is a loop of p, or a call with a loop inside. False and no diagnostic when it does not match.
bool nw_unify(const nw_program *p, const nw_stmt *nest, const nw_intrinsic *in, nw_match *out);
void nw_match_free(nw_match *m);
