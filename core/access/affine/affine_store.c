// Converts the accesses of a statement to affine references. Handles lanes, masks, branches and repeated loads.
#include "access/affine/affine_make.h"

static bool no(nw_maker *m, const char *why) { return nw_fail(m->s.ctx, NW_ELIMIT, NULL, "%s", why); }

// ---- references

typedef struct access { // the access of a site in one case of its index (cases.h)
  const nw_site_code *site;
  nw_form at; // the index, in elements; neighbouring lanes are at.step elements apart
} access;

// Adds a reference to `lanes` adjacent elements. The first element is at index `at`.
static bool add_ref(nw_maker *m, nw_affine_node *to, const nw_site_code *site, const nw_form *at, int lanes) {
  static const nw_form none = {0};
  nw_affine_node *s = nw_maker_node(m, NW_AFFINE_STMT);
  s->nrefs = 1;
  s->ref = NW_NEW_N(m->s.arena, nw_affine_ref, 4);
  s->ref[0] = (nw_affine_ref){.array = m->array[site->site.place - m->w->places.at],
                              .at = nw_form_sum(m->s.arena, &none, site->elem, at, 0),
                              .bytes = lanes * site->elem,
                              .write = site->site.write,
                              .site = (int)site->number};
  s->ref[0].at.step = 0;
  nw_form_keep(&m->s, at);
  return nw_maker_add(m, to, s);
}

static bool add_each_lane(nw_maker *m, nw_affine_node *to, const access *x) {
  for (int l = 0; l < x->site->site.lanes; l++) {
    nw_form at = nw_form_in_lane(&x->at, l);
    if (!add_ref(m, to, x->site, &at, 1)) return false;
  }
  return true;
}

static bool add_together(nw_maker *m, nw_affine_node *to, const access *x) {
  if (x->site->site.lanes == 1 || x->at.step == 1) return add_ref(m, to, x->site, &x->at, x->site->site.lanes);
  return add_each_lane(m, to, x);
}

// ---- masks

static nw_affine_bound *lane_bounds(nw_maker *m, const nw_conds *when, bool begin, int *n) {
  static const nw_form none = {0};
  nw_affine_bound *b = NW_NEW_N(m->s.arena, nw_affine_bound, when->n + 1);
  b[0] = (nw_affine_bound){.form.rest = begin ? 0 : m->s.lanes - 1, .div = 1};
  *n = 1;
  for (int i = 0; i < when->n; i++) {
    const nw_form *f = &when->at[i];
    if (!f->step || (f->step > 0) != begin) continue;
    nw_form g = nw_form_sum(m->s.arena, &none, begin ? -1 : 1, f, 0);
    g.step = 0;
    nw_form_keep(&m->s, &g);
    b[(*n)++] = (nw_affine_bound){g, f->step > 0 ? f->step : -f->step};
  }
  return b;
}

// Adds a loop over the lanes in which all conditions of `when` hold.
static bool add_lane_loop(nw_maker *m, nw_affine_node *to, const access *x, const nw_conds *when) {
  nw_affine_node *loop = nw_maker_node(m, NW_AFFINE_LOOP);
  loop->name = "lane";
  loop->slot = nw_affine_scope_slot(&m->s, 0, m->s.lanes - 1);
  loop->step = 1;
  loop->begin = lane_bounds(m, when, true, &loop->nbegin);
  loop->end = lane_bounds(m, when, false, &loop->nend);
  nw_form lane = nw_form_slot(m->s.arena, loop->slot), at = nw_form_sum(m->s.arena, &x->at, x->at.step, &lane, 0);
  return add_ref(m, loop, x->site, &at, 1) && nw_maker_add(m, to, loop);
}

// Sets *all to the conditions under which `when` holds in all lanes. Returns false if these conditions cannot hold.
static bool in_all_lanes(nw_maker *m, const nw_conds *when, nw_conds *all) {
  *all = (nw_conds){0};
  for (int i = 0; i < when->n; i++) {
    nw_form f = nw_form_in_lane(&when->at[i], when->at[i].step < 0 ? m->s.lanes - 1 : 0);
    if (!nw_conds_add(&m->s, all, &f)) return false;
  }
  return true;
}

static bool depends_on_lane(const nw_conds *c) {
  for (int i = 0; i < c->n; i++)
    if (c->at[i].step) return true;
  return false;
}

static nw_conds of_no_lane(nw_maker *m, const nw_conds *c) {
  nw_conds out = {0};
  for (int i = 0; i < c->n; i++)
    if (!c->at[i].step) nw_conds_add(&m->s, &out, &c->at[i]);
  return out;
}

