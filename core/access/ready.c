// Finds the loads and stores of each statement of a program, in the order in which the interpreter makes them.
#include "access/tables.h"
#include "ir/expr/fold.h" // nw_memo

typedef struct context { // a branch of a select, or the part of the statement outside of all selects
  nw_memo seen; // the expressions already evaluated in this branch
  struct context *up; // the enclosing branch
} context;

typedef struct making { // a statement whose list of acts (ready.h) is being made
  nw_walker *w;
  const nw_stmt *stmt, *loop;
  nw_nest *code;
  int cap;
  context *here;
  nw_vec load, site; // the loads of the statement, and the site of each (nw_site_code *)
} making;

// ---- dependence on data

static bool first_load(void *env, const nw_expr *e) {
  if (e->op != NW_OP_LOAD) return true;
  *(const char **)env = e->name;
  return false;
}

static bool depends(nw_walker *w, const nw_expr *e, const char *what) {
  const char *buffer = NULL;
  nw_visit(e, first_load, &buffer);
  nw_fail(
      w->ctx, NW_ELIMIT,
      "Only sizes are known here, not the contents of tensors; nw.accesses(s, {arguments = {...}}) runs the program "
      "on data.",
      "%s depends on %s%s", what, buffer ? "the contents of " : "numbers that are not integers", buffer ? buffer : "");
  return false;
}

// Returns NULL if e depends on data. Tables are filled only if e needs them.
static nw_calc *calculation(nw_walker *w, const nw_expr *e) {
  nw_calc *c = nw_calc_of(w->arena, &w->names, e);
  return c || !nw_tables_of(w, e) ? c : nw_calc_of(w->arena, &w->names, e);
}

static nw_calc *number(nw_walker *w, const nw_expr *e, const char *what) {
  nw_calc *c = calculation(w, e);
  if (!c) depends(w, e, what);
  return c;
}

// ---- sites

static nw_placed *place_of(const nw_walker *w, const char *buffer) { return nw_place_named(&w->places, buffer); }

static bool is_plain(const nw_site_code *s) {
  return s->affine && !s->mask && !s->repeated && (s->site.lanes == 1 || s->at.step == 1);
}

static nw_site_code *add_site(making *m, const char *buffer, const nw_expr *index, const nw_expr *mask, bool write) {
  nw_walker *w = m->w;
  nw_site_code *s = NW_NEW(w->arena, nw_site_code);
  nw_placed *place = place_of(w, buffer);
  s->site = (nw_ref_site){.place = place, .stmt = m->stmt, .loop = m->loop, .write = write, .lanes = index->type.lanes};
  s->elem = nw_dtype_bytes(place->buffer->dtype);
  s->base = place->address;
  s->done = -1;
  s->where = index, s->when = mask;
  s->affine = nw_form_of(w->arena, &w->names, index, &s->at);
  if (!s->affine && !(s->index = number(w, index, "an address"))) return NULL;
  if (mask && !(s->mask = number(w, mask, "a mask"))) return NULL;
  s->number = (uint32_t)w->site.n;
  nw_vec_push(&w->site, s);
  return s;
}

static nw_act *add_act(making *m, nw_act_kind kind) {
  nw_nest *c = m->code;
  if (c->nacts == m->cap) {
    m->cap = m->cap ? 2 * m->cap : 8;
    nw_act *act = NW_NEW_N(m->w->arena, nw_act, m->cap);
    if (c->nacts) memcpy(act, c->act, sizeof *act * (size_t)c->nacts);
    c->act = act;
  }
  c->act[c->nacts] = (nw_act){.kind = kind};
  return &c->act[c->nacts++];
}

