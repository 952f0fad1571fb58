// Finds the work of a nest. It consists of the operations in the text of the statements, the number of executed
// statements, and the bytes of their accesses.
#include "cost/work.h"
#include "cache/exact/model.h"
#include "nest/nest.h"

// ---- types of operands

typedef struct number {
  int bits; // width; 0 if it is not known
  bool real;
} number;

static number number_of(const nw_text *t, int array) {
  const nw_text_array *a = t->array.at[array];
  nw_dtype type;
  if (!a->dtype || !nw_dtype_parse(a->dtype, &type)) return (number){0};
  return (number){8 * a->elem, nw_dtype_is_float(type)};
}

// Returns the type in which a statement computes. If its target is an array element, this is the type of the array.
// Otherwise it is the type of the widest elements that are read, or f64 if no array is read.
static number number_in(const nw_text *t, const nw_text_node *x) {
  number widest = {0};
  if (!x->nrefs) return (number){64, true};
  if (x->ntargets) return number_of(t, x->ref[0].array);
  for (int i = 0; i < x->nrefs; i++) {
    number n = number_of(t, x->ref[i].array);
    if (n.bits > widest.bits) widest = n;
  }
  return widest;
}

static nw_class class_of(nw_class c, number n) {
  if (!n.bits || n.real) return n.bits == 64 ? nw_class_of_f64(c) : c;
  return c == NW_CLASS_MUL   ? NW_CLASS_INTMUL
         : c == NW_CLASS_DIV ? NW_CLASS_INTDIV
         : c < NW_CLASS_DIV  ? NW_CLASS_INT
                             : c;
}

static void add(nw_nest_work *w, const char *name, int bits, double count) {
  int i = 0;
  if (!(count > 0)) return;
  while (i < w->n && !(w->row[i].bits == bits && !strcmp(w->row[i].name, name))) i++;
  if (i == NW_NEST_OPERATIONS) return;
  if (i == w->n) w->row[w->n++] = (nw_nest_operation){name, bits, 0};
  w->row[i].count += count;
}

// ---- numbers of executions

// Copies a node and replaces each statement by a single access. The number of times that this access is made is then
// the number of executions of the statement.
static nw_text_node *marked(nw_text *to, const nw_text_node *x) {
  if (!x) return NULL;
  nw_text_node *y = nw_text_node_new(to, x->kind);
  nw_vec kid = y->kid;
  *y = *x;
  y->kid = kid;
  for (int i = 0; i < x->kid.n; i++) nw_vec_push(&y->kid, marked(to, x->kid.at[i]));
  y->other = marked(to, x->other);
  if (x->kind != NW_TEXT_STMT) return y;
  y->ntargets = 0, y->op = NULL, y->nrefs = 1;
  y->ref = NW_NEW(to->arena, nw_text_ref);
  *y->ref = (nw_text_ref){.lanes = 1};
  return y;
}

static nw_text *marked_text(nw_ctx *c, const nw_text *t) {
  nw_text *to = nw_text_new(c);
  nw_text_array *mark = NW_NEW(to->arena, nw_text_array);
  *mark = (nw_text_array){.name = "mark", .elem = 1};
  nw_pool_release(to->pool);
  to->pool = nw_pool_retain(t->pool);
  for (int i = 0; i < t->param.n; i++) nw_vec_push(&to->param, t->param.at[i]);
  nw_vec_push(&to->array, mark);
  to->root = marked(to, t->root);
  return to;
}

typedef struct statements {
  const nw_text *t;
  const nw_cached *times; // in `asked` of site i: the number of executions of statement i
  int n;
  nw_nest_work *w;
} statements;

static void add_bytes(statements *s, const nw_text_node *x, double times) {
  for (int i = 0; i < x->nrefs; i++) {
    double bytes = times * (double)(((nw_text_array *)s->t->array.at[x->ref[i].array])->elem * x->ref[i].lanes);
    bool target = i < x->ntargets;
    if (target) s->w->written += bytes;
    if (!target || strcmp(x->op, "=")) s->w->read += bytes;
  }
}

static void add_statement(statements *s, const nw_text_node *x) {
  double times = (double)nw_cached_site(s->times, 0, s->n++)->asked;
  number of = number_in(s->t, x);
  for (int c = 0; c < NW_CLASS_COUNT; c++)
    if (x->ops.of[c]) add(s->w, nw_class_name(class_of((nw_class)c, of)), of.bits, times * x->ops.of[c]);
  s->w->calls += times * x->ops.calls;
  s->w->statements += times;
  add_bytes(s, x, times);
}

static void add_all(statements *s, const nw_text_node *x) {
  if (!x) return;
  if (x->kind == NW_TEXT_STMT) add_statement(s, x);
  for (int i = 0; i < x->kid.n; i++) add_all(s, x->kid.at[i]);
  add_all(s, x->other);
}

bool nw_text_work(nw_ctx *c, const nw_text *t, const int64_t *value, nw_nest_work *out) {
  nw_cache_opts o = {.caches = {.nlevels = 1, .level[0] = {64, 1}, .line = 64}};
  nw_text *marks = marked_text(c, t);
  nw_arena *a = nw_arena_scratch();
  nw_affine_nest *nest = nw_text_nest(c, a, marks, value);
  statements s = {.t = t, .times = nest ? nw_cached_of(c, nest, &o) : NULL, .w = out};
  *out = (nw_nest_work){0};
  if (s.times) add_all(&s, t->root);
  out->exact = s.times && nw_cached_exact(s.times, 0);
  bool ok = s.times != NULL;
  nw_cached_free((nw_cached *)s.times);
  nw_arena_free(a);
  nw_text_free(marks);
  return ok;
}

bool nw_loopnest_work(nw_ctx *c, const nw_loopnest *n, nw_nest_work *out) {
  nw_text *made = n->text ? NULL : nw_text_of(n->ctx, n->nest);
  bool ok = nw_text_work(c, made ? made : n->text, n->value, out);
  nw_text_free(made);
  return ok;
}
