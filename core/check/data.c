// Makes the data for a check: integers that are so small that their sums and products are exact.
#include "check/inside.h"
#include "run/formals.h"
#include <stdlib.h>

int nw_check_inputs(const nw_program *p) {
  int n = 0;
  while (n < p->nbuffers && p->buffer[n]->role == NW_INPUT) n++;
  return n;
}

static int params(const nw_program *p) {
  int n = 0;
  while (n < p->nbuffers && p->buffer[n]->role != NW_TEMP) n++;
  return n;
}

static nw_array *array_for(const nw_program *p, const nw_buffer *b, const int64_t *sizes) {
  int64_t shape[NW_MAX_DEPTH];
  for (int d = 0; d < b->ndim; d++) shape[d] = nw_check_value(p, b->shape[d], sizes);
  return nw_array_new(p->ctx, b->dtype, b->ndim, shape);
}

enum { LOOK_UP = 1 << 20 }; // number of elements between checks for an interrupt

static bool fill(nw_ctx *c, nw_array *a, uint64_t seed) {
  bool halves = nw_array_dtype(a) == NW_F16 || nw_array_dtype(a) == NW_BF16;
  bool negative = nw_dtype_is_signed(nw_array_dtype(a));
  double hi = nw_array_dtype(a) == NW_BOOL ? 1 : halves ? 2 : 4;
  nw_array_fill_random(a, seed, negative ? -hi : 0, hi);
  for (int64_t i = 0; i < nw_array_count(a) && nw_dtype_is_float(nw_array_dtype(a)); i++) {
    if (i % LOOK_UP == 0 && nw_stopped(c)) return false;
    nw_array_set(a, i, __builtin_nearbyint(nw_array_get(a, i)));
  }
  return !nw_stopped(c);
}

// Makes the data. Allocates all arrays before it fills any, so that lack of memory is found early.
bool nw_check_data_make(nw_check_data *d, const nw_program *p, const int64_t *sizes, uint64_t seed) {
  *d = (nw_check_data){.n = params(p)};
  d->array = nw_xcalloc((size_t)d->n + 1, sizeof *d->array);
  for (int i = 0; i < d->n; i++) {
    d->array[i] = array_for(p, p->buffer[i], sizes);
    if (!d->array[i]) return false;
  }
  for (int i = 0; i < d->n; i++)
    if (p->buffer[i]->role == NW_INPUT && !fill(p->ctx, d->array[i], nw_hash_mix(seed, (uint64_t)i))) return false;
  return true;
}

bool nw_check_data_outputs(nw_check_data *d, const nw_program *p, const nw_check_data *inputs) {
  *d = (nw_check_data){.n = inputs->n};
  d->array = nw_xcalloc((size_t)d->n + 1, sizeof *d->array);
  for (int i = 0; i < d->n; i++) {
    nw_array *like = inputs->array[i];
    bool input = p->buffer[i]->role == NW_INPUT;
    d->array[i] = input ? nw_array_retain(like)
                        : nw_array_new(p->ctx, nw_array_dtype(like), nw_array_ndim(like), nw_array_shape(like));
    if (!d->array[i]) return false;
  }
  return true;
}

bool nw_check_pack(nw_check_data *packed, const nw_program *p, const int64_t *sizes, const nw_check_data *d) {
  *packed = (nw_check_data){.n = d->n};
  packed->array = nw_xcalloc((size_t)d->n + 1, sizeof *packed->array);
  for (int i = 0; i < d->n; i++) {
    nw_array *a = nw_relayout(p->ctx, p, i, sizes, d->array[i], true), *fresh = NULL;
    packed->array[i] = a;
    if (!a || a == d->array[i] || p->buffer[i]->role != NW_OUTPUT) {
      if (!a) return false;
      continue;
    }
    fresh = nw_array_strided(p->ctx, a->dtype, a->ndim, a->shape, a->stride);
    packed->array[i] = fresh;
    nw_array_release(a);
    if (!fresh) return false;
  }
  return true;
}

// Checks the positions that hold no element. After packing, they hold the pad value.
static bool pads_hold(const nw_program *p, int i, nw_array *got, nw_array *want) {
  int64_t at = nw_check_differs(want, got, NW_CHECK_BITS);
  if (at < 0) return true;
  char *element = nw_check_element(p->buffer[i]->name, got, at);
  nw_fail(p->ctx, NW_EMISMATCH, NULL, "%s of the argument is %.9g; this position holds no element and must be %.9g",
          element, nw_array_get(got, at), nw_array_get(want, at));
  free(element);
  return false;
}

bool nw_check_unpack(nw_check_data *d, const nw_program *p, const int64_t *sizes, const nw_check_data *packed) {
  for (int i = nw_check_inputs(p); i < d->n; i++) {
    if (packed->array[i] == d->array[i]) continue;
    nw_array *plain = nw_relayout(p->ctx, p, i, sizes, packed->array[i], false);
    nw_array *again = plain ? nw_relayout(p->ctx, p, i, sizes, plain, true) : NULL;
    bool good = again && pads_hold(p, i, packed->array[i], again);
    nw_array_release(again);
    nw_array_release(d->array[i]);
    d->array[i] = plain;
    if (!good) return false;
  }
  return true;
}

void nw_check_data_free(nw_check_data *d) {
  for (int i = 0; d->array && i < d->n; i++) nw_array_release(d->array[i]);
  free(d->array);
  *d = (nw_check_data){0};
}

nw_view *nw_check_views(const nw_check_data *d) {
  nw_view *v = nw_xcalloc((size_t)d->n + 1, sizeof *v);
  for (int i = 0; i < d->n; i++) { v[i] = nw_view_of(d->array[i]); }
  return v;
}

const char **nw_check_size_names(const nw_program *p) {
  const char **name = nw_xcalloc((size_t)p->nsizes + 1, sizeof *name);
  for (int i = 0; i < p->nsizes; i++) name[i] = p->size[i].name;
  return name;
}

bool nw_check_define(nw_ctx *c, nw_sched *s, const nw_program *p, const int64_t *sizes, const nw_check_data *d) {
  const char **names = nw_check_size_names(p);
  nw_view *v = nw_check_views(d);
  int inputs = nw_check_inputs(p);
  bool ok = nw_naive_eval(c, s->noutputs, s->output, names, sizes, p->nsizes, inputs, v, v + inputs);
  free(v);
  free(names);
  return ok;
}
