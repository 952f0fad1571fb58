// rewrite: replaces parts of a stage's body by an equal expression. Whether the two sides are equal is decided by the
// judge (poly/values/equal.c).
#include "poly/poly.h"
#include "sched/primitives.h"
#include "sched/tree.h"
#include <stdlib.h>

enum { REWRITE_STAGE, REWRITE_FROM, REWRITE_TO };

// ---- the two sides

typedef struct dtypes {
  bool has[NW_DTYPE_COUNT];
} dtypes;

static bool see_dtype(void *env, const nw_expr *e) {
  ((dtypes *)env)->has[e->type.dtype] = true;
  return true;
}

static dtypes dtypes_of(const nw_stmt *block) {
  dtypes t = {{false}};
  for (int i = 0; i < block->block.ntargets; i++) nw_visit(block->block.target[i].value, see_dtype, &t);
  return t;
}

static bool is_a_constant(const nw_expr *e) { return e->op == NW_OP_INT || e->op == NW_OP_FLOAT; }

// Names the argument in the error of the parser.
static bool blame(nw_step *st, int param) {
  const char *why = nw_arena_strdup(st->scratch, nw_error(st->ctx)->message);
  nw_clear(st->ctx);
  return nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "rewrite: %s = \"%s\" cannot be parsed: %s",
                 st->primitive->param[param].name, nw_step_str(st, param, ""), why);
}

// Parses the two sides with pattern variables of dtype t. Returns false with a diagnostic if a side has no such form.
static bool parse(nw_step *st, nw_dtype t, nw_equality *q) {
  if (!(q->from = nw_pattern_parse(st->p, t, nw_step_str(st, REWRITE_FROM, "")))) return blame(st, REWRITE_FROM);
  if (!(q->to = nw_pattern_parse(st->p, t, nw_step_str(st, REWRITE_TO, "")))) return blame(st, REWRITE_TO);
  if (is_a_constant(q->to)) q->to = nw_cast(st->p->pool, (nw_dtype)q->from->type.dtype, q->to);
  return true;
}

// ---- the blocks

static void count(void *env, const nw_occurrence *o) {
  (void)o;
  ++*(int *)env;
}

// Applies the equality to all blocks of the stage. Returns the number of parts that it replaces, and stores in *changed
// whether this changes a value.
static int apply(nw_step *st, const nw_rewriting *w, bool *changed) {
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  int n = 0;
  *changed = false;
  for (int i = 0; i < all.n; i++) {
    nw_stmt *b = all.at[i];
    if (!nw_is_rewritten(w, b)) continue;
    for (int t = 0; t < b->block.ntargets; t++) {
      const nw_expr **value = &b->block.target[t].value, *was = *value;
      *value = nw_equality_apply(st->p->pool, &w->equality, was, count, &n);
      if (*value != was) b->step = st->p->step, *changed = true;
    }
  }
  return n;
}

static bool refuse_form(nw_step *st, const nw_stmt *block) {
  char *value = nw_expr_show(block->block.target[0].value);
  nw_step_refuse(st, "write the part as s:show() shows it; a name that is not a tensor stands for any expression", NULL,
                 "no part of %s has this form", value);
  free(value);
  return false;
}

static bool refuse_unknown(nw_step *st, const char *name) {
  return nw_fail(st->ctx, NW_EINVAL, st->primitive->example,
                 "rewrite: `to` uses %s, which `from` does not have with the same dtype", name);
}

// Tries the equality with pattern variables of one dtype. Returns true if it has replaced a part, or has failed.
static bool try_dtype(nw_step *st, const nw_stmt *block, nw_dtype t, bool *ok) {
  nw_rewriting *w = NW_NEW(st->scratch, nw_rewriting);
  bool changed;
  w->origin = block->block.origin;
  if (!parse(st, t, &w->equality)) return false;
  const nw_equality *q = &w->equality;
  nw_equality left = {q->from, q->from};
  if (!apply(st, &(nw_rewriting){w->origin, left}, &changed)) return false;
  *ok = false;
  const char *unknown = nw_equality_unknown(q);
  if (unknown) return refuse_unknown(st, unknown), true;
  if (q->from->type.dtype != q->to->type.dtype)
    return nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "rewrite: `from` is %s and `to` is %s",
                   nw_dtype_name((nw_dtype)q->from->type.dtype), nw_dtype_name((nw_dtype)q->to->type.dtype)),
           true;
  nw_padding was, is;
  const nw_stmt *fill = nw_fill_of(st, block);
  bool padded = fill && nw_padding_of(st->p, block, &was);
  apply(st, w, &changed);
  st->rewriting = w;
  // The judge finds the border of a filled stage by the form of its value.
  if (padded && !(nw_padding_of(st->p, block, &is) && is.constant == was.constant && is.inside == was.inside))
    *ok = nw_step_refuse(st, "use rewrite before decompose_padding, or rewrite a part inside the select", NULL,
                         "%s stores its border, and its value would not show where the border is", fill->block.name);
  else
    *ok = changed || nw_step_refuse(st, "nothing would change", NULL, "both forms are the same expression");
  return true;
}

bool nw_apply_rewrite(void *step) {
  nw_step *st = step;
  nw_stmt *block = nw_step_block(st, REWRITE_STAGE, NULL);
  if (!block) return false;
  dtypes has = dtypes_of(block);
  nw_dtype own = (nw_dtype)block->block.target[0].value->type.dtype;
  nw_equality q;
  bool ok, parses = false;
  if (block->block.init_part) return nw_step_refuse(st, "name the reduction", NULL, "it is the init of a reduction");
  for (int i = -1; i < NW_DTYPE_COUNT; i++) {
    nw_dtype t = i < 0 ? own : (nw_dtype)i;
    if ((i >= 0 && t == own) || !has.has[t]) continue;
    if (try_dtype(st, block, t, &ok)) return ok;
    parses |= !nw_error(st->ctx);
    nw_clear(st->ctx);
  }
  return parses ? refuse_form(st, block) : parse(st, own, &q) && refuse_form(st, block);
}
