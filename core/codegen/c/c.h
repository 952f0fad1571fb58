// Private to codegen/c*: a C text while it is built.
#pragma once
#include "codegen/codegen.h"
#include "ir/program/choose.h"

// Small functions that C lacks, one per dtype where that matters; only those used are written out (c_helpers.c).
typedef enum nwt_helper {
  NWT_FLOORDIV,
  NWT_FLOORMOD,
  NWT_MIN,
  NWT_MAX,
  NWT_ABS,
  NWT_TO_INT, // from a float, saturating
  NWT_SIZE_ADD, // of sizes, in 64 bits; these report overflow
  NWT_SIZE_SUB,
  NWT_SIZE_MUL,
  NWT_SIZE_MIN,
  NWT_SIZE_MAX,
  NWT_SIZE_DIV,
  NWT_SIZE_MOD,
  NWT_WIDEN, // of f16 and bf16 to f32
  NWT_NARROW, // of f32
  NWT_NARROW_F64,
  NWT_HELPERS
} nwt_helper;

typedef struct nwt {
  const nw_exec *exec;
  const nw_program *p;
  const char *kernel; // name of the function
  nw_str out;
  bool used[NWT_HELPERS][NW_DTYPE_COUNT];
  nw_ranges ranges; // of the sizes and the enclosing loops
  nw_vec ir, c; // names in the program, and their names in C
  int depth;
  bool counts; // the variable nw_big is declared
  bool exported; // the code is machine code: its streaming stores need aligned tensors
  bool failed;
} nwt;
bool nwt_fail(nwt *g, const char *fmt, ...) NW_PRINTF(2, 3);

const char *nwt_name(nwt *g, const char *ir); // a C identifier, unique for each name
const char *nwt_type(nw_dtype t); // in memory and in registers
const char *nwt_call(nwt *g, nwt_helper h, nw_dtype t, char *room, size_t n); // its name; marks it as used
void nwt_helpers(const nwt *g, nw_str *out);
// c_text.c: pieces of the file
extern const char nwt_includes[], nwt_openmp[]; // nwt_openmp: also nw_has_threads()
void nwt_begin(nwt *g, const nw_exec *e);
void nwt_end(nwt *g);
void nwt_describe(nwt *g, nw_str *out); // comments on its parameters and its result
void nwt_prototype(nwt *g, nw_str *out);

// c_versions.c: one of several functions. g is the function that chooses; the others exist already.
void nwt_name_versions(nwt *g, int n, nwt *version);
void nwt_choose(nwt *g, int n, const nwt *version, const nw_choices *t); // its body
void nwt_use_all(nwt *g, int n, const nwt *version); // g gets the helpers of all versions

void nwt_expr(nwt *g, const nw_expr *e); // in parentheses or between commas, where no operator is next to it
void nwt_operand(nwt *g, nw_op of, const nw_expr *e); // as an operand of an operation
// c_size.c: sizes that may be too large
void nwt_size(nwt *g, const nw_expr *e); // its value, checked: sets the variable nw_big when it does not fit
void nwt_check_sizes(nwt *g); // returns an error code for a bad size or fact
void nwt_check_arguments(
    nwt *g); // ... for a product of sizes that overflows, and for a pointer that is NULL or not aligned
bool nwt_surely_fits(const nw_storage *s); // also with one piece per thread
void nwt_describe_codes(const nwt *g, nw_str *out);

void nwt_stmt(nwt *g, const nw_stmt *s);
