// Keeps the state of the expressions that the user is writing: the current pool and the names. Also has small functions
// that several constructors of the language share.
#include "te/internal.h"
#include <stdlib.h>

// Expressions outside a compute share one pool. When the pool gets larger than this, a new pool replaces it. The old
// pool is freed when no owner of an expression needs it.
#define PEN_BYTES (1 << 20)

static void pen_free(void *data) {
  nw_pen *pen = data;
  nw_pool_release(pen->pool);
  free(pen);
}

nw_pen *nw_pen_of(nw_ctx *c) {
  nw_slot *slot = &c->slot[NW_SLOT_TE];
  if (!slot->data) nw_slot_fill(c, NW_SLOT_TE, nw_xcalloc(1, sizeof(nw_pen)), pen_free, NULL);
  return slot->data;
}

nw_pool *nw_lang_pool(nw_ctx *c) {
  nw_pen *pen = nw_pen_of(c);
  if (pen->build) return pen->build->op->pool;
  if (!pen->pool) pen->pool = nw_pool_new(c);
  return pen->pool;
}

// Called when a compute begins or ends, since borrowed expressions may be freed only then.
void nw_pen_turn(nw_ctx *c) {
  nw_pen *pen = nw_pen_of(c);
  if (!pen->pool || nw_pool_bytes(pen->pool) < PEN_BYTES) return;
  nw_pool_release(pen->pool);
  pen->pool = NULL;
}

char *nw_plain_name(nw_arena *a, const char *symbol) {
  size_t n = strcspn(symbol, "@");
  if (a) return nw_arena_strndup(a, symbol, n);
  char *s = nw_xstrdup(symbol);
  s[n] = 0;
  return s;
}

char *nw_symbol_name(nw_ctx *c, const char *name, uint64_t *serial) {
  nw_str b = {0};
  uint64_t n = ++c->serial;
  if (serial) *serial = n;
  nw_str_fmt(&b, "%s@%llu", name, (unsigned long long)n);
  return nw_str_take(&b);
}

typedef struct naming {
  nw_pool *p;
  const nw_expr *of, *load; // `of`: the expression that is printed; `load`: the read in it that gets a name
  nw_vec older; // symbols of older tensors whose plain name is the same as that of `load`
} naming;

static const nw_expr *plain_var(void *env, const nw_expr *v) {
  char *s = nw_plain_name(NULL, v->name);
  const nw_expr *e = nw_var_of(((naming *)env)->p, s, v->type);
  free(s);
  return e;
}

static bool see_older(void *env, const nw_expr *e) {
  naming *x = env;
  size_t n = strcspn(x->load->name, "@");
  if (e->op != NW_OP_LOAD || strncmp(e->name, x->load->name, n + 1) || !e->name[n]) return true;
  if (strtoull(e->name + n + 1, NULL, 10) >= strtoull(x->load->name + n + 1, NULL, 10)) return true;
  for (int i = 0; i < x->older.n; i++)
    if (!strcmp(x->older.at[i], e->name)) return true;
  nw_vec_push(&x->older, (void *)e->name);
  return true;
}

// If two tensors in the expression have the name A, the later one is printed as A_1, as in a program.
static const nw_expr *plain_load(void *env, const nw_expr *l) {
  naming *x = env;
  char *name = nw_plain_name(NULL, l->name);
  nw_str b = {0};
  x->load = l;
  x->older.n = 0;
  nw_visit(x->of, see_older, x);
  nw_str_add(&b, name);
  if (x->older.n) nw_str_fmt(&b, "_%d", x->older.n);
  const nw_expr *e = nw_load(x->p, l->type, b.s, l->n, l->arg);
  nw_str_free(&b);
  free(name);
  return e;
}

char *nw_te_text(const nw_expr *e) {
  nw_pool *p = nw_pool_new(nw_pool_ctx(e->pool));
  naming x = {.p = p, .of = e};
  char *s = nw_expr_show(nw_rewrite(p, e, plain_var, plain_load, &x));
  nw_vec_free(&x.older);
  nw_pool_release(p);
  return s;
}

char *nw_te_name(nw_ctx *c, const char *what, const char *name, const char *fallback) {
  if (!name) name = fallback;
  return nw_name_given(c, what, name) ? nw_xstrdup(name) : NULL;
}

// Converts e to i64. Every integer dtype except u64 widens without loss, so the cast is moved to the operands of min, max
// and select. Then proofs can recognize a clamp.
static const nw_expr *widen(nw_pool *p, const nw_expr *e) {
  if (e->type.dtype == NW_INDEX) return nw_import(p, e);
  if (e->op == NW_OP_SELECT) return nw_select(p, e->arg[0], widen(p, e->arg[1]), widen(p, e->arg[2]));
  bool clamps = (e->op == NW_OP_MIN || e->op == NW_OP_MAX) && (e->type.dtype != NW_U64 || NW_MUTATED(clamp_of_u64));
  if (!clamps) return nw_convert(p, NW_INDEX, e);
  return nw_make2(p, e->op, widen(p, e->arg[0]), widen(p, e->arg[1]));
}

const nw_expr *nw_te_index(nw_ctx *c, nw_pool *p, const nw_expr *e, const char *what) {
  if (!e) return NULL;
  if (!nw_dtype_is_int(e->type.dtype))
    return nw_fail(c, NW_ETYPE, "an index must be an integer: cast it", "%s is of type %s", what,
                   nw_dtype_name(e->type.dtype));
  return widen(p, e);
}
