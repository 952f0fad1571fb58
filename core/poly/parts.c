// Finds the parts of a site, which are groups of loops and variables that depend on each other.
//
// If the bindings, bounds and guards form groups that share no loop, the set of the instances is the product of the
// sets of the groups. For example, i = 32*i_o + i_i is independent of j. Several questions about small groups are much
// cheaper than one question about all loops together.
#include "poly/internal.h"

uint64_t nw_site_loops_of(const nw_site *s, const nw_expr *e) {
  uint64_t mask = 0;
  for (int i = 0; i < s->nloops; i++)
    if (nw_uses_var(e, s->loop[i]->loop.var->name)) mask |= UINT64_C(1) << i;
  return mask;
}

static uint64_t loops_of_bounds(const nw_site *s, int i) {
  const nw_stmt *l = s->loop[i];
  uint64_t mask = UINT64_C(1) << i | nw_site_loops_of(s, l->loop.begin) | nw_site_loops_of(s, l->loop.extent);
  for (int d = 0; d < l->loop.nfused; d++) mask |= nw_site_loops_of(s, l->loop.fused[d]);
  return mask;
}

void nw_flatten(const nw_expr *e, nw_vec *out) {
  if (e->op != NW_OP_AND) {
    nw_vec_push(out, (void *)e);
    return;
  }
  nw_flatten(e->arg[0], out);
  nw_flatten(e->arg[1], out);
}

// Returns the conditions of a site other than the bounds of its loops. The conditions of an init also say that every
// reduce variable has its first value.
nw_vec nw_site_conditions(const nw_site *s) {
  nw_vec out = {0};
  for (int i = 0; i < s->nwhere; i++) nw_flatten(s->where[i], &out);
  for (int i = 0; s->init && i < s->block->block.nvars; i++) {
    const nw_block_var *v = &s->block->block.var[i];
    if (v->kind == NW_REDUCE) nw_vec_push(&out, (void *)nw_eq(s->view.f->pool, v->bind, v->lo));
  }
  return out;
}

// Joins all groups that have one of these loops into one group, and adds these loops and variables to it. Returns the
// number of groups.
static int join(nw_part *part, int n, uint64_t loops, uint64_t vars) {
  nw_part joined = {loops, vars};
  int kept = 0;
  for (int i = 0; i < n; i++) {
    if (part[i].loops & loops) {
      joined.loops |= part[i].loops;
      joined.vars |= part[i].vars;
    } else {
      part[kept++] = part[i];
    }
  }
  part[kept] = joined;
  return kept + 1;
}

static int whole(const nw_site *s, uint64_t inner, nw_part *out) {
  out[0] = (nw_part){inner, s->nvars >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << s->nvars) - 1};
  return 1;
}

// Joins the parts whose variables are in a common condition on the instances of the block.
static int join_declared(const nw_site *s, nw_part *part, int n) {
  nw_vec cond = {0};
  if (s->block->block.when) nw_flatten(s->block->block.when, &cond);
  for (int k = 0; k < cond.n; k++) {
    nw_part joined = {0, 0};
    int kept = 0;
    for (int p = 0; p < n; p++) {
      bool uses = false;
      for (int i = 0; i < s->nvars; i++)
        uses = uses || (part[p].vars >> i & 1 && nw_uses_var(cond.at[k], s->var[i]->var->name));
      if (uses)
        joined = (nw_part){joined.loops | part[p].loops, joined.vars | part[p].vars};
      else
        part[kept++] = part[p];
    }
    n = kept;
    if (joined.vars) part[n++] = joined;
  }
  nw_vec_free(&cond);
  return n;
}

int nw_site_parts(const nw_site *s, int from, nw_part *out) {
  uint64_t all = s->nloops >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << s->nloops) - 1;
  uint64_t inner = all & ~((UINT64_C(1) << from) - 1);
  if (s->pieces || s->maybe || !s->exact) return whole(s, inner, out);
  int n = 0;
  for (int i = from; i < s->nloops; i++) n = join(out, n, loops_of_bounds(s, i) & inner, 0);
  nw_vec cond = nw_site_conditions(s);
  for (int i = 0; i < cond.n; i++) {
    uint64_t uses = nw_site_loops_of(s, cond.at[i]) & inner;
    if (uses) n = join(out, n, uses, 0);
  }
  nw_vec_free(&cond);
  for (int i = 0; i < s->nvars; i++) n = join(out, n, nw_site_loops_of(s, s->var[i]->bind) & inner, UINT64_C(1) << i);
  return join_declared(s, out, n);
}

const nw_parts *nw_parts_of(const nw_model *m, const nw_site *s) {
  nw_part part[2 * NW_MAX_DEPTH];
  if (s->parts->n >= 0) return s->parts;
  s->parts->n = nw_site_parts(s, 0, part);
  s->parts->part = NW_NEW_N(m->arena, nw_part, s->parts->n + 1);
  memcpy(s->parts->part, part, (size_t)s->parts->n * sizeof *part);
  return s->parts;
}

