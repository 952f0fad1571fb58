// Declares intrinsics, which are small computations that external code implements.
//
// An intrinsic has a description, which is the nest that it replaces, and an implementation. If the description only
// moves elements, code generators can make the implementation from it. Otherwise it is a C function:
//
//     void symbol(tile, ..., int64_t stride, ..., int64_t constant, ...)
//
// For each argument, in the order of `args`, the function gets a pointer to the first element of its tile. These
// pointers are followed by the strides that are not fixed, in elements and in the same order, and then by the
// constants. The function reads its input tiles, writes its output tiles completely, and accesses nothing outside its
// tiles. If the description has no init, a reduction continues from the existing values. The tile of an output overlaps
// no other tile.
//
// An intrinsic may also be an instruction that the 32 threads of a warp execute together. Then its arguments are
// *fragments*: tiles whose elements the lanes of the warp hold in registers. The intrinsic states which lane holds which
// element. The nest that it replaces begins with a loop that is bound to threadIdx.x, and the arguments are in storage
// of scope warp, where the last two dimensions of the layout are the lane and the number of the element in the lane.
//
// Or it is an instruction of an accelerator, which the machine's record names (nw_machine_instruction). A tile of a fixed
// size has a description. Copies, fills and operations of an ALU have none: they replace nests of any size.
//
// An intrinsic is tested before it gets into the session's table (check/trial.c), so every intrinsic that is called has
// been verified.
#pragma once
#include "ir/program/instruction.h"
#include "ir/program/program.h"

#define NW_MAX_TILES 8 // maximal number of arguments of an intrinsic
#define NW_MAX_TILE_DIMS 8
#define NW_MAX_CONSTANTS 8
#define NW_MAX_WORDS 16 // maximal number of words that a call passes: pointers, strides and constants

typedef struct nw_tile_dim {
  int64_t extent;
  int64_t stride; // a fixed stride, or NW_ANY_STRIDE if it is passed in the call
  int own; // a loop of the description that moves only along this dimension; -1 if the extent is 1
  int64_t step; // number of elements that the loop `own` moves per iteration
} nw_tile_dim;

// The elements of a tile that the lanes hold. Each element is held by one lane, in one place.
typedef struct nw_fragment {
  int n; // elements of a lane; 0: the argument is in memory
  uint16_t element[NW_FRAGMENT_LANES * NW_FRAGMENT_MOST]; // element[lane*n + i]: row-major number in the tile
  uint16_t place[NW_FRAGMENT_LANES * NW_FRAGMENT_MOST]; // the inverse: place[element[p]] == p
} nw_fragment;

typedef struct nw_intrinsic_arg {
  const char *name; // a parameter of the description
  nw_dtype dtype;
  bool output;
  int ndim;
  nw_tile_dim dim[NW_MAX_TILE_DIMS];
  nw_fragment fragment;
} nw_intrinsic_arg;

struct nw_intrinsic {
  char *name, *id; // "mm16", "mm16:1c9a2f07": the id contains a hash of the whole registration
  nw_program *description; // holds a reference; loops around one block
  const nw_stmt *block;
  bool init; // true: a reduction starts from its init; false: it continues from the values in the output
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH]; // loops with more than one iteration
  int nargs;
  nw_intrinsic_arg arg[NW_MAX_TILES];
  char *library, *symbol;
  // Optional: the name of a function `void *special(const int64_t *words)` in the same library. For given strides and
  // constants, `special` returns a function that takes only the tiles, or NULL. `special` is used if the strides are
  // constants. The functions that it returns are jump-safe (see below).
  char *special;
  const nw_instruction *instruction; // NULL if one thread calls the intrinsic
  const char *chip; // the name of an accelerator's instruction; otherwise NULL
  nw_chip_kind kind; // of that instruction
  bool shuffles; // true: generated code loads vectors, shuffles their lanes and stores them (codegen/shuffle.h)
  int nconstants;
  int64_t constant[NW_MAX_CONSTANTS];
  // true if the function holds no lock, owns no memory, and calls no function that does; then it can be interrupted at
  // any time
  bool jump_safe;
  void *handle; // handle of the library, which stays open
};

