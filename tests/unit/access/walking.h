// The tests of accesses share this header. It lists the accesses that the interpreter makes and the accesses that the
// walker lists, for a program in a text.
#pragma once
#include "../lower/lowering.h"
#include "access/walker.h"
#include "interp/interp.h"

typedef struct seen { // accesses as text, one on each line: "C 12 x8 w"
  nw_str text;
  int64_t n;
  const nw_walker *w;
} seen;

static inline void note(seen *s, const char *buffer, int64_t index, int lanes, bool write) {
  nw_str_fmt(&s->text, "%s %lld x%d%s\n", buffer, (long long)index, lanes, write ? " w" : "");
  s->n++;
}

static inline void see_access(void *env, const nw_access *a) {
  seen *s = env;
  if (nw_place_named(nw_walker_places(s->w), a->buffer)->memory) note(s, a->buffer, a->index, a->lanes, a->write);
}

static inline bool see_refs(void *env, const nw_ref *r, int n) {
  seen *s = env;
  for (int i = 0; i < n; i++) {
    const nw_ref_site *at = nw_walker_site(s->w, (int)r[i].site);
    int bytes = nw_dtype_bytes(at->place->buffer->dtype);
    assert_int_equal(at->write, r[i].write);
    note(s, at->place->buffer->name, (int64_t)(r[i].address - at->place->address) / bytes, r[i].bytes / bytes,
         at->write);
  }
  return true;
}

static inline int64_t value_in(const nw_program *p, const nw_expr *e, const int64_t *sizes) {
  int64_t v = 0;
  for (int i = 0; i < p->nsizes; i++) e = nw_subst(p->pool, e, p->size[i].name, nw_index(p->pool, sizes[i]));
  assert_true(nw_is_int(e, &v));
  return v;
}

static inline nw_view *views_of(const nw_program *p, const int64_t *sizes) {
  nw_view *v = nw_xcalloc((size_t)p->nbuffers + 1, sizeof *v);
  for (int i = 0; i < p->nbuffers && p->buffer[i]->role != NW_TEMP; i++) {
    int64_t count = 1;
    for (int d = 0; d < p->buffer[i]->ndim; d++) count *= value_in(p, p->buffer[i]->shape[d], sizes);
    v[i] = (nw_view){p->buffer[i]->dtype, count, nw_xcalloc((size_t)count + 1, 16)};
  }
  return v;
}

// Checks that the walker lists the accesses that the interpreter makes, in the same order. Returns their number.
static inline int64_t assert_walked(lowering *l, const char *text, const int64_t *sizes) {
  nw_program *p = parsed(l, text);
  nw_exec *e = nw_lower(p, NULL);
  if (!e) fail_msg("%s", nw_error(l->c)->message);
  nw_walker *w = nw_walker_new(l->c, e, sizes);
  if (!w) fail_msg("%s", nw_error(l->c)->message);
  seen ran = {.w = w}, walked = {.w = w};
  nw_view *v = views_of(e->p, sizes);
  if (!nw_interp_exec(l->c, e, sizes, v, &(nw_interp_opts){.trace = see_access, .env = &ran}))
    fail_msg("%s", nw_error(l->c)->message);
  assert_true(nw_walk_refs(w, see_refs, NULL, &walked));
  assert_string_equal(walked.n ? walked.text.s : "", ran.n ? ran.text.s : "");
  int64_t n = walked.n;
  for (int i = 0; i < e->p->nbuffers; i++) free(v[i].data);
  free(v);
  nw_str_free(&ran.text);
  nw_str_free(&walked.text);
  nw_walker_free(w);
  nw_exec_release(e);
  nw_program_release(p);
  return n;
}
