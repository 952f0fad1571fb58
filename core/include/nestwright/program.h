// Declares programs, which are loop nests. Also declares the functions that print, parse and compare them.
#pragma once
#include "nestwright/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nw_style { NW_TEXT_PLAIN, NW_TEXT_ANSI, NW_TEXT_HTML } nw_style;
typedef struct nw_show_opts {
  nw_style style;
  bool full; // the exact text form, which can be parsed; otherwise the short form for users
  int changed_since; // mark the statements that the step with this number or a later step changed; 0: mark none
  int nmarks; // number of statements to mark, each with a remark
  const int *mark; // ids of these statements
  const char *const *remark;
  bool only_marked; // show "..." in place of subtrees without a mark
} nw_show_opts;
NW_API char *nw_program_show(const nw_program *p, const nw_show_opts *o); // if o is NULL: the short form as plain text
NW_API char *nw_program_print(const nw_program *p); // the full text form; parse(print(p)) is the same program
NW_API nw_program *nw_program_parse(nw_ctx *c, nw_pool *pool, const char *text);
NW_API char *nw_program_diff(const nw_program *a, const nw_program *b, nw_style style);
NW_API bool nw_same_program(const nw_program *a, const nw_program *b);
NW_API nw_program *nw_program_retain(const nw_program *p);
NW_API void nw_program_release(nw_program *p);

NW_API int nw_program_sizes(const nw_program *p); // number of symbolic sizes
NW_API const char *nw_program_size(const nw_program *p, int i); // name
NW_API int nw_program_buffers(const nw_program *p);
NW_API const char *nw_program_buffer(const nw_program *p, int i); // name
NW_API nw_dtype nw_program_buffer_dtype(const nw_program *p, int i);
// The parameters of a call: the program's first buffers, inputs first.
NW_API int nw_program_parameters(const nw_program *p);
NW_API bool nw_program_is_output(const nw_program *p, int i);
NW_API int nw_program_rank(const nw_program *p, int i);
NW_API char *nw_program_extent(const nw_program *p, int i, int dim); // expression of sizes; heap
// Computes an extent. True if its value follows from the given sizes.
NW_API bool nw_program_extent_at(const nw_program *p, int i, int dim, int n, const char *const *names,
                                 const int64_t *values, int64_t *out);
// Evaluates a text that is an integer expression of sizes, such as "M // 16 + 1", or a condition on sizes. The syntax
// is that of the arguments of steps. False if a name has no value.
NW_API bool nw_size_value(nw_ctx *c, const char *text, int n, const char *const *names, const int64_t *values,
                          int64_t *out, bool *is_condition);
NW_API const char *nw_program_name(const nw_program *p);
NW_API bool nw_program_unsafe(const nw_program *p); // true if a step was not checked by the judge
// The nest of a scheduled program as data. It has a row for every loop, stage, guard, allocation, prefetch and call. An
// outer statement comes before the statements inside it.
typedef struct nw_outline_row {
  const char *kind, *name; // "loop", "stage", "guard", "storage", "prefetch", "call"; name is NULL if it has none
  const char *mark; // for a loop: "", "parallel", ...
  const char *axis; // for a stage: its last axis that is not a reduce axis, or NULL
  int id, depth;
  // for a loop that begins at 0 and has a constant number of iterations: this number; otherwise -1
  int64_t extent;
  bool unsafe; // true if a step that was not judged made or changed the statement
  bool stream; // for a stage: true if its stores are non-temporal
  char *text; // text for users: "i_o in 0..32  parallel"
} nw_outline_row;
NW_API int nw_program_outline(const nw_program *p, nw_outline_row **out);
NW_API void nw_outline_free(int n, nw_outline_row *row);

#ifdef __cplusplus
}
#endif
