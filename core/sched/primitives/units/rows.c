// Finds the rows that a unit uses, and its executions that use given rows. See move.c.
#include "sched/primitives/units/rows.h"
#include "sched/box.h"
#include "sched/primitives/place.h"
#include "sched/tree.h"
#include <stdlib.h>

bool nw_allocates(const nw_stmt *s, const char *buffer) {
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, buffer)) return true;
  for (int i = 0; i < s->nkids; i++)
    if (nw_allocates(s->kid[i], buffer)) return true;
  return false;
}

// ---- rows

static int loops_around(const nw_moving *x, const char **name, int *at) {
  int n = 0;
  for (int i = 0; i < x->naround; i++)
    if (x->around[i]->kind == NW_LOOP) name[n] = x->around[i]->loop.var->name, at[n++] = i;
  return n;
}

// Returns false with a refusal if the index is not affine in the loops around the unit.
static bool add_row(nw_moving *x, const nw_stmt *block, const char *buffer, int dim, const nw_expr *index) {
  nw_step *st = x->st;
  nw_path path;
  nw_ranges r;
  const char *name[NW_MAX_DEPTH];
  int at[NW_MAX_DEPTH], n = loops_around(x, name, at);
  int64_t coef[NW_MAX_DEPTH];
  nw_find(st->p, block->id, &path);
  nw_ranges_of(&r, st->p, &path);
  nw_row *e = NW_NEW(st->scratch, nw_row);
  *e = (nw_row){.block = block, .buffer = nw_find_buffer(st->p, buffer), .dim = dim};
  e->index = nw_simplify(&r, nw_block_bound(st->p, block, index));
  nw_ranges_free(&r);
  if (!nw_affine(st->p->pool, e->index, n, name, coef, &e->rest)) {
    for (int i = 0; i < n; i++)
      if (nw_uses_var(e->index, name[i]))
        return nw_step_refuse(st, "its rows must be a number times the loop, plus a number", x->around[at[i]],
                              "the rows of %s that %s uses are not known", buffer, x->unit->unit.name);
    return true;
  }
  for (int i = 0; i < n; i++) e->coef[at[i]] = coef[i];
  nw_vec_push(&x->row, e);
  return true;
}

typedef struct loads {
  nw_moving *x;
  const nw_stmt *block;
  bool ok;
} loads;

// Adds the rows of a buffer that one iteration of the loop computes a part of.
static bool see_load(void *env, const nw_expr *e) {
  loads *l = env;
  const nw_expr *lo, *hi;
  for (int d = 0; e->op == NW_OP_LOAD && d < e->n && l->ok; d++)
    if (nw_made_at(l->x->st, &l->x->at, e->name, d, &lo, &hi)) l->ok = add_row(l->x, l->block, e->name, d, e->arg[d]);
  return l->ok;
}

static bool find_all_rows(nw_moving *x) {
  nw_blocks b = nw_blocks_below(x->st->scratch, x->unit);
  bool ok = true;
  for (int i = 0; i < b.n && ok; i++)
    for (int t = 0; t < b.at[i]->block.ntargets && ok; t++) {
      const nw_block_target *g = &b.at[i]->block.target[t];
      loads l = {x, b.at[i], true};
      if (x->reverse) nw_visit(g->value, see_load, &l);
      ok = l.ok;
      for (int d = 0; !x->reverse && ok && d < g->n && !nw_allocates(x->unit, g->buffer); d++)
        ok = add_row(x, b.at[i], g->buffer, d, g->index[d]);
    }
  return ok;
}

// ---- numbers

static const nw_row *row_at(const nw_moving *x, int i) { return x->row.at[i]; }

static bool is_along(const nw_row *a, const nw_row *b) { return a->buffer == b->buffer && a->dim == b->dim; }

static const nw_row *home_of(const nw_moving *x, int loop) {
  for (int i = 0; i < x->row.n; i++)
    if (row_at(x, i)->coef[loop]) return row_at(x, i);
  return NULL;
}

