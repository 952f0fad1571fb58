// Finds how the enclosing loops change the address of each load and store that has an affine address.
#include "access/ready.h"
#include <stdlib.h>

typedef struct sweep {
  const char *tensor;
  bool write;
  int n;
  nw_moved *loop;
} sweep;

struct nw_sweeps {
  nw_arena *arena;
  const nw_walker *w; // during construction
  nw_vec path; // nw_nest *, of loops
  nw_vec at; // sweep *
};

static bool is_size(void *env, const nw_expr *e) {
  const nw_walker *w = env;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < w->exec->p->nsizes; i++)
    if (!strcmp(w->exec->p->size[i].name, e->name)) return true;
  return false;
}

static nw_moved moved(nw_sweeps *s, const nw_nest *loop, const nw_site_code *site) {
  bool constant = nw_visit(loop->stmt->loop.extent, is_size, (void *)s->w);
  return (nw_moved){.loop = nw_arena_strdup(s->arena, loop->stmt->loop.var->name),
                    .extent = constant ? nw_calc_at(loop->extent, s->w->slot, 0) : -1,
                    .bytes = nw_form_coef(&site->at, loop->slot) * site->elem,
                    .parallel = loop->stmt->loop.mark == NW_PARALLEL};
}

static void add(nw_sweeps *s, const nw_site_code *site) {
  if (!site->affine) return;
  sweep *x = NW_NEW(s->arena, sweep);
  *x = (sweep){.tensor = nw_arena_strdup(s->arena, site->site.place->buffer->name), .write = site->site.write};
  x->loop = NW_NEW_N(s->arena, nw_moved, s->path.n + 1);
  for (int k = 0; k < s->path.n; k++) x->loop[x->n++] = moved(s, s->path.at[k], site);
  nw_vec_push(&s->at, x);
}

// True if an earlier act of the statement has the same site.
static bool is_again(const nw_nest *c, int act) {
  for (int i = 0; i < act; i++)
    if (c->act[i].kind == NW_ACT_TOUCH && c->act[i].site == c->act[act].site) return true;
  return false;
}

static void gather(nw_sweeps *s, nw_nest *c) {
  bool loop = c->stmt->kind == NW_LOOP;
  if (loop) nw_vec_push(&s->path, c);
  for (int i = 0; i < c->nacts; i++)
    if (c->act[i].kind == NW_ACT_TOUCH && !is_again(c, i)) add(s, s->w->site.at[c->act[i].site]);
  for (int i = 0; i < c->nkids; i++) gather(s, c->kid[i]);
  if (loop) s->path.n--;
}

nw_sweeps *nw_sweeps_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk) {
  nw_walker *w = nw_walker_for(c, p, walk);
  if (!w) return NULL;
  nw_sweeps *s = nw_xcalloc(1, sizeof *s);
  s->arena = nw_arena_scratch();
  s->w = w;
  gather(s, w->root);
  nw_vec_free(&s->path);
  nw_walker_free(w);
  s->w = NULL;
  return s;
}

void nw_sweeps_free(nw_sweeps *s) {
  if (!s) return;
  nw_vec_free(&s->at);
  nw_arena_free(s->arena);
  free(s);
}

static const sweep *sweep_at(const nw_sweeps *s, int i) { return s->at.at[i]; }
int nw_sweeps_count(const nw_sweeps *s) { return s->at.n; }
const char *nw_sweep_tensor(const nw_sweeps *s, int i) { return sweep_at(s, i)->tensor; }
bool nw_sweep_writes(const nw_sweeps *s, int i) { return sweep_at(s, i)->write; }
int nw_sweep_loops(const nw_sweeps *s, int i) { return sweep_at(s, i)->n; }
nw_moved nw_sweep_loop(const nw_sweeps *s, int i, int k) { return sweep_at(s, i)->loop[k]; }
