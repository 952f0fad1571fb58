// Declares functions that are private to the parser of nests. nest_table.c parses the parameters, sizes and arrays.
// nest_text.c parses the loops and statements.
#pragma once
#include "nest/nest_text.h"
#include "ir/text/parse.h"

typedef struct nw_text_reader {
  nw_parser ps;
  nw_text *t;
  nw_vec scope; // const char *: the names of the enclosing loops
  int lines;
  nw_str value; // text of the right-hand side of the current statement
  nw_text_ref ref[NW_TEXT_REFS];
  int nrefs;
  nw_text_ops ops; // operations of the right-hand side
} nw_text_reader;

bool nw_text_tables(nw_text_reader *r); // reads all lines of parameters, sizes and arrays
bool nw_text_is_param(const nw_text *t, const char *name);
bool nw_text_is_loop(const nw_text_reader *r, const char *name);
int nw_text_array_of(const nw_text *t, const nw_token *name); // -1 if there is no such array
const char *nw_text_new_name(nw_text_reader *r, const char *what);
// Reads an expression of parameters and loop variables. `what` describes the expression in error messages.
const nw_expr *nw_text_number(nw_text_reader *r, nw_dtype t, const char *what);
bool nw_text_whole(nw_text_reader *r, const char *what, int64_t *out); // reads a constant integer
const nw_expr **nw_text_kept(nw_text_reader *r, int n, const nw_expr *const *e); // returns a copy in the arena
// Reads a list of expressions, up to a closing bracket or a colon, and appends them to `out`. *n is the length of
// `out`, and `most` is the limit on this length.
bool nw_text_indices(nw_text_reader *r, int most, const char *what, int *n, const nw_expr **out);
void nw_text_note_sign(nw_text_ops *ops, const nw_token *sign); // nest_ops.c
void nw_text_note_call(nw_text_ops *ops, const nw_token *name);