// True if loop i is the next more significant digit before loop k: it begins at 0, and its weight is that of loop k times
// the iterations of loop k.
static bool is_digit_before(const nw_moving *x, const nw_row *r, int i, int k) {
  int64_t extent;
  return nw_is_const(x->around[i]->loop.begin, 0) && nw_is_const(x->around[k]->loop.begin, 0) && r->coef[k] > 0 &&
         nw_is_int(x->around[k]->loop.extent, &extent) && r->coef[i] == r->coef[k] * extent;
}

// Groups the loops around the unit by the rows that they move along. Loops that are no digits of one number are left
// out, except for the one with the greatest weight: they keep their ranges.
static void find_numbers(nw_moving *x) {
  for (int i = 0; i < x->naround; i++) {
    const nw_row *r = home_of(x, i);
    bool known = !r;
    for (int k = 0; k < x->nnumbers && !known; k++) known = is_along(x->number[k].row, r);
    if (known) continue;
    nw_number *n = &x->number[x->nnumbers++];
    *n = (nw_number){.row = r};
    for (int k = i; k < x->naround; k++)
      if (home_of(x, k) && is_along(home_of(x, k), r)) n->at[n->n++] = k;
    for (int a = 1; a < n->n; a++)
      for (int b = a; b > 0 && llabs(r->coef[n->at[b]]) > llabs(r->coef[n->at[b - 1]]); b--) {
        int swap = n->at[b];
        n->at[b] = n->at[b - 1], n->at[b - 1] = swap;
      }
    for (int a = 1; a < n->n; a++)
      if (!is_digit_before(x, r, n->at[a - 1], n->at[a])) n->n = 1;
  }
}

bool nw_is_digit(const nw_number *n, int loop) {
  for (int i = 0; i < n->n; i++)
    if (n->at[i] == loop) return true;
  return false;
}

int64_t nw_row_step(const nw_row *r, const nw_number *n) { return r->coef[n->at[n->n - 1]]; }

// Returns the weight of digit i.
int64_t nw_number_weight(const nw_number *n, int i) { return n->row->coef[n->at[i]] / nw_row_step(n->row, n); }

// Returns the number of values of a number.
const nw_expr *nw_number_end(const nw_moving *x, const nw_number *n) {
  const nw_stmt *first = x->around[n->at[0]];
  const nw_expr *end = nw_add(x->st->p->pool, first->loop.begin, first->loop.extent);
  for (int i = 1; i < n->n; i++) end = nw_mul(x->st->p->pool, end, x->around[n->at[i]]->loop.extent);
  return end;
}

// ---- the rows of one execution

static bool refuse_rows(nw_moving *x, const nw_number *n, const nw_row *r) {
  return nw_step_refuse(x->st, "its rows in one execution must be known, and move by a fixed number",
                        x->around[n->at[0]], "the rows of %s that %s uses are not known", r->buffer->name,
                        x->unit->unit.name);
}

// True if r uses the number, always in the same way.
static bool moves_along(const nw_number *n, const nw_row *r) {
  for (int i = 0; i < n->n; i++)
    if (!nw_row_step(r, n) || r->coef[n->at[i]] != nw_row_step(r, n) * nw_number_weight(n, i)) return false;
  return true;
}

static bool uses(const nw_number *n, const nw_row *r) {
  for (int i = 0; i < n->n; i++)
    if (r->coef[n->at[i]]) return true;
  return false;
}

