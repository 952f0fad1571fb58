// Makes loop nests from texts and programs, and prints them.
#include "nest/nest.h"
#include "access/affine/affine_program.h"
#include <stdlib.h>

static nw_loopnest *loopnest_new(nw_ctx *c) {
  nw_loopnest *n = nw_xcalloc(1, sizeof *n);
  n->ctx = c;
  n->arena = nw_arena_scratch();
  return n;
}

void nw_loopnest_free(nw_loopnest *n) {
  if (!n) return;
  nw_text_free(n->text);
  nw_arena_free(n->arena);
  free(n);
}

nw_loopnest *nw_loopnest_parse(nw_ctx *c, const char *text, const char *set, int nvalues, const char *const *name,
                               const int64_t *value) {
  nw_loopnest *n = loopnest_new(c);
  n->text = nw_text_parse(c, text);
  if (n->text && nw_text_values(c, n->text, set, nvalues, name, value, n->given, n->value))
    n->nest = nw_text_nest(c, n->arena, n->text, n->value);
  if (n->nest) return n;
  nw_loopnest_free(n);
  return NULL;
}

nw_loopnest *nw_loopnest_of(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  nw_walker *w = nw_walker_for(c, p, &(nw_walk_opts){.sizes = sizes});
  if (!w) return NULL;
  nw_loopnest *n = loopnest_new(c);
  n->nest = nw_affine_of(n->arena, w);
  nw_walker_free(w);
  if (n->nest) return n;
  nw_loopnest_free(n);
  return NULL;
}

char *nw_loopnest_print(const nw_loopnest *n) {
  nw_str s = {0};
  nw_text *made = n->text ? NULL : nw_text_of(n->ctx, n->nest);
  nw_text_print(&s, made ? made : n->text, n->given, n->value);
  nw_text_free(made);
  while (s.n && s.s[s.n - 1] == '\n') s.s[--s.n] = 0;
  return nw_str_take(&s);
}

int nw_loopnest_params(const nw_loopnest *n) { return n->text ? n->text->param.n : 0; }

const char *nw_loopnest_param(const nw_loopnest *n, int i, int64_t *value) {
  *value = n->value[i];
  return ((nw_text_param *)n->text->param.at[i])->name;
}

int nw_loopnest_arrays(const nw_loopnest *n) { return n->nest->narrays; }

const char *nw_loopnest_array(const nw_loopnest *n, int i, uint64_t *address, int64_t *bytes, int *element) {
  const nw_affine_array *a = &n->nest->array[i];
  *address = a->address;
  *bytes = a->bytes;
  *element = a->elem;
  return a->name;
}