static isl_set *part_conditions(const nw_site *s, uint64_t loops, const nw_space *v, isl_set *set) {
  nw_vec cond = nw_site_conditions(s);
  for (int i = 0; i < cond.n; i++)
    if (!(nw_site_loops_of(s, cond.at[i]) & ~loops)) set = isl_set_intersect(set, nw_space_cond(v, cond.at[i], true));
  nw_vec_free(&cond);
  return set;
}

static void scan_part(const nw_site *s, uint64_t loops, nw_space *v) {
  for (int i = 0; i < s->nloops; i++)
    if (loops >> i & 1) nw_space_loop(v, s->loop[i]);
  for (int i = 0; i < s->nloops; i++)
    if (loops >> i & 1) nw_scan_loop(v, s->loop[i]);
}

static isl_set *part_domain(const nw_site *s, uint64_t loops, const nw_space *v) {
  isl_set *set = isl_set_intersect_params(nw_space_all(v), isl_set_copy(v->f->context));
  for (int i = 0; i < s->nloops; i++)
    if (loops >> i & 1) set = nw_loop_bounds(v, s->loop[i], set);
  return part_conditions(s, loops, v, set);
}

// Adds the condition on the instances, and the names of the variables, which it uses.
static void key_declared(nw_key *k, const nw_site *s, nw_part part) {
  nw_key_ptr(k, s->block->block.when);
  for (int i = 0; i < s->nvars; i++)
    if (part.vars >> i & 1) nw_key_ptr(k, s->var[i]->var);
}

// The number is used to reuse proofs. A fact that is proven for a part holds in every program of the schedule that has
// an equal part, and a step changes few parts.
int nw_part_number(const nw_site *s, int from, nw_part part) {
  if (s->pieces || s->maybe || !s->exact) return 0;
  nw_key k = {0};
  nw_key_add(&k, 'p');
  nw_key_add(&k, (uintptr_t)from);
  nw_key_loops(&k, s, part.loops | ((UINT64_C(1) << from) - 1));
  nw_key_add(&k, 'v');
  for (int i = 0; i < s->nvars; i++)
    if (part.vars >> i & 1) nw_key_var(&k, s->var[i]);
  if (part.vars && s->block->block.when) key_declared(&k, s, part);
  int number = nw_fact_number(s->view.f, &k);
  nw_key_free(&k);
  return number;
}

// Returns the map from all loops to the loops 0..from - 1 and the variables of the part.
static isl_map *whole_map(const nw_site *s, int from, nw_part part) {
  isl_map *map = isl_map_copy(s->instance);
  for (int i = s->nvars - 1; i >= 0; i--)
    if (!(part.vars >> i & 1)) map = isl_map_project_out(map, isl_dim_out, (unsigned)i, 1);
  isl_map *outer = isl_set_identity(isl_set_copy(s->domain));
  outer = isl_map_project_out(outer, isl_dim_out, (unsigned)s->dim[from], (unsigned)(s->dim[s->nloops] - s->dim[from]));
  return isl_map_flat_range_product(outer, map);
}

isl_map *nw_loops_map(const nw_site *s, uint64_t loops, int from, int n, const nw_expr *const *e) {
  nw_space v;
  nw_space_init(&v, s->view.f);
  scan_part(s, loops, &v);
  for (int i = 0; i < n; i++) nw_space_scan(&v, e[i]);
  isl_pw_aff_list *value = nw_values_dims(nw_values(&v), &v, 0, s->dim[from]);
  for (int i = 0; i < n; i++) value = nw_values_expr(value, &v, e[i]);
  isl_map *map = nw_values_at(&v, part_domain(s, loops, &v), value);
  nw_space_free(&v);
  return map;
}

isl_map *nw_part_map(const nw_site *s, int from, nw_part part) {
  if (s->pieces || s->maybe || !s->exact) return whole_map(s, from, part);
  const nw_expr *bind[64];
  int n = 0;
  for (int i = 0; i < s->nvars; i++)
    if (part.vars >> i & 1) bind[n++] = s->var[i]->bind;
  return nw_loops_map(s, part.loops | ((UINT64_C(1) << from) - 1), from, n, bind);
}

void nw_key_loops(nw_key *k, const nw_site *s, uint64_t loops) {
  nw_vec cond = nw_site_conditions(s);
  for (int i = 0; i < s->nloops; i++)
    if (loops >> i & 1) nw_key_loop(k, s->loop[i]);
  nw_key_add(k, 'w');
  for (int i = 0; i < cond.n; i++)
    if (!(nw_site_loops_of(s, cond.at[i]) & ~loops)) nw_key_ptr(k, cond.at[i]);
  nw_vec_free(&cond);
}
