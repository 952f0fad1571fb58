// Builds lines, and writes them. A writer is a row of a table: it has the texts that open and close a piece, and says
// whether characters are escaped for HTML.
#include "ir/text/lines.h"
#include <stdlib.h>

nw_line *nw_lines_open(nw_lines *l, int indent) {
  if (l->n == l->cap) {
    l->cap = l->cap ? 2 * l->cap : 64;
    l->line = nw_xrealloc(l->line, (size_t)l->cap * sizeof *l->line);
  }
  l->line[l->n] = (nw_line){.indent = indent, .piece = l->npieces};
  return &l->line[l->n++];
}

// Adds the text from position `at` on to the last line. If the last piece of the line has the same kind, this piece is
// extended. Otherwise a new piece is added.
static void piece_to_end(nw_lines *l, nw_piece_kind kind, size_t at) {
  nw_line *line = &l->line[l->n - 1];
  size_t n = l->text.n - at;
  if (!n) return;
  line->width += (int)n;
  if (line->npieces && l->piece[l->npieces - 1].kind == kind) {
    l->piece[l->npieces - 1].n += n;
    return;
  }
  if (l->npieces == l->cappieces) {
    l->cappieces = l->cappieces ? 2 * l->cappieces : 256;
    l->piece = nw_xrealloc(l->piece, (size_t)l->cappieces * sizeof *l->piece);
  }
  l->piece[l->npieces++] = (nw_piece){kind, at, n};
  line->npieces++;
}

void nw_lines_put(nw_lines *l, nw_piece_kind kind, const char *fmt, ...) {
  size_t at = l->text.n;
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&l->text, fmt, args);
  va_end(args);
  piece_to_end(l, kind, at);
}

void nw_lines_copy(nw_lines *to, const nw_lines *from, int i) {
  const nw_line *line = &from->line[i];
  nw_line *copy = nw_lines_open(to, line->indent);
  copy->stmt = line->stmt;
  copy->step = line->step;
  for (int k = 0; k < line->npieces; k++) {
    const nw_piece *piece = &from->piece[line->piece + k];
    size_t at = to->text.n;
    nw_str_addn(&to->text, from->text.s + piece->at, piece->n);
    piece_to_end(to, piece->kind, at);
  }
}

// The pieces of a line are adjacent in the text, so the whole line can be compared at once.
bool nw_lines_same(const nw_lines *a, int i, const nw_lines *b, int j) {
  const nw_line *x = &a->line[i], *y = &b->line[j];
  if (x->indent != y->indent || x->width != y->width) return false;
  if (!x->width) return true;
  return !memcmp(a->text.s + a->piece[x->piece].at, b->text.s + b->piece[y->piece].at, (size_t)x->width);
}

void nw_lines_free(nw_lines *l) {
  nw_str_free(&l->text);
  free(l->piece);
  free(l->line);
  *l = (nw_lines){0};
}

// ---- writers

typedef struct writer {
  const char *before, *after; // written around the whole text
  const char *open[NW_PIECE_KINDS], *close; // `close` ends a piece whose kind has an `open`
  bool escape;
} writer;

static const writer writers[] = {
    [NW_TEXT_PLAIN] = {.before = "", .after = ""},
    [NW_TEXT_ANSI] = {.before = "",
                      .after = "",
                      .close = "\033[0m",
                      .open = {[NW_PIECE_KEYWORD] = "\033[34m",
                               [NW_PIECE_NAME] = "\033[1m",
                               [NW_PIECE_MARK] = "\033[35m",
                               [NW_PIECE_COMMENT] = "\033[90m",
                               [NW_PIECE_REMARK] = "\033[33m",
                               [NW_PIECE_ADDED] = "\033[32m",
                               [NW_PIECE_REMOVED] = "\033[31m"}},
    [NW_TEXT_HTML] = {.before = "<pre class=\"nw\">",
                      .after = "</pre>\n",
                      .close = "</span>",
                      .escape = true,
                      .open = {[NW_PIECE_KEYWORD] = "<span class=\"nw-keyword\">",
                               [NW_PIECE_NAME] = "<span class=\"nw-name\">",
                               [NW_PIECE_MARK] = "<span class=\"nw-mark\">",
                               [NW_PIECE_COMMENT] = "<span class=\"nw-comment\">",
                               [NW_PIECE_REMARK] = "<span class=\"nw-remark\">",
                               [NW_PIECE_ADDED] = "<span class=\"nw-added\">",
                               [NW_PIECE_REMOVED] = "<span class=\"nw-removed\">"}},
};

static void write_text(nw_str *out, const writer *w, const char *s, size_t n) {
  if (!w->escape) {
    nw_str_addn(out, s, n);
    return;
  }
  for (size_t i = 0; i < n; i++) switch (s[i]) {
    case '<': nw_str_add(out, "&lt;"); break;
    case '>': nw_str_add(out, "&gt;"); break;
    case '&': nw_str_add(out, "&amp;"); break;
    case '"': nw_str_add(out, "&quot;"); break;
    default: nw_str_addn(out, s + i, 1);
    }
}

static void write_piece(nw_str *out, const writer *w, nw_piece_kind kind, const char *s, size_t n) {
  const char *open = w->open[kind];
  if (open) nw_str_add(out, open);
  write_text(out, w, s, n);
  if (open) nw_str_add(out, w->close);
}

static void write_gutter(nw_str *out, const writer *w, char gutter) {
  char text[] = {gutter, ' '};
  nw_piece_kind kind = gutter == '+' ? NW_PIECE_ADDED : gutter == '-' ? NW_PIECE_REMOVED : NW_PIECE_TEXT;
  if (gutter) write_piece(out, w, kind, text, sizeof text);
}

static void write_line(nw_str *out, const writer *w, const nw_lines *l, const nw_line *line, int remarks_at) {
  write_gutter(out, w, line->gutter);
  nw_str_indent(out, line->indent);
  for (int k = 0; k < line->npieces; k++) {
    const nw_piece *piece = &l->piece[line->piece + k];
    write_piece(out, w, piece->kind, l->text.s + piece->at, piece->n);
  }
  if (line->remark) {
    nw_str_indent(out, remarks_at - line->indent - line->width);
    write_piece(out, w, NW_PIECE_REMARK, "<- ", 3);
    write_piece(out, w, NW_PIECE_REMARK, line->remark, strlen(line->remark));
  }
  nw_str_add(out, "\n");
}

// Returns the column where all remarks begin. It is to the right of the longest line that has a remark.
static int remark_column(const nw_lines *l) {
  int column = 0;
  for (int i = 0; i < l->n; i++) {
    const nw_line *line = &l->line[i];
    if (line->remark && line->indent + line->width > column) column = line->indent + line->width;
  }
  return column + 3;
}

void nw_lines_write(nw_str *out, const nw_lines *l, nw_style style) {
  const writer *w = &writers[style];
  int column = remark_column(l);
  size_t from = (size_t)out->n;
  nw_str_add(out, w->before);
  for (int i = 0; i < l->n; i++) write_line(out, w, l, &l->line[i], column);
  nw_str_add(out, w->after);
  if (style == NW_TEXT_PLAIN && out->s) nw_as_shown(out->s + from);
}