NW_API const nw_intrinsic *nw_intrinsic_find(nw_ctx *c, const char *name); // finds by name or id; NULL if there is none
int nw_intrinsic_count(nw_ctx *c);
const nw_intrinsic *nw_intrinsic_at(nw_ctx *c, int i);
// Adds an intrinsic to the table, which becomes its owner. From then on, its name refers to this intrinsic. A program
// that uses an older intrinsic with the same name keeps the older one.
const nw_intrinsic *nw_intrinsic_add(nw_ctx *c, nw_intrinsic *in);
void nw_intrinsic_free(nw_intrinsic *in);

// Reads the description into the members of `in`. The caller has set the names and the strides of the arguments.
// Returns false, with a diagnostic, if the description is not suitable.
bool nw_intrinsic_describe(nw_ctx *c, nw_intrinsic *in, nw_program *description);
// Sets the fragment of argument i from the numbers of its elements, n for each lane. Returns false, with a diagnostic that
// names an element and two lanes, if this is not a bijection to the elements of the tile.
bool nw_fragment_set(nw_ctx *c, nw_intrinsic *in, int i, int n, const int64_t *element);
// Returns the text of an element of a tile, such as "A[3, 5]", on the heap. `element` is its row-major number.
char *nw_fragment_element(const nw_intrinsic_arg *a, int element);
// For a load of matrices in a kernel: returns the linear index of the first of the 8 elements whose address a lane gives,
// as an expression of threadIdx.x. `tile` is the argument in memory.
NW_API const nw_expr *nw_fragment_row(nw_pool *p, const nw_instruction *in, const nw_tile *tile);
// True if the buffer is a fragment of a call of p.
bool nw_is_fragment(const nw_program *p, const char *buffer);
// Finds the coefficient of each loop in an index of the description, and the constant part `rest`. Returns false if the
// index is not affine.
bool nw_intrinsic_index(const nw_intrinsic *in, const nw_expr *e, int64_t *coef, int64_t *rest);
// Makes the id from the name and a hash of the description and the implementation. `content` is the text of the
// implementation, or NULL.
void nw_intrinsic_identify(nw_intrinsic *in, const char *content, size_t n);

// ---- matching of a nest with a description (unify.c)

// A window describes where a tile is in a buffer. It has the physical position of the tile's first element, and the
// physical distance between neighbouring elements along each dimension of the tile.
typedef struct nw_window {
  const char *buffer;
  int n; // physical dimensions
  const nw_expr *at[NW_MAX_TILE_DIMS];
  int64_t step[NW_MAX_TILE_DIMS][NW_MAX_TILE_DIMS]; // [dimension of the tile][physical dimension]
} nw_window;

typedef struct nw_match {
  const nw_stmt *block;
  const nw_expr *where; // a condition around the whole nest; NULL if there is none
  nw_window window[NW_MAX_TILES]; // one for each argument
  // If the nest does not match: the parts that differ, as heap texts, and the statement that contains them.
  char *expected, *found;
  const nw_stmt *at;
} nw_match;

// For an argument that is a fragment, the window has the position of its first element: the last two indices, the lane
// and the number in the lane, are 0.

// True if the nest matches the description of the intrinsic. `nest` is a loop of p, or a call with a loop inside. If
// the nest does not match, returns false without a diagnostic.
bool nw_unify(const nw_program *p, const nw_stmt *nest, const nw_intrinsic *in, nw_match *out);
void nw_match_free(nw_match *m);
// Like nw_unify, for an instruction of an accelerator that has no description.
bool nw_unify_chip(const nw_stmt *nest, const nw_intrinsic *in, nw_match *out);
// Returns the row of an accelerator's instruction that accesses the memories of a block's buffers. If there is none, returns
// NULL, and `out` has the parts that differ.
const nw_machine_instruction *nw_chip_row(const nw_program *p, const nw_intrinsic *in, const nw_stmt *block,
                                          nw_match *out);
