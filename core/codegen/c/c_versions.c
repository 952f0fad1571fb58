// Writes several versions of a function, and a function that selects one of the versions by conditions on the sizes.
#include "codegen/c/c.h"
#include <stdlib.h>

static void indent(nwt *g) { nw_str_fmt(&g->out, "%*s", 2 * g->depth, ""); }

static void call(nwt *g, const char *version) {
  const char *between = "";
  nw_str_fmt(&g->out, "return %s(", version);
  for (int i = 0; i < g->p->nsizes; i++, between = ", ")
    nw_str_fmt(&g->out, "%s%s", between, nwt_name(g, g->p->size[i].name));
  for (int i = 0; i < g->p->nbuffers; i++) {
    if (g->p->buffer[i]->role == NW_TEMP) continue;
    nw_str_fmt(&g->out, "%s%s", between, nwt_name(g, g->p->buffer[i]->name));
    between = ", ";
  }
  nw_str_add(&g->out, ");\n");
}

static const nw_expr *size_of(nwt *g, const nw_choice *c) { return nw_var(g->p->pool, g->p->size[c->size].name); }

static void decide(nwt *g, const nw_choices *t, int at, const char *const *version);

static void answer(nwt *g, const nw_choices *t, int at, const char *const *version) {
  g->depth++;
  decide(g, t, at, version);
  g->depth--;
}

static void ask(nwt *g, const nw_choices *t, const nw_choice *c, const char *const *version) {
  nw_pool *pool = g->p->pool;
  nw_str_add(&g->out, "if (");
  nwt_expr(g, c->kind == NW_BELOW ? nw_lt(pool, size_of(g, c), nw_index(pool, c->number)) : nw_import(pool, c->fact));
  nw_str_add(&g->out, ") {\n");
  answer(g, t, t->next[c->next], version);
  indent(g);
  nw_str_add(&g->out, "} else {\n");
  answer(g, t, t->next[c->next + 1], version);
  indent(g);
  nw_str_add(&g->out, "}\n");
}

static void divide(nwt *g, const nw_choices *t, const nw_choice *c, const char *const *version) {
  nw_pool *pool = g->p->pool;
  nw_str_add(&g->out, "switch (");
  nwt_expr(g, nw_floormod(pool, size_of(g, c), nw_index(pool, c->number)));
  nw_str_add(&g->out, ") {\n");
  for (int r = 0; r < c->number; r++) {
    indent(g);
    nw_str_fmt(&g->out, r == c->number - 1 ? "default:\n" : "case %d:\n", r);
    answer(g, t, t->next[c->next + r], version);
  }
  indent(g);
  nw_str_add(&g->out, "}\n");
}

// Writes the code that selects a version, from node `at` of the decision tree. Every path through the written code
// returns.
static void decide(nwt *g, const nw_choices *t, int at, const char *const *version) {
  const nw_choice *c = &t->at[at];
  indent(g);
  if (c->kind == NW_CHOSEN)
    call(g, version[c->next]);
  else if (c->kind == NW_RESIDUE)
    divide(g, t, c, version);
  else
    ask(g, t, c, version);
}

// Gives each version a name. The arguments are named first, so that no version has the name of an argument.
void nwt_name_versions(nwt *g, int n, nwt *version) {
  for (int i = 0; i < g->p->nsizes; i++) nwt_name(g, g->p->size[i].name);
  for (int i = 0; i < g->p->nbuffers; i++) nwt_name(g, g->p->buffer[i]->name);
  for (int i = 0; i < n; i++) {
    nw_str s = {0};
    nw_str_fmt(&s, "%s_version_%d", g->kernel, i + 1);
    version[i].kernel = nwt_name(g, nw_pool_name(g->p->pool, s.s));
    nw_str_free(&s);
  }
}

void nwt_choose(nwt *g, int n, const nwt *version, const nw_choices *t) {
  const char **name = nw_xcalloc((size_t)n, sizeof *name);
  for (int i = 0; i < n; i++) name[i] = version[i].kernel;
  nw_str_add(&g->out, " {\n");
  nwt_check_sizes(g);
  g->depth = 1;
  decide(g, t, 0, name);
  nw_str_add(&g->out, "}\n");
  free(name);
}

void nwt_use_all(nwt *g, int n, const nwt *version) {
  for (int i = 0; i < n; i++)
    for (int h = 0; h < NWT_HELPERS; h++)
      for (int t = 0; t < NW_DTYPE_COUNT; t++) g->used[h][t] |= version[i].used[h][t];
}
