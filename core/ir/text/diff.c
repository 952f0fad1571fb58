// Shows the changes between two programs as a line diff of their short forms. Unchanged lines that are far from every
// change are folded: one line "..." replaces consecutive lines. The heads of loops that contain a change are kept.
#include "ir/text/lines.h"
#include <stdlib.h>

enum {
  CONTEXT = 2, // unchanged lines kept on each side of a change
  CELLS = 4 << 20, // limit on the cells of `lcs`; beyond it, all lines between common head and tail count as changed
};

typedef struct pair {
  const nw_lines *a, *b;
  int from, na, nb; // `from`: length of the common head; na, nb: lines of a and of b between common head and tail
  // lcs[i*(nb + 1) + j]: length of the longest common subsequence of two ranges of lines. The ranges begin at line
  // from + i of a and at line from + j of b, and end before the common tail.
  uint16_t *lcs;
} pair;

static bool same(const pair *d, int i, int j) { return nw_lines_same(d->a, d->from + i, d->b, d->from + j); }

static void trim(pair *d) {
  d->na = d->a->n;
  d->nb = d->b->n;
  while (d->na && d->nb && same(d, 0, 0)) d->from++, d->na--, d->nb--;
  while (d->na && d->nb && same(d, d->na - 1, d->nb - 1)) d->na--, d->nb--;
}

static uint16_t *cell(const pair *d, int i, int j) { return &d->lcs[(size_t)i * (size_t)(d->nb + 1) + (size_t)j]; }

static bool measure(pair *d) {
  if (d->na > UINT16_MAX || (size_t)(d->na + 1) * (size_t)(d->nb + 1) > CELLS) return false;
  d->lcs = nw_xcalloc((size_t)(d->na + 1) * (size_t)(d->nb + 1), sizeof *d->lcs);
  for (int i = d->na - 1; i >= 0; i--)
    for (int j = d->nb - 1; j >= 0; j--) {
      uint16_t down = *cell(d, i + 1, j), right = *cell(d, i, j + 1);
      *cell(d, i, j) = same(d, i, j) ? *cell(d, i + 1, j + 1) + 1 : down > right ? down : right;
    }
  return true;
}

static void take(nw_lines *out, const nw_lines *from, int i, char gutter) {
  nw_lines_copy(out, from, i);
  out->line[out->n - 1].gutter = gutter;
}

static void middle(nw_lines *out, pair *d) {
  bool known = measure(d);
  int i = 0, j = 0;
  while (i < d->na || j < d->nb) {
    bool both = i < d->na && j < d->nb;
    if (both && known && same(d, i, j))
      take(out, d->a, d->from + i++, ' '), j++;
    else if (i < d->na && (!both || !known || *cell(d, i + 1, j) >= *cell(d, i, j + 1)))
      take(out, d->a, d->from + i++, '-');
    else
      take(out, d->b, d->from + j++, '+');
  }
  free(d->lcs);
}

static void merge(nw_lines *out, const nw_lines *a, const nw_lines *b) {
  pair d = {.a = a, .b = b};
  trim(&d);
  for (int i = 0; i < d.from; i++) take(out, a, i, ' ');
  middle(out, &d);
  for (int i = d.from + d.na; i < a->n; i++) take(out, a, i, ' ');
}

// ---- folding

// Keeps line i, its neighbours, and the heads of the loops around it. A neighbour before line i is not kept if it is
// indented deeper, since it belongs to a nest that has ended.
static void keep_around(const nw_lines *l, bool *keep, int i) {
  int indent = l->line[i].indent;
  for (int j = i - CONTEXT; j <= i + CONTEXT; j++)
    if (j >= 0 && j < l->n && (j >= i || l->line[j].indent <= indent)) keep[j] = true;
  for (int j = i - 1; j >= 0 && indent > 0; j--)
    if (l->line[j].indent < indent) {
      keep[j] = true;
      indent = l->line[j].indent;
    }
}

// Keeps a single line between two kept lines, since folding it would save nothing.
static void keep_single(const nw_lines *l, bool *keep) {
  for (int i = 0; i < l->n; i++)
    if (!keep[i] && (i == 0 || keep[i - 1]) && (i == l->n - 1 || keep[i + 1])) keep[i] = true;
}

static void fold(nw_lines *out, const nw_lines *l) {
  bool *keep = nw_xcalloc((size_t)l->n + 1, sizeof *keep);
  for (int i = 0; i < l->n; i++)
    if (l->line[i].gutter != ' ') keep_around(l, keep, i);
  keep_single(l, keep);
  for (int i = 0; i < l->n; i++) {
    if (keep[i]) {
      take(out, l, i, l->line[i].gutter);
    } else if (i == 0 || keep[i - 1]) {
      nw_lines_open(out, l->line[i].indent)->gutter = ' ';
      nw_lines_put(out, NW_PIECE_COMMENT, "...");
    }
  }
  free(keep);
}

// An added or removed line has one colour for all its pieces.
static void paint(nw_lines *l) {
  for (int i = 0; i < l->n; i++) {
    const nw_line *line = &l->line[i];
    if (line->gutter == ' ') continue;
    for (int k = 0; k < line->npieces; k++)
      l->piece[line->piece + k].kind = line->gutter == '+' ? NW_PIECE_ADDED : NW_PIECE_REMOVED;
  }
}

static bool any_change(const nw_lines *l) {
  for (int i = 0; i < l->n; i++)
    if (l->line[i].gutter != ' ') return true;
  return false;
}

// Returns the diff from a to b, or "" if the short forms are equal. Returns NULL if a or b is NULL.
char *nw_program_diff(const nw_program *a, const nw_program *b, nw_style style) {
  if (!a || !b) return NULL;
  nw_show_opts plain = {.style = NW_TEXT_PLAIN};
  nw_lines before = {0}, after = {0}, all = {0}, shown = {0};
  nw_str out = {0};
  nw_program_lines(&before, a, &plain);
  nw_program_lines(&after, b, &plain);
  merge(&all, &before, &after);
  fold(&shown, &all);
  paint(&shown);
  if (any_change(&all)) nw_lines_write(&out, &shown, style);
  nw_lines_free(&before);
  nw_lines_free(&after);
  nw_lines_free(&all);
  nw_lines_free(&shown);
  return nw_str_take(&out);
}
