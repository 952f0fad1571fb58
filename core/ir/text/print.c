// Prints a program in one of two forms, with the same traversal. The full form shows every field and can be parsed. The
// short form is for users: a block is shown with the variables of the enclosing loops in place of its own variables.
#include "ir/text/lines.h"
#include "ir/text/short.h"
#include "ir/program/intrinsic.h"
#include "ir/program/reducer.h"
#include "ir/program/tags.h"
#include <stdlib.h>

typedef struct printer {
  nw_lines *l;
  const nw_program *p;
  const nw_show_opts *o;
  nw_path path; // path from the root to the statement that is being printed
  int indent;
  bool folded; // true if the last line is "...", which stands for statements that are not shown
} printer;

static nw_line *open_line(printer *pr, const nw_stmt *s) {
  nw_line *line = nw_lines_open(pr->l, pr->indent);
  pr->folded = false;
  if (s) line->stmt = s->id, line->step = s->step;
  if (pr->o->changed_since) line->gutter = s && s->step >= pr->o->changed_since ? '+' : ' ';
  return line;
}

static void text(printer *pr, const char *s) { nw_lines_put(pr->l, NW_PIECE_TEXT, "%s", s); }

static void word(printer *pr, const char *s) { nw_lines_put(pr->l, NW_PIECE_KEYWORD, "%s", s); }

// Begins the first line of a statement. If an unsafe step made the statement, the line begins with `unsafe`. If a
// rewrite that was not proved made it, `tested` follows.
static void open_stmt(printer *pr, const nw_stmt *s) {
  open_line(pr, s);
  if (s->unsafe) nw_lines_put(pr->l, NW_PIECE_MARK, "unsafe ");
  if (s->tested) nw_lines_put(pr->l, NW_PIECE_MARK, "tested ");
}

static void expr(printer *pr, const nw_expr *e) {
  nw_str b = {0};
  nw_expr_print(&b, e);
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s", b.s);
  nw_str_free(&b);
}

static void exprs(printer *pr, int n, const nw_expr *const *e) {
  for (int i = 0; i < n; i++) {
    if (i) text(pr, ", ");
    expr(pr, e[i]);
  }
}

// Prints a range as `lo..hi`, or as `lo..+extent` if hi - lo does not fold to the extent.
static void range(printer *pr, const nw_expr *lo, const nw_expr *extent) {
  nw_pool *pool = pr->p->pool;
  const nw_expr *hi = nw_add(pool, lo, extent);
  bool exact = nw_sub(pool, hi, lo) == extent;
  expr(pr, lo);
  text(pr, exact ? ".." : "..+");
  expr(pr, exact ? hi : extent);
}

// ---- tables: the full form only

static void layout(printer *pr, const nw_buffer *b) {
  word(pr, " layout ");
  text(pr, "[");
  exprs(pr, b->nlayout, b->layout);
  text(pr, "]");
  word(pr, " in ");
  text(pr, "[");
  exprs(pr, b->nlayout, b->layout_shape);
  text(pr, "]");
}

// Prints `stride[0] = 5 of 32`: the stride has the remainder 5 modulo 32.
static void strides(printer *pr, const nw_buffer *b) {
  for (int i = 0; i < b->nstrides; i++) {
    word(pr, " stride");
    nw_lines_put(pr->l, NW_PIECE_TEXT, "[%d] = %lld", b->stride[i].dim, (long long)b->stride[i].offset);
    word(pr, " of ");
    nw_lines_put(pr->l, NW_PIECE_TEXT, "%lld", (long long)b->stride[i].factor);
  }
}

static void storage_of(printer *pr, const nw_buffer *b) {
  if (b->scope != NW_GLOBAL)
    nw_lines_put(pr->l, NW_PIECE_KEYWORD, " %s%s", b->scope == NW_CHIP ? "on " : "", nw_scope_name(b));
  if (b->nlayout) layout(pr, b);
  if (b->pad) word(pr, " pad "), expr(pr, b->pad);
  strides(pr, b);
  if (!b->pitch) return;
  word(pr, " strides ");
  text(pr, "[");
  exprs(pr, b->ndim, b->pitch);
  text(pr, "]");
}