// Adds an access whose mask has only the case `mask`. If the lanes are adjacent in memory and all active, they are one
// access. Otherwise each active lane is one access.
static bool add_masked(nw_maker *m, nw_affine_node *to, const access *x, const nw_conds *mask) {
  nw_conds always = of_no_lane(m, mask), all;
  nw_union rest;
  if (!(to = nw_maker_where(m, to, &always))) return false;
  if (!depends_on_lane(mask)) return add_together(m, to, x);
  if (x->at.step != 1 || !in_all_lanes(m, mask, &all)) return add_lane_loop(m, to, x, mask);
  nw_affine_node *in = nw_maker_where(m, to, &all);
  if (!in || !add_together(m, in, x)) return false;
  nw_union_not(&m->s, &all, &rest);
  for (int i = 0; i < rest.n; i++) {
    if (!(in = nw_maker_where(m, to, &rest.at[i])) || !add_lane_loop(m, in, x, mask)) return false;
  }
  return true;
}

// Adds one access for each active lane. The caller ensures that the lanes are not adjacent in memory.
static bool add_lane_by_lane(nw_maker *m, nw_affine_node *to, const access *x, const nw_union *mask) {
  for (int l = 0; l < m->s.lanes; l++)
    for (int i = 0; i < mask->n; i++) {
      nw_conds when = {0};
      nw_form at = nw_form_in_lane(&x->at, l);
      bool never = false;
      for (int k = 0; k < mask->at[i].n && !never; k++) {
        nw_form f = nw_form_in_lane(&mask->at[i].at[k], l);
        never = !nw_conds_add(&m->s, &when, &f);
      }
      if (never) continue;
      nw_affine_node *in = nw_maker_where(m, to, &when);
      if (!in || !add_ref(m, in, x->site, &at, 1)) return false;
    }
  return true;
}

static bool add_access(nw_maker *m, nw_affine_node *to, const access *x, const nw_union *mask) {
  bool laned = false;
  for (int i = 0; i < mask->n; i++) laned = laned || depends_on_lane(&mask->at[i]);
  if (mask->n > 1 && laned) {
    if (x->at.step != 1) return add_lane_by_lane(m, to, x, mask);
    return no(m, "a mask has several cases that depend on the lane");
  }
  for (int i = 0; i < mask->n; i++)
    if (!add_masked(m, to, x, &mask->at[i])) return false;
  return true;
}

// ---- sites

static bool mask_of(nw_maker *m, const nw_site_code *site, nw_union *out) {
  static const nw_conds none = {0};
  if (site->when) return nw_union_of(&m->s, site->when, true, out);
  *out = (nw_union){1, NW_NEW(m->s.arena, nw_conds)};
  out->at[0] = none;
  return true;
}

static bool add_cases(nw_maker *m, nw_affine_node *to, const nw_site_code *site, const nw_cases *at) {
  nw_union mask;
  if (!mask_of(m, site, &mask)) return false;
  for (int i = 0; i < at->n; i++) {
    if (depends_on_lane(&at->at[i].when)) return no(m, "an index has cases that depend on the lane");
    nw_affine_node *in = nw_maker_where(m, to, &at->at[i].when);
    access x = {site, at->at[i].value};
    if (!in || !add_access(m, in, &x, &mask)) return false;
  }
  return true;
}

// Adds one access for each lane of a site whose lanes are at unequal distances. Fails if all lanes may be adjacent,
// since adjacent lanes would be a single access.
static bool add_scattered(nw_maker *m, nw_affine_node *to, const nw_site_code *site) {
  nw_form *at = NW_NEW_N(m->s.arena, nw_form, m->s.lanes);
  bool apart = false;
  if (site->when) return no(m, "lanes at unequal distances have a mask");
  for (m->s.lane = 0; m->s.lane < m->s.lanes; m->s.lane++) {
    nw_cases x;
    if (!nw_cases_of(&m->s, site->where, &x)) return false;
    if (x.n != 1 || x.at[0].when.n) return no(m, "lanes at unequal distances have cases");
    at[m->s.lane] = x.at[0].value;
    nw_form by = nw_form_sum(m->s.arena, &at[m->s.lane], -1, &at[0], 0);
    apart = apart || (!by.n && by.rest != m->s.lane);
  }
  m->s.lane = -1;
  if (!apart) return no(m, "it is not known whether lanes are adjacent");
  for (int l = 0; l < m->s.lanes; l++)
    if (!add_ref(m, to, site, &at[l], 1)) return false;
  return true;
}

