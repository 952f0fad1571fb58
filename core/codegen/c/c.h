// Inside codegen/c*: a C text in the making.
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
  NWT_SIZE_ADD, // of sizes, in 64 bits; these say when they overflow
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
  nw_ranges ranges; // of the sizes and the loops around
  nw_vec ir, c; // names of the program, and what they are called in C
  int depth;
  bool counts; // the variable nw_big is declared
  bool exported; // the code is the machine's: its streaming stores need aligned tensors
  bool failed;
} nwt;
bool nwt_fail(nwt *g, const char *fmt, ...) NW_PRINTF(2, 3);

const char *nwt_name(nwt *g, const char *ir); // an identifier of C, one to one
const char *nwt_type(nw_dtype t); // in memory and in registers
const char *nwt_call(nwt *g, nwt_helper h, nw_dtype t, char *room, size_t n); // its name; notes that it is used
void nwt_helpers(const nwt *g, nw_str *out);
// c_text.c: pieces of the file
extern const char nwt_includes[], nwt_openmp[]; // nwt_openmp: also nw_has_threads()
void nwt_begin(nwt *g, const nw_exec *e);
void nwt_end(nwt *g);
void nwt_describe(nwt *g, nw_str *out); // what the function takes and returns
void nwt_prototype(nwt *g, nw_str *out);

// c_versions.c: one function of several. g is that which chooses; the others are begun.
void nwt_name_versions(nwt *g, int n, nwt *version);
void nwt_choose(nwt *g, int n, const nwt *version, const nw_choices *t); // its body
void nwt_use_all(nwt *g, int n, const nwt *version); // g's helpers are those of all

void nwt_expr(nwt *g, const nw_expr *e); // where nothing stands beside it: in parentheses, or between commas
void nwt_operand(nwt *g, nw_op of, const nw_expr *e); // beside the sign of an operation
// c_size.c: sizes that may be too large
void nwt_size(nwt *g, const nw_expr *e); // its value, checked: sets the variable nw_big when it does not fit
void nwt_check_sizes(nwt *g); // returns of the function: a size or a fact
void nwt_check_arguments(nwt *g); // ... a product of sizes, a pointer that is NULL or not aligned
bool nwt_surely_fits(const nw_storage *s); // a piece for each thread as well
void nwt_describe_codes(const nwt *g, nw_str *out);

void nwt_stmt(nwt *g, const nw_stmt *s);