static void buffer(printer *pr, const nw_buffer *b) {
  open_line(pr, NULL);
  word(pr, nw_role_name(b->role));
  nw_lines_put(pr->l, NW_PIECE_TEXT, " %s: %s[", b->name, nw_dtype_name(b->dtype));
  exprs(pr, b->ndim, b->shape);
  text(pr, "]");
  storage_of(pr, b);
}

static void assumptions(printer *pr) {
  for (int i = pr->p->nfacts - pr->p->nassumed; i < pr->p->nfacts; i++) {
    open_line(pr, NULL);
    word(pr, "assume ");
    expr(pr, pr->p->fact[i]);
  }
}

// Prints the inputs and outputs whose layout gives the argument of the kernel another shape, or whose array has strides.
static void laid_out(printer *pr) {
  for (int i = 0; i < pr->p->nbuffers; i++)
    if (pr->p->buffer[i]->role != NW_TEMP && (pr->p->buffer[i]->nlayout || pr->p->buffer[i]->pitch))
      buffer(pr, pr->p->buffer[i]);
}

// Prints `reducer online tested 1000 (v0: f32 from f32(-inf), v1: f32 from 0.0) = max(a0, b0), ...`.
static void reducer(printer *pr, const nw_used_reducer *used) {
  const nw_reducer *r = nw_reducer_of(pr->p->ctx, used->combiner);
  open_line(pr, NULL);
  word(pr, "reducer ");
  text(pr, used->name);
  if (r->tested) nw_lines_put(pr->l, NW_PIECE_MARK, " tested %d", r->tested);
  text(pr, " (");
  for (int i = 0; i < r->n; i++) {
    nw_lines_put(pr->l, NW_PIECE_TEXT, "%s%s: %s", i ? ", " : "", r->part[i], nw_dtype_name(r->dtype[i]));
    word(pr, " from ");
    expr(pr, r->init[i]);
  }
  text(pr, ") = ");
  exprs(pr, r->n, r->combine);
}

static void tables(printer *pr) {
  const nw_program *p = pr->p;
  open_line(pr, NULL);
  word(pr, "program ");
  text(pr, p->name);
  if (p->unsafe) {
    open_line(pr, NULL);
    nw_lines_put(pr->l, NW_PIECE_MARK, "unjudged %d", p->unsafe);
  }
  if (p->tested) {
    open_line(pr, NULL);
    nw_lines_put(pr->l, NW_PIECE_MARK, "unproved %d on %d", p->tested, p->values);
  }
  for (int i = 0; i < p->nsizes; i++) {
    open_line(pr, NULL);
    word(pr, "size ");
    nw_lines_put(pr->l, NW_PIECE_TEXT, "%s >= ", p->size[i].name);
    expr(pr, p->size[i].lo);
  }
  for (int i = 0; i < p->nfacts - p->nassumed; i++) {
    open_line(pr, NULL);
    word(pr, "fact ");
    expr(pr, p->fact[i]);
  }
  assumptions(pr);
  for (int i = 0; i < p->nreducers; i++) reducer(pr, &p->reducer[i]);
  for (int i = 0; i < p->nbuffers; i++) buffer(pr, p->buffer[i]);
}

// ---- statements that are the same in both forms