static bool add_site(nw_maker *m, nw_affine_node *to, const nw_site_code *site) {
  nw_cases at;
  m->s.lanes = site->site.lanes;
  bool ok;
  if (nw_cases_of(&m->s, site->where, &at)) {
    ok = add_cases(m, to, site, &at);
  } else {
    nw_clear(m->s.ctx);
    ok = m->s.lanes > 1 ? add_scattered(m, to, site) : nw_cases_of(&m->s, site->where, &at);
  }
  m->s.lanes = 1;
  m->s.lane = -1;
  return ok;
}

// ---- repeated accesses

// Finds the cases in which the statement accesses the site for the first time. In these cases, the current path
// condition holds, and no path condition holds under which the statement accessed the site before.
static bool first_time(nw_maker *m, const nw_site_code *site, nw_union *out) {
  *out = (nw_union){1, NW_NEW(m->s.arena, nw_conds)};
  out->at[0] = m->path;
  for (int i = 0; i < m->site.n; i++) {
    if (m->site.at[i] != site) continue;
    nw_union not, joined;
    nw_union_not(&m->s, m->under.at[i], &not );
    if (!nw_union_join(&m->s, out, &not, &joined)) return false;
    *out = joined;
  }
  nw_conds *path = NW_NEW(m->s.arena, nw_conds);
  *path = m->path;
  nw_vec_push(&m->site, (void *)site);
  nw_vec_push(&m->under, path);
  return true;
}

// Returns the conditions of c without the first n. The first n are the conditions of the path, which already hold here.
static nw_conds after(const nw_conds *c, int n) { return (nw_conds){c->n - n, c->at + n}; }

static bool add_first(nw_maker *m, nw_affine_node *to, const nw_site_code *site) {
  nw_union when;
  if (!site->repeated) return add_site(m, to, site);
  if (!first_time(m, site, &when)) return false;
  for (int i = 0; i < when.n; i++) {
    nw_conds more = after(&when.at[i], m->path.n);
    nw_affine_node *in = nw_maker_where(m, to, &more);
    if (!in || !add_site(m, in, site)) return false;
  }
  return true;
}

// ---- statements

static bool add_acts(nw_maker *m, nw_affine_node *to, const nw_nest *c, int from, int end);

// Adds the accesses of the acts `from` to `end` - 1 (ready.h) under the condition `when`.
static bool add_branch(nw_maker *m, nw_affine_node *to, const nw_nest *c, const nw_union *when, int from, int end) {
  nw_conds path = m->path;
  for (int i = 0; i < when->n && from < end; i++) {
    if (!nw_conds_join(&m->s, &path, &when->at[i], &m->path)) continue;
    nw_conds more = after(&m->path, path.n);
    nw_affine_node *in = nw_maker_where(m, to, &more);
    if (!in || !add_acts(m, in, c, from, end)) return false;
  }
  m->path = path;
  return true;
}

// Adds the accesses of a select. Its acts are an UNLESS, the acts of the true branch, a JUMP, and the acts of the false
// branch.
static bool add_select(nw_maker *m, nw_affine_node *to, const nw_nest *c, int at, int *end) {
  const nw_act *unless = &c->act[at];
  nw_union yes, other;
  *end = c->act[unless->to - 1].to;
  return nw_union_of(&m->s, unless->when, true, &yes) && nw_union_of(&m->s, unless->when, false, &other) &&
         add_branch(m, to, c, &yes, at + 1, unless->to - 1) && add_branch(m, to, c, &other, unless->to, *end);
}

static bool add_acts(nw_maker *m, nw_affine_node *to, const nw_nest *c, int from, int end) {
  while (from < end) {
    const nw_act *a = &c->act[from];
    bool ok = a->kind == NW_ACT_TOUCH ? add_first(m, to, m->w->site.at[a->site]) : add_select(m, to, c, from, &from);
    if (!ok) return false;
    if (a->kind == NW_ACT_TOUCH) from++;
  }
  return true;
}

bool nw_make_store(nw_maker *m, const nw_nest *c, nw_affine_node *to) {
  int quotients = m->s.quotient.n;
  nw_affine_node *all = nw_maker_node(m, NW_AFFINE_SEQ);
  m->path = (nw_conds){0};
  m->site.n = m->under.n = 0;
  if (!add_acts(m, all, c, 0, c->nacts)) return false;
  all = nw_maker_wrap(m, all, quotients);
  if (all->kind == NW_AFFINE_LOOP) return nw_maker_add(m, to, all);
  for (int i = 0; i < all->nkids; i++)
    if (!nw_maker_add(m, to, all->kid[i])) return false;
  return true;
}