static bool touch(making *m, const char *buffer, const nw_expr *index, const nw_expr *mask, const nw_expr *load) {
  if (!place_of(m->w, buffer)->memory) return true;
  int n = 0;
  while (load && n < m->load.n && m->load.at[n] != load) n++;
  nw_site_code *s;
  if (load && n < m->load.n) {
    s = m->site.at[n];
    s->repeated = true;
  } else if (!(s = add_site(m, buffer, index, mask, !load))) {
    return false;
  } else {
    nw_vec_push(&m->load, (void *)load);
    nw_vec_push(&m->site, s);
  }
  add_act(m, NW_ACT_TOUCH)->site = s->number;
  return true;
}

// ---- expressions

// Each distinct expression is evaluated once per execution of the statement, after its arguments.

static bool make_expr(making *m, const nw_expr *e);

static bool in_memory(void *env, const nw_expr *e) { return e->op != NW_OP_LOAD || !place_of(env, e->name)->memory; }

static bool has_access(making *m, const nw_expr *e) { return !nw_visit(e, in_memory, m->w); }

static bool make_branch(making *m, const nw_expr *e) {
  context inner = {.up = m->here};
  nw_memo_init(&inner.seen);
  m->here = &inner;
  bool ok = make_expr(m, e);
  m->here = inner.up;
  nw_memo_free(&inner.seen);
  return ok;
}

// Makes the acts of a select with a scalar condition. Such a select evaluates only one branch. In an estimate, it
// evaluates both if the condition depends on data.
static bool make_select(making *m, const nw_expr *e) {
  if (!make_expr(m, e->arg[0])) return false;
  if (!has_access(m, e->arg[1]) && !has_access(m, e->arg[2])) return true;
  if (m->w->estimates && !calculation(m->w, e->arg[0])) {
    m->w->estimated = true;
    return make_expr(m, e->arg[1]) && make_expr(m, e->arg[2]);
  }
  nw_calc *cond = number(m->w, e->arg[0], "the condition of a select");
  if (!cond) return false;
  nw_act *branch = add_act(m, NW_ACT_UNLESS);
  branch->cond = cond, branch->when = e->arg[0];
  int unless = m->code->nacts - 1;
  if (!make_branch(m, e->arg[1])) return false;
  add_act(m, NW_ACT_JUMP);
  int jump = m->code->nacts - 1;
  m->code->act[unless].to = m->code->nacts;
  if (!make_branch(m, e->arg[2])) return false;
  m->code->act[jump].to = m->code->nacts;
  return true;
}

static bool was_seen(making *m, const nw_expr *e) {
  for (context *c = m->here; c; c = c->up)
    if (*nw_memo_at(&c->seen, e)) return true;
  *nw_memo_at(&m->here->seen, e) = e;
  return false;
}

static bool make_expr(making *m, const nw_expr *e) {
  if (!e->n || was_seen(m, e)) return true;
  if (e->op == NW_OP_SELECT && e->arg[0]->type.lanes == 1) return make_select(m, e);
  for (int i = 0; i < e->n; i++)
    if (!make_expr(m, e->arg[i])) return false;
  return e->op != NW_OP_LOAD || touch(m, e->name, e->arg[0], e->n > 1 ? e->arg[1] : NULL, e);
}

// ---- statements

static nw_nest *make_code(nw_walker *w, const nw_stmt *s, const nw_stmt *loop);

static bool make_store(nw_walker *w, const nw_stmt *s, const nw_stmt *loop, nw_nest *c) {
  context outer = {0};
  making m = {.w = w, .stmt = s, .loop = loop, .code = c, .here = &outer};
  nw_memo_init(&outer.seen);
  bool ok = (!s->store.mask || make_expr(&m, s->store.mask)) && make_expr(&m, s->store.index) &&
            make_expr(&m, s->store.value) && touch(&m, s->store.buffer, s->store.index, s->store.mask, NULL);
  nw_memo_free(&outer.seen);
  nw_vec_free(&m.load);
  nw_vec_free(&m.site);
  c->plain = ok;
  for (int i = 0; i < c->nacts && c->plain; i++)
    c->plain = c->act[i].kind == NW_ACT_TOUCH && is_plain(w->site.at[c->act[i].site]);
  return ok;
}