// Finds the range of the row in one execution of the number `n`. If n is NULL, finds its range in all executions.
static bool span(nw_moving *x, const nw_number *n, nw_row *r, const nw_expr **least, const nw_expr **most) {
  nw_pool *pool = x->st->p->pool;
  const char *over[2 * NW_MAX_DEPTH];
  int nover = 0;
  const nw_expr *rest = r->rest;
  nw_path path;
  nw_ranges ranges;
  for (int i = 0; i < x->naround; i++) {
    if (x->around[i]->kind != NW_LOOP || (n && nw_is_digit(n, i))) continue;
    over[nover++] = x->around[i]->loop.var->name;
    rest = nw_add(pool, rest, nw_mul(pool, nw_index(pool, r->coef[i]), x->around[i]->loop.var));
  }
  nw_find(x->st->p, r->block->id, &path);
  for (int i = nw_path_index(&path, x->unit); i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP) over[nover++] = path.at[i]->loop.var->name;
  nw_ranges_of(&ranges, x->st->p, &path);
  *least = nw_lower_over(&ranges, rest, nover, over);
  *most = nw_upper_over(&ranges, rest, nover, over);
  nw_ranges_free(&ranges);
  for (int i = 0; n && i < n->n; i++) over[nover++] = x->around[n->at[i]]->loop.var->name;
  return *least && *most && !nw_uses_any(*least, nover, over) && !nw_uses_any(*most, nover, over);
}

static bool find_span(nw_moving *x, nw_row *r) {
  const nw_expr *least;
  for (int k = 0; k < x->nnumbers; k++) {
    const nw_number *n = &x->number[k];
    if (!uses(n, r)) continue;
    r->moves = true;
    if (!moves_along(n, r) || (x->reverse && nw_row_step(r, n) < 0) || !span(x, n, r, &r->least[k], &r->most[k]))
      return refuse_rows(x, n, r);
  }
  if (!r->moves && !span(x, NULL, r, &least, &r->last)) r->last = NULL;
  return true;
}

static bool find_spans(nw_moving *x) {
  for (int i = 0; i < x->row.n; i++)
    if (!find_span(x, x->row.at[i])) return false;
  return true;
}

bool nw_find_rows(nw_moving *x) {
  if (!find_all_rows(x)) return false;
  find_numbers(x);
  if (x->reverse && !x->nnumbers)
    return nw_step_refuse(x->st, "only a loop along the rows of its input can wait for them", NULL,
                          "no loop around %s runs along its inputs", x->unit->unit.name);
  return find_spans(x);
}

// ---- the executions that are needed

static bool is_less(const nw_moving *x, const nw_expr *a, const nw_expr *b) {
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &x->at);
  bool yes = nw_prove(&r, nw_le(x->st->p->pool, a, b));
  nw_ranges_free(&r);
  return yes;
}

// Returns the smaller or the greater of two numbers. `a` may be NULL.
static const nw_expr *extreme(const nw_moving *x, const nw_expr *a, const nw_expr *b, bool least) {
  if (!a || a == b) return b;
  if (is_less(x, a, b)) return least ? a : b;
  if (is_less(x, b, a)) return least ? b : a;
  return (least ? nw_min : nw_max)(x->st->p->pool, a, b);
}

// Adds the executions that use the rows lo..hi.
static void add_users(nw_moving *x, int k, const nw_row *r, const nw_expr *lo, const nw_expr *hi) {
  nw_pool *pool = x->st->p->pool;
  nw_number *n = &x->number[k];
  int64_t a = nw_row_step(r, n);
  const nw_expr *by = nw_index(pool, llabs(a));
  const nw_expr *first = a > 0 ? nw_sub(pool, lo, r->most[k]) : nw_sub(pool, r->least[k], hi),
                *last = a > 0 ? nw_sub(pool, hi, r->least[k]) : nw_sub(pool, r->most[k], lo);
  n->lo = extreme(x, n->lo, nw_ceildiv(pool, first, by), true);
  if (NW_MUTATED(unit_tiles)) last = a > 0 ? nw_sub(pool, hi, r->most[k]) : nw_sub(pool, r->least[k], lo);
  n->hi = extreme(x, n->hi, nw_floordiv(pool, last, by), false);
}

// Stands for the number of an execution in the condition `ready`.
const nw_expr *nw_some_execution(const nw_moving *x) { return nw_var(x->st->p->pool, "_execution"); }

