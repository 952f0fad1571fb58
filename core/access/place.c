// Computes the addresses of buffers.
#include "access/place.h"

#define NW_MOST (INT64_C(1) << 40) // limit on the bytes of an array, and on each size

void nw_name_sizes(nw_names *names, const nw_program *p) {
  for (int i = 0; i < p->nsizes; i++) {
    nw_vec_push(&names->name, (void *)p->size[i].name);
    nw_vec_push(&names->slot, (void *)(intptr_t)i);
  }
}

static bool too_large(nw_ctx *c, const nw_storage *s) {
  return nw_fail(c, NW_ERANGE, "Give smaller sizes, or a smaller shape.",
                 "%s is too large: only arrays of up to 2^40 bytes can be modelled", s->buffer);
}

// Computes the size of a buffer. A product that does not fit in 64 bits is treated as too large.
static bool size_of(nw_ctx *c, nw_arena *a, const nw_storage *s, const nw_names *names, const int64_t *sizes,
                    int64_t *bytes) {
  int64_t n;
  if (!s->elements || !nw_calc_of(a, names, s->elements))
    return nw_fail(c, NW_ELIMIT, NULL, "the size of %s is not known", s->buffer);
  if (!nw_eval_size(s->elements, names->name.n, (const char *const *)names->name.at, sizes, &n)) return too_large(c, s);
  if (n < 0) n = 0;
  if (__builtin_mul_overflow(n, nw_dtype_bytes(s->dtype), bytes) || *bytes > NW_MOST) return too_large(c, s);
  return true;
}

// Checks that no size is too large. A limit on the bytes of arrays is not sufficient, since a size may be only the
// extent of a loop, and not a dimension of an array.
static bool sizes_fit(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  for (int i = 0; i < p->nsizes; i++)
    if (sizes[i] > NW_MOST)
      return nw_fail(c, NW_ERANGE, "Give a smaller size.", "%s = %lld is too large: give at most 2^40", p->size[i].name,
                     (long long)sizes[i]);
  return true;
}

static bool in_registers(const nw_storage *s, const nw_buffer *b, int64_t bytes) {
  return s->kind == NW_STORE_STACK && b->scope == NW_LOCAL && bytes <= NW_REGISTER_BYTES;
}

bool nw_place_all(nw_ctx *c, nw_arena *a, const nw_exec *e, const int64_t *sizes, nw_places *out) {
  nw_names names = {0};
  bool ok = true;
  *out = (nw_places){
      .n = e->p->nbuffers, .at = NW_NEW_N(a, nw_placed, e->p->nbuffers + 1), .from = NW_PAGE, .to = NW_PAGE};
  nw_name_sizes(&names, e->p);
  for (int i = 0; i < out->n && ok; i++) {
    nw_placed *x = &out->at[i];
    x->buffer = e->p->buffer[i];
    ok = size_of(c, a, &e->storage[i], &names, sizes, &x->bytes);
    x->memory = !in_registers(&e->storage[i], x->buffer, x->bytes);
    x->address = out->to;
    if (x->memory) out->to += (uint64_t)(x->bytes + NW_PAGE - 1) / NW_PAGE * NW_PAGE;
  }
  nw_vec_free(&names.name);
  nw_vec_free(&names.slot);
  return ok && sizes_fit(c, e->p, sizes);
}

nw_placed *nw_place_named(const nw_places *x, const char *buffer) {
  for (int i = 0; i < x->n; i++)
    if (!strcmp(x->at[i].buffer->name, buffer)) return &x->at[i];
  return NULL;
}