static bool make_kids(nw_walker *w, const nw_stmt *s, const nw_stmt *loop, nw_nest *c) {
  c->kid = NW_NEW_N(w->arena, nw_nest *, s->nkids + 1);
  for (c->nkids = 0; c->nkids < s->nkids; c->nkids++)
    if (!(c->kid[c->nkids] = make_code(w, s->kid[c->nkids], loop))) return false;
  return true;
}

// Returns the number of accesses in one execution of c. Returns -1 if c contains a loop, a guard, or a store that is
// not plain.
static int plain_count(const nw_nest *c) {
  if (c->stmt->kind == NW_STORE) return c->plain ? c->nacts : -1;
  if (c->stmt->kind == NW_PREFETCH) return 0;
  if (c->stmt->kind != NW_SEQ && c->stmt->kind != NW_CALL) return -1;
  int n = 0;
  for (int i = 0; i < c->nkids && n >= 0; i++) {
    int more = plain_count(c->kid[i]);
    n = more < 0 ? -1 : n + more;
  }
  return n;
}

static void collect(nw_walker *w, const nw_nest *c, nw_nest *loop) {
  for (int i = 0; i < c->nacts; i++) {
    const nw_site_code *s = w->site.at[c->act[i].site];
    int k = loop->nrefs++;
    loop->from[k] = s;
    loop->ref[k] =
        (nw_ref){.site = c->act[i].site, .bytes = (uint16_t)(s->elem * s->site.lanes), .write = s->site.write};
    loop->step[k] = (uint64_t)(s->elem * nw_form_coef(&s->at, loop->slot));
  }
  for (int i = 0; i < c->nkids; i++) collect(w, c->kid[i], loop);
}

static void flatten(nw_walker *w, nw_nest *c) {
  int n = 0;
  for (int i = 0; i < c->nkids && n >= 0; i++) {
    int more = plain_count(c->kid[i]);
    n = more < 0 ? -1 : n + more;
  }
  if (n <= 0 || n > NW_BATCH / 4) return;
  c->flat = true;
  c->ref = NW_NEW_N(w->arena, nw_ref, n);
  c->step = NW_NEW_N(w->arena, uint64_t, n);
  c->from = NW_NEW_N(w->arena, const nw_site_code *, n);
  for (int i = 0; i < c->nkids; i++) collect(w, c->kid[i], c);
}

static bool make_loop(nw_walker *w, const nw_stmt *s, nw_nest *c) {
  c->begin = number(w, s->loop.begin, "the start of a loop");
  c->extent = c->begin ? number(w, s->loop.extent, "the extent of a loop") : NULL;
  if (!c->extent) return false;
  c->slot = w->nslots++;
  nw_vec_push(&w->names.name, (void *)s->loop.var->name);
  nw_vec_push(&w->names.slot, (void *)(intptr_t)c->slot);
  bool ok = make_kids(w, s, s, c);
  w->names.name.n--;
  w->names.slot.n--;
  if (ok) flatten(w, c);
  return ok;
}

static nw_nest *make_code(nw_walker *w, const nw_stmt *s, const nw_stmt *loop) {
  nw_nest *c = NW_NEW(w->arena, nw_nest);
  c->stmt = s;
  if (s->kind == NW_LOOP) return make_loop(w, s, c) ? c : NULL;
  if (s->kind == NW_STORE) return make_store(w, s, loop, c) ? c : NULL;
  if (s->kind == NW_GUARD && !(c->cond = number(w, s->guard.cond, "a guard"))) return NULL;
  return make_kids(w, s, loop, c) ? c : NULL;
}

bool nw_walker_ready(nw_walker *w) {
  w->root = make_code(w, w->exec->p->root, NULL);
  if (w->root) nw_tables_keep(w);
  return w->root != NULL;
}
