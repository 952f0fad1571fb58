// Derives properties of variables in mixed radix. The value of such a variable is a number whose digits are loop
// variables, for example i = 32*i_o + i_i.
//
// Splits and tiles make most variables numbers of this kind. isl proves the same facts with integer programs, but more
// slowly. On the GEMM of tutorials/gemm.lua, a search tries 2,200 steps per second with this file and 1,700 without it.
#include "poly/radix.h"

static int64_t size_of(int64_t weight) { return weight < 0 ? -weight : weight; }

static void sort(int n, nw_digit *d) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && size_of(d[j].weight) < size_of(d[j - 1].weight); j--) {
      nw_digit t = d[j];
      d[j] = d[j - 1];
      d[j - 1] = t;
    }
}

// Sorts the digits by weight. The digits before digit k make numbers that differ by at most `reach`. If the weight of
// digit k is larger than `reach`, different values of digit k give different numbers. If the weight is at most
// `reach` + 1, there are no gaps.
int nw_radix(int n, nw_digit *d) {
  __int128 reach = 0;
  int found = NW_RADIX_ONCE | NW_RADIX_DENSE;
  sort(n, d);
  for (int k = 0; k < n; k++) {
    if (d[k].weight == INT64_MIN) return 0;
    __int128 weight = size_of(d[k].weight);
    if (d[k].extent > 1 && weight <= reach - NW_MUTATED(radix_overlaps)) found &= ~NW_RADIX_ONCE;
    if (d[k].extent > 1 && weight > reach + 1 && !NW_MUTATED(radix_gap)) found &= ~NW_RADIX_DENSE;
    reach += weight * (d[k].extent - 1);
    if (reach > INT64_MAX) return 0;
  }
  return found;
}

// ---- parts of a site

bool nw_has_condition(const nw_site *s, uint64_t loops) {
  nw_vec cond = nw_site_conditions(s);
  bool has = false;
  for (int i = 0; i < cond.n && !has; i++) {
    uint64_t uses = nw_site_loops_of(s, cond.at[i]);
    has = !uses || (uses & loops);
  }
  nw_vec_free(&cond);
  return has;
}

// A weighted sum of loop variables, which is the value of a variable. If a loop begins at an affine function of other
// loops, this function is added to the sum, and the loop is treated as a loop that begins at 0.
typedef struct sum {
  int n;
  const char *loop[NW_MAX_DEPTH]; // outermost first
  int64_t weight[NW_MAX_DEPTH], extent[NW_MAX_DEPTH];
  bool fixed; // true if the rest of the value is the constant `rest`, and does not use sizes or loops outside the part
  int64_t rest;
} sum;

static bool add_rest(sum *x, int64_t times, const nw_expr *e) {
  int64_t value, product;
  x->fixed = x->fixed && nw_is_int(e, &value);
  if (!x->fixed) return true;
  return !__builtin_mul_overflow(times, value, &product) && !__builtin_add_overflow(x->rest, product, &x->rest);
}

// Writes a binding as a weighted sum of the loops of the part. Returns false if the binding does not have this form, or
// if a loop has no iterations.
static bool find_sum(const nw_site *s, nw_part part, const nw_expr *bind, sum *x) {
  nw_pool *pool = s->view.f->pool;
  const nw_expr *begin[NW_MAX_DEPTH], *rest;
  int64_t weight[NW_MAX_DEPTH], more;
  *x = (sum){.fixed = true};
  for (int i = 0; i < s->nloops; i++) {
    const nw_stmt *l = s->loop[i];
    if (!(part.loops >> i & 1)) continue;
    if (l->loop.nfused || !nw_is_int(l->loop.extent, &x->extent[x->n]) || x->extent[x->n] < 1) return false;
    begin[x->n] = l->loop.begin;
    x->loop[x->n++] = l->loop.var->name;
  }
  if (!nw_affine(pool, bind, x->n, x->loop, x->weight, &rest) || !add_rest(x, 1, rest)) return false;
  for (int k = x->n - 1; k >= 0; k--) {
    if (!nw_affine(pool, begin[k], x->n, x->loop, weight, &rest) || !add_rest(x, x->weight[k], rest)) return false;
    for (int i = 0; i < x->n; i++) {
      if (weight[i] && i >= k) return false;
      if (__builtin_mul_overflow(weight[i], x->weight[k], &more) ||
          __builtin_add_overflow(x->weight[i], more, &x->weight[i]))
        return false;
    }
  }
  return true;
}

