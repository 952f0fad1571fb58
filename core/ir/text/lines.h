// Declares the lines of text that show a program. A line consists of pieces, and each piece has a kind. Writers turn
// lines into plain text, ANSI or HTML.
#pragma once
#include "ir/program/program.h"

typedef enum nw_piece_kind {
  NW_PIECE_TEXT,
  NW_PIECE_KEYWORD,
  NW_PIECE_NAME,
  NW_PIECE_MARK,
  NW_PIECE_COMMENT,
  NW_PIECE_REMARK,
  NW_PIECE_ADDED,
  NW_PIECE_REMOVED,
  NW_PIECE_KINDS,
} nw_piece_kind;

typedef struct nw_piece {
  nw_piece_kind kind;
  size_t at, n; // position and length in nw_lines.text
} nw_piece;

typedef struct nw_line {
  int indent, width; // in columns; `width` does not include the indent
  int piece, npieces; // first piece in nw_lines.piece, and number of pieces
  int stmt, step; // id of the line's statement, and number of the statement's step; 0 if the line has no statement
  const char *remark; // text written after the line, or NULL
  char gutter; // '+' added, '-' removed, ' ' unchanged; 0 in a listing without a gutter
} nw_line;

typedef struct nw_lines {
  nw_str text;
  nw_piece *piece;
  int npieces, cappieces;
  nw_line *line;
  int n, cap;
} nw_lines;

nw_line *nw_lines_open(nw_lines *l, int indent); // begins a line; the pointer is valid until the next call
void nw_lines_put(nw_lines *l, nw_piece_kind kind, const char *fmt, ...) NW_PRINTF(3, 4);
void nw_lines_copy(nw_lines *to, const nw_lines *from, int i); // appends line i
bool nw_lines_same(const nw_lines *a, int i, const nw_lines *b, int j);
void nw_lines_write(nw_str *out, const nw_lines *l, nw_style style);
void nw_lines_free(nw_lines *l);

void nw_program_lines(nw_lines *l, const nw_program *p, const nw_show_opts *o); // print.c

// These functions return the text of one statement, as a heap string (print.c).
char *nw_loop_header(const nw_program *p, const nw_stmt *s); // "for i_o in 0..32"
char *nw_node_text(const nw_program *p, const nw_stmt *s); // the statement in a tree view
char *nw_where_text(const nw_program *p, const nw_stmt *block); // the guard of a block: "if i < 10"

// These functions write and parse the words of the text form (kinds.c).
const char *nw_combiner_assign(const nw_program *p, nw_combiner c); // "+=", "min=", ...; "=" for NW_PLAIN
const char *nw_scope_name(const nw_buffer *b); // for a buffer of an accelerator, the name in the machine's record
const char *nw_role_name(nw_role r);
const char *nw_var_kind_name(nw_var_kind k);
// Reads a combiner, also one of the reducers of p.
bool nw_combiner_of_assign(const nw_program *p, const char *text, nw_combiner *out);
bool nw_loop_kind_parse(const char *text, nw_loop_kind *out);
bool nw_scope_parse(const char *text, nw_scope *out);
bool nw_role_parse(const char *text, nw_role *out);
bool nw_var_kind_parse(const char *text, nw_var_kind *out);