// True if the rows that the last execution reads are proven to exist.
static bool reads_existing(const nw_moving *x, int k, const nw_row *r) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *last = nw_sub(pool, nw_number_end(x, &x->number[k]), nw_index(pool, 1));
  nw_ranges ranges;
  nw_ranges_of(&ranges, x->st->p, NULL);
  const nw_expr *at = nw_add(pool, nw_mul(pool, nw_index(pool, nw_row_step(r, &x->number[k])), last), r->most[k]);
  bool yes = nw_prove(&ranges, nw_lt(pool, at, r->buffer->shape[r->dim]));
  nw_ranges_free(&ranges);
  return yes;
}

// Adds the executions whose last row along r is computed in an iteration that computes lo..hi. If an execution reads
// several rows, it is ready when the last of them is computed. The rows that the last execution reads may lie beyond the
// end of the buffer, where nothing is read.
static void add_ready(nw_moving *x, int k, const nw_row *r, const nw_expr *lo, const nw_expr *hi) {
  nw_pool *pool = x->st->p->pool;
  nw_number *n = &x->number[k];
  const nw_expr *by = nw_index(pool, nw_row_step(r, n)), *most = r->most[k];
  bool exist = reads_existing(x, k, r);
  const nw_expr *row = nw_add(pool, nw_mul(pool, by, nw_some_execution(x)), most);
  const nw_expr *end = nw_sub(pool, r->buffer->shape[r->dim], nw_index(pool, 1));
  if (!exist) n->ready = nw_and(pool, n->ready, nw_le(pool, nw_min(pool, row, end), hi));
  const nw_expr *above = nw_sub(pool, hi, most);
  if (n->above && is_less(x, n->above, above)) return;
  n->above = above;
  n->lo = nw_ceildiv(pool, nw_sub(pool, lo, most), by);
  n->hi = (exist ? nw_floordiv : nw_ceildiv)(pool, above, by);
}

// Adds the condition that an iteration which computes lo..hi computes the last row along the dimension of row i, which all
// executions read.
static void add_last(nw_moving *x, int i, const nw_expr *lo, const nw_expr *hi) {
  nw_pool *pool = x->st->p->pool;
  const nw_row *r = row_at(x, i);
  const nw_expr *end = nw_sub(pool, r->buffer->shape[r->dim], nw_index(pool, 1)), *last = r->last;
  for (int k = 0; k < x->row.n; k++) {
    if (!is_along(row_at(x, k), r) || !row_at(x, k)->last) continue;
    if (k < i) return; // the condition was added for this row
    last = extreme(x, last, row_at(x, k)->last, false);
  }
  last = nw_min(pool, last, end);
  x->ready = nw_and(pool, x->ready, nw_and(pool, nw_le(pool, lo, last), nw_le(pool, last, hi)));
}

void nw_find_executions(nw_moving *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *lo, *hi;
  for (int i = 0; x->reverse && i < x->row.n; i++) {
    const nw_row *r = row_at(x, i);
    if (r->moves || !r->last) continue;
    nw_made_at(x->st, &x->at, r->buffer->name, r->dim, &lo, &hi);
    add_last(x, i, lo, hi);
  }
  for (int k = 0; k < x->nnumbers; k++)
    for (int i = 0; i < x->row.n; i++) {
      const nw_row *r = row_at(x, i);
      if (!uses(&x->number[k], r)) continue;
      if (x->reverse) {
        nw_made_at(x->st, &x->at, r->buffer->name, r->dim, &lo, &hi);
        add_ready(x, k, r, lo, hi);
        continue;
      }
      nw_box box;
      if (x->loop) box = nw_box_used(x->st, r->buffer, x->loop, &x->at);
      lo = x->loop ? box.lo[r->dim] : nw_index(pool, 0);
      hi = nw_sub(pool, nw_add(pool, lo, x->loop ? box.extent[r->dim] : r->buffer->shape[r->dim]), nw_index(pool, 1));
      add_users(x, k, r, lo, hi);
    }
}