// Returns the known properties of one variable. Sets *digits to the loops of the sum that are its digits, as bits.
static int var_radix(const nw_block_var *v, const sum *x, uint64_t *digits) {
  nw_digit digit[NW_MAX_DEPTH];
  __int128 least = x->rest, most = x->rest;
  int n = 0;
  *digits = 0;
  for (int i = 0; i < x->n; i++) {
    if (!x->weight[i] || x->extent[i] == 1) continue;
    __int128 span = (__int128)x->weight[i] * (x->extent[i] - 1);
    digit[n++] = (nw_digit){x->weight[i], x->extent[i]};
    *digits |= UINT64_C(1) << i;
    least += span < 0 ? span : 0;
    most += span < 0 ? 0 : span;
  }
  int64_t lo, extent;
  int found = nw_radix(n, digit), holds = found & NW_RADIX_ONCE;
  if (!found || !x->fixed || !nw_is_int(v->lo, &lo) || !nw_is_int(v->extent, &extent)) return holds;
  __int128 last = (__int128)lo + extent - 1;
  if (least >= lo && most <= last) holds |= NW_RADIX_INSIDE;
  if (found & NW_RADIX_DENSE && least <= lo && most >= last) holds |= NW_RADIX_FULL;
  return holds;
}

int nw_part_radix(const nw_site *s, nw_part part) {
  int holds = NW_RADIX_ONCE | NW_RADIX_FULL | NW_RADIX_INSIDE;
  uint64_t all = 0, used = 0, digits;
  bool apart = true;
  if (s->pieces || s->maybe || !s->exact || !part.vars) return 0;
  for (int i = 0; i < s->nvars && holds; i++) {
    sum x;
    if (!(part.vars >> i & 1)) continue;
    if (!find_sum(s, part, s->var[i]->bind, &x)) return 0;
    holds &= var_radix(s->var[i], &x, &digits);
    apart = apart && !(used & digits);
    used |= digits;
    for (int k = 0; k < x.n; k++)
      if (x.extent[k] > 1) all |= UINT64_C(1) << k;
  }
  if ((!apart && !NW_MUTATED(radix_shares)) || used != all) holds &= ~NW_RADIX_ONCE;
  if (!apart && !NW_MUTATED(radix_shares)) holds &= ~NW_RADIX_FULL;
  if (nw_has_condition(s, part.loops) && !NW_MUTATED(radix_conditions)) holds &= ~NW_RADIX_FULL;
  return holds;
}

// ---- the reach of inner loops

// Returns the set `loops` together with the outer loops on which the begins of these loops depend.
static uint64_t with_begins(const nw_site *s, uint64_t loops) {
  for (int i = s->nloops - 1; i >= 0; i--)
    if (loops >> i & 1) loops |= nw_site_loops_of(s, s->loop[i]->loop.begin);
  return loops;
}

bool nw_reach_of(const nw_site *s, const nw_expr *e, uint64_t outer, nw_reach *out) {
  sum x;
  nw_digit digit[NW_MAX_DEPTH];
  uint64_t loops = with_begins(s, nw_site_loops_of(s, e));
  int n = 0;
  if (!find_sum(s, (nw_part){loops, 0}, e, &x) || !x.fixed) return false;
  *out = (nw_reach){.least = x.rest, .most = x.rest};
  for (int i = 0, k = 0; i < s->nloops; i++) {
    if (!(loops >> i & 1)) continue;
    int64_t weight = x.weight[k], extent = x.extent[k++];
    if (outer >> i & 1) {
      out->weight[i] = weight;
    } else if (weight && extent > 1) {
      __int128 reach = (__int128)weight * (extent - 1);
      digit[n++] = (nw_digit){weight, extent};
      out->least += reach < 0 ? reach : 0;
      out->most += reach < 0 ? 0 : reach;
    }
  }
  out->dense = nw_radix(n, digit) & NW_RADIX_DENSE;
  return true;
}
