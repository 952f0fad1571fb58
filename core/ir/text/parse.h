// Internal header of the parser of the text form. Its parts are the lexer (lex.c) and the parsers of expressions
// (parse_expr.c), tables (parse_table.c), tags (parse_tags.c), blocks (parse_block.c) and programs (parse.c).
#pragma once
#include "ir/program/program.h"

typedef enum nw_token_kind {
  NW_TOK_NAME,
  NW_TOK_INT,
  NW_TOK_FLOAT,
  NW_TOK_STRING,
  NW_TOK_SIGN,
  NW_TOK_EOL,
  NW_TOK_END
} nw_token_kind;

typedef struct nw_token {
  nw_token_kind kind;
  const char *s; // position in the text
  int n;
  int line, column; // counted from 1
  int indent; // indentation of its line, in spaces
} nw_token;

typedef struct nw_parser {
  nw_ctx *ctx;
  nw_pool *pool;
  nw_program *p; // NULL if a single expression is parsed; then a LOAD is an error
  const struct nw_reducer *reducer; // while the combination of a reducer is parsed; its variables have its dtypes
  const nw_type *pattern; // if a pattern is parsed: the type of its variables (ir/expr/equality.h); otherwise NULL
  const char *at, *line_start;
  int line, indent;
  nw_token tok; // the next token, which is not consumed yet
  bool failed;
  int depth, nodes; // depth and number of nodes of the expression that is being parsed
  int *line_of, lines; // line_of[id]: the line of a statement or buffer, for errors that only the whole program shows
} nw_parser;

// Limits on nesting and on sizes, since a text may come from anywhere.
enum {
  NW_PARSE_BYTES = 1 << 24, // size of a text
  NW_PARSE_NAME = 2000, // characters of a name
  NW_PARSE_DEPTH = 100, // nested parentheses
  NW_PARSE_NODES = 2000, // operations in one expression
  NW_PARSE_LIST = 64, // indices, dimensions or block variables in a list
  NW_PARSE_TABLE = 1024, // sizes, facts and buffers of a program, together
};

// ---- lexer
bool nw_parser_open(nw_parser *ps, nw_ctx *c, nw_pool *pool, const char *text); // false if the text is too long
void nw_next(nw_parser *ps);
bool nw_token_is(const nw_token *t, const char *text); // true if the token is this word or sign
bool nw_at(const nw_parser *ps, const char *text); // true if the next token is this word or sign
bool nw_follows(const nw_parser *ps, const char *text); // true if the token after the next one is this word or sign
bool nw_accept(nw_parser *ps, const char *text); // consumes the next token if it is this word or sign
bool nw_expect(nw_parser *ps, const char *text, const char *where); // like nw_accept; any other token is an error
const char *nw_expect_name(nw_parser *ps, const char *what); // consumes a name and returns it, interned in the pool
bool nw_end_line(nw_parser *ps); // consumes the end of a line; the end of the text also ends a line
// True if the next token is this keyword, and false if it is a buffer with the same name. Called at the start of a
// line.
bool nw_begins(const nw_parser *ps, const char *word);
bool nw_accept_word(nw_parser *ps, const char *word); // consumes the next token if nw_begins returns true for it
bool nw_token_text(const nw_parser *ps, char *out, size_t room); // copies the next token if it is a short enough name
bool nw_opens_body(nw_parser *ps, int indent); // consumes `:`; the next line must be indented by more than `indent`
void nw_note_line(nw_parser *ps, int id, const nw_token *at); // records the line of a statement or buffer
// The next three functions leave an error such as "line:column: expected ..., found ..." in the context, and return
// NULL. If the parser has already failed, they only return NULL.
void *nw_expected(nw_parser *ps, const char *fmt, ...) NW_PRINTF(2, 3);
void *nw_parse_fail(nw_parser *ps, const nw_token *at, const char *fmt, ...) NW_PRINTF(3, 4);
void *nw_parse_limit(nw_parser *ps, const nw_token *at, const char *fmt, ...)
    NW_PRINTF(3, 4); // NW_ELIMIT: a limit was exceeded

// ---- expressions
const nw_expr *nw_parse_expr(nw_parser *ps);
const nw_expr *nw_parse_typed(nw_parser *ps, nw_dtype t, const char *what); // also checks the type
// Parses a list up to the sign `close`, and consumes this sign. `out` has space for NW_PARSE_LIST expressions. Returns
// false after an error.
bool nw_parse_list(nw_parser *ps, const char *close, nw_dtype t, const char *what, int *n, const nw_expr **out);
const nw_expr **nw_keep_exprs(nw_parser *ps, int n, const nw_expr *const *e); // copies the array to the program's arena
bool nw_parse_range(nw_parser *ps, const nw_expr **lo, const nw_expr **extent); // parses lo..hi or lo..+extent

// ---- parts of a program
nw_stmt *nw_parse_stmt(nw_parser *ps, nw_stmt_kind kind); // a new statement for this line
bool nw_parse_tables(nw_parser *ps);
const char *nw_parse_string(nw_parser *ps); // a string token without its escapes
bool nw_parse_tags(nw_parser *ps, nw_stmt *s); // reads `with` and a list of tags, if present
nw_stmt *nw_parse_block(nw_parser *ps);
