// Makes the outline of a scheduled program as rows, and answers queries about its parameters.
#include "ir/program/physical.h"
#include "ir/text/lines.h" // nw_node_text
#include <stdlib.h>

int nw_program_parameters(const nw_program *p) {
  int n = 0;
  while (n < p->nbuffers && p->buffer[n]->role != NW_TEMP) n++;
  return n;
}

bool nw_program_is_output(const nw_program *p, int i) { return p->buffer[i]->role == NW_OUTPUT; }
int nw_program_rank(const nw_program *p, int i) { return nw_physical_dims(p->buffer[i]); }
char *nw_program_extent(const nw_program *p, int i, int dim) {
  return nw_expr_show(nw_physical_shape(p->buffer[i])[dim]);
}
bool nw_program_has_strides(const nw_program *p, int i) { return p->buffer[i]->pitch != NULL; }
char *nw_program_stride(const nw_program *p, int i, int dim) { return nw_expr_show(p->buffer[i]->pitch[dim]); }
const char *nw_program_name(const nw_program *p) { return p->name; }
bool nw_program_unsafe(const nw_program *p) { return p->unsafe > 0; }

bool nw_program_extent_at(const nw_program *p, int i, int dim, int n, const char *const *names, const int64_t *values,
                          int64_t *out) {
  return nw_eval_size(nw_physical_shape(p->buffer[i])[dim], n, names, values, out);
}

bool nw_program_stride_at(const nw_program *p, int i, int dim, int n, const char *const *names, const int64_t *values,
                          int64_t *out) {
  return nw_eval_size(p->buffer[i]->pitch[dim], n, names, values, out);
}

bool nw_size_value(nw_ctx *c, const char *text, int n, const char *const *names, const int64_t *values, int64_t *out,
                   bool *is_condition) {
  nw_pool *pool = nw_pool_new(c);
  const nw_expr *e = nw_expr_parse(pool, text);
  bool known = e && nw_eval_size(e, n, names, values, out);
  *is_condition = known && e->type.dtype == NW_BOOL;
  nw_pool_release(pool);
  nw_clear(c);
  return known;
}

// ---- rows

typedef struct outline {
  nw_outline_row *row;
  int n, cap;
} outline;

static const char *last_axis(const nw_stmt *block) {
  const char *name = NULL;
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_SPATIAL) name = block->block.var[i].var->name;
  return name;
}

static bool streams(const nw_stmt *block) {
  for (int i = 0; i < block->block.ntargets; i++)
    if (block->block.target[i].stream) return true;
  return false;
}

static bool row_of(const nw_stmt *s, nw_outline_row *r) {
  int64_t begin;
  *r = (nw_outline_row){.id = s->id,
                        .extent = -1,
                        .unsafe = s->unsafe,
                        .tested = s->tested,
                        .stream = s->kind == NW_BLOCK && streams(s),
                        .async = s->kind == NW_BLOCK && s->block.async};
  switch (s->kind) {
  case NW_LOOP:
    r->kind = "loop", r->name = s->loop.var->name, r->mark = nw_loop_kind_name(s->loop.mark);
    if (s->loop.nfused || !nw_is_int(s->loop.begin, &begin) || begin || !nw_is_int(s->loop.extent, &r->extent))
      r->extent = -1;
    return true;
  case NW_BLOCK: return r->kind = "stage", r->name = s->block.name, r->axis = last_axis(s), true;
  case NW_GUARD: return r->kind = "guard", true;
  case NW_ALLOC: return r->kind = "storage", r->name = s->alloc.buffer, true;
  case NW_PREFETCH: return r->kind = "prefetch", r->name = s->prefetch.buffer, true;
  case NW_CALL: return r->kind = "call", r->name = s->call.intrinsic, true;
  case NW_UNIT: return r->kind = "unit", r->name = s->unit.name, true;
  default: return false;
  }
}

static void add_row(outline *o, nw_outline_row r, int depth, char *text) {
  if (o->n == o->cap) o->row = nw_xrealloc(o->row, sizeof *o->row * (size_t)(o->cap = o->cap ? 2 * o->cap : 32));
  r.depth = depth, r.text = text;
  o->row[o->n++] = r;
}

// Adds the allocations of the program's flat list whose first use is in child `at` of the root.
static void add_storage(outline *o, const nw_program *p, int at, int depth) {
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_stmt *s = p->buffer[i]->alloc;
    nw_outline_row r;
    if (s && s->alloc.first == at && row_of(s, &r)) add_row(o, r, depth, nw_node_text(p, s));
  }
}

// Adds the rows of s and of the statements inside it. The condition of a stage becomes a guard around the stage.
static void add_rows(outline *o, const nw_program *p, const nw_stmt *s, int depth) {
  nw_outline_row r;
  if (row_of(s, &r)) {
    if (s->kind == NW_BLOCK && s->block.where) {
      nw_outline_row guard = {.kind = "guard", .id = s->id, .extent = -1, .unsafe = s->unsafe, .tested = s->tested};
      add_row(o, guard, depth++, nw_where_text(p, s));
      r.unsafe = r.tested = false;
    }
    add_row(o, r, depth++, nw_node_text(p, s));
  }
  for (int i = 0; i < s->nkids; i++) {
    if (s == p->root) add_storage(o, p, i, depth);
    add_rows(o, p, s->kid[i], depth);
  }
}

void nw_outline_free(int n, nw_outline_row *row) {
  for (int i = 0; i < n; i++) free(row[i].text);
  free(row);
}

int nw_program_outline(const nw_program *p, nw_outline_row **out) {
  outline o = {0};
  add_rows(&o, p, p->root, 0);
  *out = o.row;
  return o.n;
}
