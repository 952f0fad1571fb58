// Declares the state and the functions that codegen/c uses while it writes a C text. This header is private to
// codegen/c.
#pragma once
#include "codegen/codegen.h"
#include "ir/program/choose.h"
#include "ir/program/physical.h"

// A helper is a small C function for an operation that C lacks. Some helpers have a version for each dtype. A C text
// contains only the helpers that it uses (c_helpers.c).
typedef enum nwt_helper {
  NWT_FLOORDIV,
  NWT_FLOORMOD,
  NWT_MIN,
  NWT_MAX,
  NWT_ABS,
  NWT_SHL, // shifts by a count that is not constant
  NWT_SHR,
  NWT_POPCOUNT,
  NWT_BITS_OF, // from a float to its bits
  NWT_OF_BITS, // from the bits to a float
  NWT_LDEXP,
  NWT_MANTISSA,
  NWT_EXPONENT,
  NWT_TO_INT, // converts a float to an integer, and saturates
  NWT_SIZE_ADD, // NWT_SIZE_*: 64-bit arithmetic on sizes, which records an overflow
  NWT_SIZE_SUB,
  NWT_SIZE_MUL,
  NWT_SIZE_MIN,
  NWT_SIZE_MAX,
  NWT_SIZE_DIV,
  NWT_SIZE_MOD,
  NWT_WIDEN, // converts f16 or bf16 to f32
  NWT_NARROW, // converts f32 to f16 or bf16
  NWT_NARROW_F64, // converts f64 to f16 or bf16
  NWT_HELPERS
} nwt_helper;

typedef struct nwt_vectors nwt_vectors; // c_vector.h
typedef struct nwt_dialect nwt_dialect; // c_dialect.h

typedef struct nwt {
  const nw_exec *exec;
  const nw_program *p;
  nwt_vectors *vectors; // NULL if vector loops stay loops
  const nwt_dialect *dialect; // NULL if the text is C
  const struct nw_launch *launch; // the kernel that is written; NULL outside of kernels
  bool narrow; // true if every index fits in 32 bits; only for a dialect
  const char *kernel; // name of the function
  nw_str out;
  bool used[NWT_HELPERS][NW_DTYPE_COUNT];
  nw_ranges ranges; // ranges of the sizes and of the enclosing loops
  nw_vec ir, c; // names in the program, and the corresponding names in C
  int depth;
  bool counts; // true if the C text declares nw_big, which records overflows
  bool exported; // true if the text calls exported machine code, whose streaming stores need aligned tensors
  bool lane; // true while a function for one lane of a vector is written (c_vector.c)
  bool failed;
} nwt;
bool nwt_fail(nwt *g, const char *fmt, ...) NW_PRINTF(2, 3);

// True if programs for the target have a text in C. An accelerator executes a stream of instructions: then there is a diagnostic.
bool nwt_has_c(nw_ctx *c, const nw_program *p);
bool nwt_is_free(const char *name); // true if the C code of a function may use the name for something of its own
const char *nwt_name(nwt *g, const char *ir); // returns a C identifier; different names have different identifiers
// Like nwt_name, but makes the identifier from `like` if the name does not have one yet.
const char *nwt_name_like(nwt *g, const char *ir, const char *like);
const char *nwt_type(nw_dtype t); // returns the C type that represents a value of the dtype
// Marks the helper as used, writes its name in the C text to `room`, which has n bytes, and returns `room`.
const char *nwt_call(nwt *g, nwt_helper h, nw_dtype t, char *room, size_t n);
void nwt_helpers(const nwt *g, nw_str *out);
// c_text.c: parts of the C text
extern const char nwt_includes[], nwt_openmp[]; // nwt_openmp also defines nw_has_threads()
void nwt_begin(nwt *g, const nw_exec *e, const char *symbol); // symbol: the name of the function, or NULL
// Like nwt_begin, for a program that is not e->p, with the types of vectors, or NULL.
void nwt_begin_with(nwt *g, const nw_exec *e, const nw_program *p, const char *symbol, nwt_vectors *vectors);
void nwt_end(nwt *g);
void nwt_describe_tensors(nwt *g, nw_str *out); // writes comments on the program's steps and on its tensors
void nwt_describe(nwt *g, nw_str *out); // writes comments on the function's parameters and result
void nwt_prototype(nwt *g, nw_str *out);

// c_versions.c: g is the state of the function that calls one of n versions. nwt_begin was called for g and for each
// version.
void nwt_name_versions(nwt *g, int n, nwt *version);
void nwt_choose(nwt *g, int n, const nwt *version, const nw_choices *t); // writes the body of g
void nwt_use_all(nwt *g, int n, const nwt *version); // marks the helpers that the versions use as used by g

void nwt_expr(nwt *g, const nw_expr *e); // writes e without parentheses around it, for example as an argument of a call
void nwt_operand(nwt *g, nw_op of, const nw_expr *e); // writes e as an operand of the operation `of`
// c_size.c: sizes that may be too large
void nwt_size(nwt *g, const nw_expr *e); // writes C code that computes e, and sets nw_big if it overflows
void nwt_check_sizes(nwt *g); // writes code that returns an error code for a bad size or fact
// Writes code that returns an error code if a product of sizes overflows, or if a pointer is NULL or not aligned.
void nwt_check_arguments(nwt *g);
bool nwt_surely_fits(const nw_storage *s); // true if the bytes of the buffer, for all threads together, cannot overflow
void nwt_describe_codes(const nwt *g, nw_str *out);

void nwt_stmt(nwt *g, const nw_stmt *s);
void nwt_body(nwt *g); // writes the statements of the program
const nw_storage *nwt_storage_of(const nwt *g, const char *buffer);
