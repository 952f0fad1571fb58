// Makes the plan of a call on a GPU.
#include "run/gpu/plan.h"
#include "target/target.h"
#include <stdlib.h>

enum { MOST_LAUNCHES = 1 << 20 };

typedef struct planning {
  nw_plan *p;
  const int64_t *sizes;
} planning;

// ---- buffers

static bool too_large(const nw_program *p, const char *name) {
  return nw_fail(p->ctx, NW_EMEMORY, "give smaller tensors", "%s is too large for the memory of a GPU", name);
}

static int find_buffer(const nw_plan *p, const char *name) {
  int i = 0;
  while (strcmp(p->buffer[i].name, name)) i++;
  return i;
}

static bool add_buffers(planning *x) {
  const nw_exec *e = x->p->exec;
  const char **names = nw_xcalloc((size_t)e->p->nsizes + 1, sizeof *names);
  bool good = true;
  for (int i = 0; i < e->p->nsizes; i++) names[i] = e->p->size[i].name;
  for (int i = 0; i < e->p->nbuffers && good; i++) {
    const nw_storage *s = &e->storage[i];
    nw_plan_buffer *b = &x->p->buffer[i];
    *b = (nw_plan_buffer){.name = s->buffer, .dtype = s->dtype, .role = e->p->buffer[i]->role};
    if (s->kind == NW_STORE_GRID) continue;
    int64_t n;
    good = nw_eval_size(s->elements, e->p->nsizes, names, x->sizes, &n) &&
           !__builtin_mul_overflow(n > 0 ? n : 0, (int64_t)nw_dtype_bytes(s->dtype), &b->bytes);
    if (!good) too_large(e->p, s->buffer);
  }
  free(names);
  for (int i = 0; i < x->p->launches->n; i++)
    for (int k = 0; k < x->p->launches->launch[i].nbuffers; k++) {
      const nw_launch_buffer *use = &x->p->launches->launch[i].buffer[k];
      nw_plan_buffer *b = &x->p->buffer[find_buffer(x->p, use->name)];
      b->read |= use->read;
      b->written |= use->written;
    }
  return good;
}

// ---- launches

static const char *const units[6] = {"blocks in x",  "blocks in y",  "blocks in z",
                                     "threads in x", "threads in y", "threads in z"};

// True if a GPU can launch that many blocks and threads.
static bool is_within(const nw_program *p, const nw_launch *k, const int64_t extent[6]) {
  const nw_launch_limit *limit = &p->target->limit.launch;
  for (int i = 0; i < 6; i++)
    if (extent[i] > limit->extent[i])
      return nw_fail(p->ctx, NW_ELIMIT, "let each thread compute more, or bind the loops to other indices",
                     "%s has %lld %s; the limit of %s is %lld", k->name, (long long)extent[i], units[i],
                     p->target->machine.name, (long long)limit->extent[i]);
  int64_t threads = extent[3] * extent[4] * extent[5];
  return threads <= limit->threads || nw_fail(p->ctx, NW_ELIMIT, "bind loops with fewer iterations to the threads",
                                              "%s has %lld threads in a block; the limit of %s is %lld", k->name,
                                              (long long)threads, p->target->machine.name, (long long)limit->threads);
}

static bool add_launch(void *env, const nw_launch *l, const int64_t extent[6], const int64_t *var) {
  planning *x = env;
  nw_plan *p = x->p;
  const nw_program *of = p->exec->p;
  if (!is_within(of, l, extent)) return false;
  if (p->n == MOST_LAUNCHES)
    return nw_fail(of->ctx, NW_ELIMIT, "bind more loops to blocks", "a call has more than %d launches", MOST_LAUNCHES);
  if (p->n == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 8;
    p->launch = nw_xrealloc(p->launch, (size_t)p->cap * sizeof *p->launch);
  }
  nw_plan_launch *out = &p->launch[p->n++];
  *out =
      (nw_plan_launch){.kernel = (int)(l - p->launches->launch), .shared = nw_launch_asks(l), .nbuffers = l->nbuffers};
  memcpy(out->extent, extent, sizeof out->extent);
  out->buffer = nw_xcalloc((size_t)l->nbuffers + 1, sizeof *out->buffer);
  for (int i = 0; i < l->nbuffers; i++) out->buffer[i] = find_buffer(p, l->buffer[i].name);
  out->number = nw_xcalloc((size_t)(of->nsizes + l->nvars) + 1, sizeof *out->number);
  for (int i = 0; i < of->nsizes; i++) out->number[out->nnumbers++] = x->sizes[i];
  for (int i = 0; i < l->nvars; i++) out->number[out->nnumbers++] = var[i];
  return true;
}

nw_plan *nw_plan_of(const nw_exec *e, const nw_launches *l, const int64_t *sizes) {
  nw_plan *p = nw_xcalloc(1, sizeof *p);
  *p = (nw_plan){.exec = e, .launches = l, .nbuffers = e->p->nbuffers};
  p->buffer = nw_xcalloc((size_t)p->nbuffers + 1, sizeof *p->buffer);
  planning x = {p, sizes};
  if (add_buffers(&x) && nw_launches_run(e, l, sizes, add_launch, &x)) return p;
  nw_plan_free(p);
  return NULL;
}

void nw_plan_free(nw_plan *p) {
  if (!p) return;
  for (int i = 0; i < p->n; i++) free(p->launch[i].buffer), free(p->launch[i].number);
  free(p->launch);
  free(p->buffer);
  free(p);
}