static void quoted(printer *pr, const char *s) {
  text(pr, "\"");
  for (; *s; s++) nw_lines_put(pr->l, NW_PIECE_TEXT, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
  text(pr, "\"");
}

// Prints tags: `with chunk = 4, note = "..."`.
static void tags(printer *pr, const nw_stmt *s) {
  for (int i = 0; i < s->ntags; i++) {
    const nw_tag *t = &s->tag[i];
    word(pr, i ? ", " : " with ");
    nw_lines_put(pr->l, NW_PIECE_TEXT, "%s = ", t->row->key);
    if (t->text)
      quoted(pr, t->text);
    else
      nw_lines_put(pr->l, NW_PIECE_TEXT, "%lld", (long long)t->number);
  }
}

static void loop_bounds(printer *pr, const nw_stmt *s) {
  nw_lines_put(pr->l, NW_PIECE_NAME, "%s", s->loop.var->name);
  word(pr, " in ");
  if (s->loop.nfused) {
    text(pr, "0..fuse(");
    exprs(pr, s->loop.nfused, s->loop.fused);
    text(pr, ")");
  } else {
    range(pr, s->loop.begin, s->loop.extent);
  }
  tags(pr, s);
}

static void loop(printer *pr, const nw_stmt *s) {
  open_stmt(pr, s);
  if (s->loop.mark) nw_lines_put(pr->l, NW_PIECE_MARK, "%s ", nw_loop_kind_name(s->loop.mark));
  word(pr, "for ");
  loop_bounds(pr, s);
  text(pr, ":");
}

static void guard(printer *pr, const nw_stmt *s) {
  open_stmt(pr, s);
  word(pr, "if ");
  expr(pr, s->guard.cond);
  text(pr, ":");
}

static void store(printer *pr, const nw_stmt *s) {
  open_stmt(pr, s);
  if (s->store.stream) word(pr, "stream ");
  if (s->store.atomic) word(pr, "atomic ");
  if (s->store.async) word(pr, "async ");
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s[", s->store.buffer);
  expr(pr, s->store.index);
  if (s->store.mask) {
    text(pr, "; ");
    expr(pr, s->store.mask);
  }
  text(pr, "] = ");
  expr(pr, s->store.value);
  tags(pr, s);
}

static void tile(printer *pr, const nw_tile *t) {
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s[", t->buffer);
  expr(pr, t->index);
  if (t->n) text(pr, "; ");
  exprs(pr, t->n, t->stride);
  text(pr, "]");
}

// Prints `call "mm16:1c9a2f07":`. A lowered call is printed with its tiles. In the short form, only the name of the
// intrinsic is printed.
// For an instruction of a warp, adds a remark that it may round differently from the nest below it.
static void rounding(printer *pr, const nw_stmt *s) {
  const nw_intrinsic *in = pr->o->full ? NULL : nw_intrinsic_find(pr->p->ctx, s->call.intrinsic);
  if (in && in->instruction && in->instruction->depth)
    nw_lines_put(pr->l, NW_PIECE_COMMENT, "  # %s", NW_INSTRUCTION_ROUNDING);
}

static void call(printer *pr, const nw_stmt *s) {
  open_line(pr, s);
  word(pr, "call ");
  if (pr->o->full)
    quoted(pr, s->call.intrinsic);
  else
    nw_lines_put(pr->l, NW_PIECE_MARK, "%.*s", (int)strcspn(s->call.intrinsic, ":"), s->call.intrinsic);
  for (int i = 0; i < s->call.ntiles; i++) {
    text(pr, i ? ", " : " (");
    tile(pr, &s->call.tile[i]);
  }
  text(pr, s->call.ntiles ? "):" : ":");
  rounding(pr, s);
}

static void unit(printer *pr, const nw_stmt *s) {
  open_stmt(pr, s);
  word(pr, "unit ");
  nw_lines_put(pr->l, NW_PIECE_NAME, "%s", s->unit.name);
  text(pr, ":");
}

// ---- blocks and allocations: the full form

static void element(printer *pr, const nw_block_target *t) {
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s[", t->buffer);
  exprs(pr, t->n, t->index);
  text(pr, "]");
}

static void full_var(printer *pr, const nw_block_var *v) {
  if (v->kind != NW_SPATIAL) nw_lines_put(pr->l, NW_PIECE_KEYWORD, "%s ", nw_var_kind_name(v->kind));
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s = ", v->var->name);
  expr(pr, v->bind);
  word(pr, " in ");
  range(pr, v->lo, v->extent);
}

static void full_block_head(printer *pr, const nw_stmt *s) {
  open_stmt(pr, s);
  if (s->block.init_part) word(pr, "init ");
  if (s->block.atomic) word(pr, "atomic ");
  if (s->block.async) word(pr, "async ");
  word(pr, "block ");
  nw_lines_put(pr->l, NW_PIECE_NAME, "%s", s->block.name);
  word(pr, " of ");
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s (", s->block.origin);
  for (int i = 0; i < s->block.nvars; i++) {
    if (i) text(pr, ", ");
    full_var(pr, &s->block.var[i]);
  }
  text(pr, ")");
  if (s->block.when) {
    word(pr, " when ");
    expr(pr, s->block.when);
  }
  if (s->block.where) {
    word(pr, " where ");
    expr(pr, s->block.where);
  }
  tags(pr, s);
  text(pr, ":");
}

static void full_init(printer *pr, const nw_stmt *s, const nw_block_target *t) {
  open_line(pr, s);
  word(pr, "init ");
  element(pr, t);
  text(pr, " = ");
  expr(pr, t->init);
  if (!s->block.has_init) word(pr, " elsewhere");
}

static void full_block(printer *pr, const nw_stmt *s) {
  full_block_head(pr, s);
  pr->indent += 2;
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_block_target *t = &s->block.target[i];
    if (t->init) full_init(pr, s, t);
    open_line(pr, s);
    if (t->stream) word(pr, "stream ");
    element(pr, t);
    nw_lines_put(pr->l, NW_PIECE_TEXT, " %s ", nw_combiner_assign(pr->p, s->block.combiner));
    expr(pr, t->value);
  }
  pr->indent -= 2;
}

// True if the allocation is in the flat list, and therefore has no statements inside.
static bool in_list(const printer *pr, const nw_stmt *s) {
  const nw_buffer *b = nw_find_buffer(pr->p, s->alloc.buffer);
  return b && b->alloc == s;
}

static void full_alloc(printer *pr, const nw_stmt *s) {
  open_stmt(pr, s);
  word(pr, "alloc ");
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s[", s->alloc.buffer);
  for (int i = 0; i < s->alloc.n; i++) {
    if (i) text(pr, ", ");
    range(pr, s->alloc.min[i], s->alloc.extent[i]);
  }
  text(pr, in_list(pr, s) ? "]" : "]:");
}

static void box(printer *pr, const nw_stmt *s) {
  for (int i = 0; i < s->prefetch.n; i++) {
    if (i) text(pr, ", ");
    if (s->prefetch.extent[i])
      range(pr, s->prefetch.min[i], s->prefetch.extent[i]);
    else
      expr(pr, s->prefetch.min[i]);
  }
}

static void prefetch(printer *pr, const nw_stmt *s) {
  open_line(pr, s);
  word(pr, "prefetch ");
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s[", s->prefetch.buffer);
  box(pr, s);
  text(pr, "]");
}

static void wait(printer *pr, const nw_stmt *s) {
  open_line(pr, s);
  word(pr, "wait ");
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%d", s->wait.groups);
}

// ---- the short form

static void short_line(printer *pr, const nw_stmt *s, const char *keyword, const char *body, const char *comment) {
  open_stmt(pr, s);
  word(pr, keyword);
  text(pr, body);
  if (*comment) nw_lines_put(pr->l, NW_PIECE_COMMENT, "  # %s", comment);
}

static void short_block(printer *pr, const nw_stmt *s) {
  nw_short_block b;
  nw_short_block_of(&b, pr->p, &pr->path);
  if (b.where) {
    short_line(pr, s, "if ", b.where, "");
    pr->indent += 2;
  }
  for (int i = 0; i < b.n; i++) {
    short_line(pr, s, "", b.line[i], i ? "" : b.comment);
    if (!i) tags(pr, s);
  }
  if (b.where) pr->indent -= 2;
  nw_short_block_free(&b);
}

// Prints only the extents of the box. Its begin can be seen in the indices of the statements that fill it.
static void short_alloc(printer *pr, const nw_stmt *s) {
  const nw_buffer *b = nw_find_buffer(pr->p, s->alloc.buffer);
  open_stmt(pr, s);
  word(pr, "alloc ");
  nw_lines_put(pr->l, NW_PIECE_TEXT, "%s[", s->alloc.buffer);
  exprs(pr, s->alloc.n, s->alloc.extent);
  text(pr, "]");
  if (b) storage_of(pr, b);
}

// ---- traversal of a program

static const char *remark_of(const printer *pr, const nw_stmt *s) {
  for (int i = 0; i < pr->o->nmarks; i++)
    if (s->id && pr->o->mark[i] == s->id) return pr->o->remark ? pr->o->remark[i] : "";
  return NULL;
}

static bool unmarked(void *env, nw_stmt *s) { return !remark_of(env, s); }

// Prints a single line "..." for consecutive statements without a mark.
static void fold(printer *pr) {
  if (pr->folded && pr->l->line[pr->l->n - 1].indent == pr->indent) return;
  open_line(pr, NULL);
  nw_lines_put(pr->l, NW_PIECE_COMMENT, "...");
  pr->folded = true;
}

static void head(printer *pr, const nw_stmt *s) {
  bool full = pr->o->full;
  switch (s->kind) {
  case NW_SEQ:
    if (full && pr->path.n > 1) open_line(pr, s), word(pr, "seq:");
    break;
  case NW_LOOP: loop(pr, s); break;
  case NW_BLOCK: (full ? full_block : short_block)(pr, s); break;
  case NW_GUARD: guard(pr, s); break;
  case NW_STORE: store(pr, s); break;
  case NW_PREFETCH: prefetch(pr, s); break;
  case NW_ALLOC: (full ? full_alloc : short_alloc)(pr, s); break;
  case NW_BARRIER: open_line(pr, s), word(pr, s->barrier.warp ? "barrier warp" : "barrier"); break;
  case NW_COMMIT: open_line(pr, s), word(pr, "commit"); break;
  case NW_WAIT: wait(pr, s); break;
  case NW_CALL: call(pr, s); break;
  case NW_UNIT: unit(pr, s); break;
  }
}

static bool indents(const printer *pr, const nw_stmt *s) {
  if (s->kind == NW_SEQ) return pr->o->full && pr->path.n > 1;
  if (s->kind == NW_ALLOC) return pr->o->full && !in_list(pr, s);
  return s->kind == NW_LOOP || s->kind == NW_GUARD || s->kind == NW_CALL || s->kind == NW_UNIT;
}

static void statement(printer *pr, nw_stmt *s, int pos);
static void one(printer *pr, nw_stmt *s, int pos);

// True if a marked statement runs while the buffer of this allocation is in use.
static bool lives_at_mark(printer *pr, const nw_stmt *s) {
  for (int i = s->alloc.first; i <= s->alloc.last; i++)
    if (!nw_walk_from(pr->p->root->kid[i], unmarked, pr)) return true;
  return !unmarked(pr, (nw_stmt *)s);
}

// Prints the allocations of the program's flat list whose first use is in child `at` of the root. The first use of an
// unused allocation is set to child 0.
static void allocs(printer *pr, int at) {
  for (int i = 0; i < pr->p->nbuffers; i++) {
    nw_stmt *s = pr->p->buffer[i]->alloc;
    if (!s || s->alloc.first != at) continue;
    if (pr->o->only_marked && !lives_at_mark(pr, s))
      fold(pr);
    else
      one(pr, s, -1);
  }
}

static void kids(printer *pr, const nw_stmt *s) {
  int step = indents(pr, s) ? 2 : 0;
  pr->indent += step;
  if (s == pr->p->root && !s->nkids) allocs(pr, 0);
  for (int i = 0; i < s->nkids; i++) {
    if (s == pr->p->root) allocs(pr, i);
    statement(pr, s->kid[i], i);
  }
  if (step && !s->nkids) open_line(pr, s), word(pr, "pass");
  pr->indent -= step;
}

static void statement(printer *pr, nw_stmt *s, int pos) {
  if (!s || pr->path.n == NW_MAX_DEPTH || (pr->o->only_marked && nw_walk_from(s, unmarked, pr))) {
    fold(pr);
    return;
  }
  one(pr, s, pos);
}

static void one(printer *pr, nw_stmt *s, int pos) {
  pr->path.at[pr->path.n] = s;
  pr->path.pos[pr->path.n++] = pos;
  head(pr, s);
  const char *remark = remark_of(pr, s);
  if (remark && *remark && pr->l->n && pr->l->line[pr->l->n - 1].stmt == s->id)
    pr->l->line[pr->l->n - 1].remark = remark;
  kids(pr, s);
  pr->path.n--;
}

static void short_head(printer *pr) {
  int n = pr->p->unsafe, m = pr->p->tested;
  if (n) open_line(pr, NULL);
  if (n) nw_lines_put(pr->l, NW_PIECE_MARK, "# unsafe: %d step%s not judged", n, n == 1 ? " was" : "s were");
  if (m) open_line(pr, NULL);
  if (m)
    nw_lines_put(pr->l, NW_PIECE_MARK, "# %d step%s tested on %s%d values, not proved", m, m == 1 ? " was" : "s were",
                 m == 1 ? "" : "at least ", pr->p->values);
  for (int i = 0; i < pr->p->nreducers; i++) {
    int tested = nw_reducer_of(pr->p->ctx, pr->p->reducer[i].combiner)->tested;
    if (!tested) continue;
    open_line(pr, NULL);
    nw_lines_put(pr->l, NW_PIECE_MARK, "# reducer %s: tested on %d values, not proved", pr->p->reducer[i].name, tested);
  }
}

void nw_program_lines(nw_lines *l, const nw_program *p, const nw_show_opts *o) {
  printer pr = {.l = l, .p = p, .o = o};
  if (o->full)
    tables(&pr);
  else
    short_head(&pr);
  if (!o->full && !o->only_marked) assumptions(&pr), laid_out(&pr);
  statement(&pr, p->root, 0);
}

// ---- public functions

char *nw_program_show(const nw_program *p, const nw_show_opts *o) {
  if (!p) return NULL;
  nw_show_opts plain = {.style = NW_TEXT_PLAIN};
  nw_lines lines = {0};
  nw_str out = {0};
  nw_program_lines(&lines, p, o ? o : &plain);
  nw_lines_write(&out, &lines, o ? o->style : NW_TEXT_PLAIN);
  nw_lines_free(&lines);
  return nw_str_take(&out);
}

char *nw_program_print(const nw_program *p) { return nw_program_show(p, &(nw_show_opts){.full = true}); }

// ---- single statements

static char *taken(nw_lines *l) {
  char *text = nw_xstrdup(l->text.s ? l->text.s : "");
  nw_lines_free(l);
  return nw_as_shown(text);
}

static void node_loop(printer *pr, const nw_stmt *s) {
  loop_bounds(pr, s);
  if (s->loop.mark) nw_lines_put(pr->l, NW_PIECE_MARK, "  %s", nw_loop_kind_name(s->loop.mark));
}

static void node_block(printer *pr, const nw_stmt *s) {
  nw_lines_put(pr->l, NW_PIECE_NAME, "%s", s->block.name);
  text(pr, "(");
  for (int i = 0; i < s->block.nvars; i++) {
    const nw_block_var *v = &s->block.var[i];
    nw_lines_put(pr->l, NW_PIECE_TEXT, "%s%s%s%s", i ? ", " : "",
                 v->kind == NW_SPATIAL ? "" : nw_var_kind_name(v->kind), v->kind == NW_SPATIAL ? "" : " ",
                 v->var->name);
  }
  text(pr, ")");
}

static void node_storage(printer *pr, const nw_stmt *s) {
  const nw_buffer *b = nw_find_buffer(pr->p, s->alloc.buffer);
  nw_lines_put(pr->l, NW_PIECE_TEXT, "storage %s[", s->alloc.buffer);
  for (int i = 0; i < s->alloc.n; i++) {
    if (i) text(pr, ", ");
    range(pr, s->alloc.min[i], s->alloc.extent[i]);
  }
  text(pr, "]");
  if (b) storage_of(pr, b);
}

char *nw_node_text(const nw_program *p, const nw_stmt *s) {
  nw_lines l = {0};
  printer pr = {.l = &l, .p = p, .o = &(nw_show_opts){.full = true}};
  open_line(&pr, NULL);
  switch (s->kind) {
  case NW_LOOP: node_loop(&pr, s); break;
  case NW_BLOCK: node_block(&pr, s); break;
  case NW_ALLOC: node_storage(&pr, s); break;
  case NW_GUARD:
    word(&pr, "if ");
    expr(&pr, s->guard.cond);
    break;
  case NW_PREFETCH:
    nw_lines_put(&l, NW_PIECE_TEXT, "prefetch %s[", s->prefetch.buffer);
    box(&pr, s);
    text(&pr, "]");
    break;
  case NW_CALL:
    word(&pr, "call ");
    quoted(&pr, s->call.intrinsic);
    break;
  case NW_UNIT:
    word(&pr, "unit ");
    nw_lines_put(&l, NW_PIECE_NAME, "%s", s->unit.name);
    break;
  default: break;
  }
  return taken(&l);
}

char *nw_where_text(const nw_program *p, const nw_stmt *block) {
  nw_lines l = {0};
  printer pr = {.l = &l, .p = p, .o = &(nw_show_opts){.full = true}};
  open_line(&pr, NULL);
  word(&pr, "if ");
  expr(&pr, block->block.where);
  return taken(&l);
}

char *nw_loop_header(const nw_program *p, const nw_stmt *s) {
  nw_lines l = {0};
  printer pr = {.l = &l, .p = p, .o = &(nw_show_opts){0}};
  open_line(&pr, s);
  word(&pr, "for ");
  loop_bounds(&pr, s);
  return taken(&l);
}
