// Prepares the walk of a scheduled program for given sizes.
#include "access/ready.h"
#include "poly/poly.h"
#include "run/formals.h"
#include <stdlib.h>

int nw_program_sizes(const nw_program *p) { return p->nsizes; }
const char *nw_program_size(const nw_program *p, int i) { return p->size[i].name; }
int nw_program_buffers(const nw_program *p) { return p->nbuffers; }
const char *nw_program_buffer(const nw_program *p, int i) { return p->buffer[i]->name; }
nw_dtype nw_program_buffer_dtype(const nw_program *p, int i) { return p->buffer[i]->dtype; }

// ---- given sizes

static bool is_allowed(nw_ctx *c, const nw_formals *f, int i, const int64_t *sizes) {
  int64_t lo = 0;
  if (sizes[i] >= 0 && (!f->lo[i] || !nw_eval_size(f->lo[i], f->nsizes, f->size, sizes, &lo) || sizes[i] >= lo))
    return true;
  return nw_fail(c, NW_ERANGE, NULL, "%s = %lld is too small: it must be at least %lld", f->size[i],
                 (long long)sizes[i], (long long)lo);
}

static bool holds(nw_ctx *c, const nw_formals *f, const nw_expr *fact, const int64_t *sizes) {
  int64_t v = 0;
  if (!nw_eval_size(fact, f->nsizes, f->size, sizes, &v) || v) return true;
  nw_str s = {0};
  nw_expr_print(&s, fact);
  nw_fail(c, NW_ERANGE, "This fact comes from the declaration of the sizes or from an assume.", "%s does not hold",
          s.s);
  nw_str_free(&s);
  return false;
}

bool nw_sizes_allowed(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  nw_formals f = nw_formals_of_program(p);
  bool ok = true;
  for (int i = 0; i < f.nsizes && ok; i++) ok = is_allowed(c, &f, i, sizes);
  for (int i = 0; i < f.nfacts && ok; i++) ok = holds(c, &f, f.fact[i], sizes);
  nw_formals_free(&f);
  return ok;
}

nw_walker *nw_walker_for(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk) {
  if (!p || !nw_sizes_allowed(c, p, walk->sizes) || !nw_judge_harmless(p, "modelled")) return NULL;
  nw_exec *e = nw_lower(p, NULL);
  nw_walker *w = e ? nw_walker_new(c, e, walk->sizes) : NULL;
  nw_exec_release(e);
  if (w) w->thread = walk->thread, w->threads = walk->threads;
  return w;
}
