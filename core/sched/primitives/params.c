// transform_layout of an input or an output. The shape of the caller's array changes, but the blocks still use the
// indices of the computation. So everything that was proved about them still holds.
//
// Some positions of the array may hold no element. The program never reads these positions of an input. It writes
// pad_value to those of an output (lower/pads.c).
#include "ir/expr/fold.h"
#include "ir/program/layout.h"
#include "ir/program/physical.h"
#include "sched/primitives/storage.h"
#include <stdlib.h>

// ---- pad_value

static bool holds(const nw_buffer *b, double v) {
  if (nw_dtype_is_float(b->dtype)) return true;
  if (b->dtype == NW_U64 && v < 0) return false;
  return v >= -0x1p53 && v <= 0x1p53 && v == (double)(int64_t)v && nw_fits(b->dtype, (int64_t)v);
}

static bool set_pad(nw_step *st, nw_buffer *b, const nw_arg *pad) {
  b->pad = NULL;
  if (pad->kind == NW_ARG_NONE) return true;
  if (!holds(b, pad->f))
    return nw_fail(st->ctx, NW_ERANGE, "give a value of the dtype of the tensor",
                   "transform_layout: pad_value = %.17g is not a value of %s, which is %s", pad->f, b->name,
                   nw_dtype_name(b->dtype));
  b->pad = nw_dtype_is_float(b->dtype) ? nw_float(st->p->pool, b->dtype, pad->f)
                                       : nw_int(st->p->pool, b->dtype, (int64_t)pad->f);
  if (b->role == NW_INPUT || nw_layout_is_radix(b)) return true;
  return nw_step_refuse(st,
                        "only a layout that has each digit of each index once, such as i // 4, j, i % 4, may leave "
                        "positions of an output without an element",
                        NULL, "the kernel could not tell which positions of %s hold no element", b->name);
}

// ---- sizes

// A call finds the sizes from the shapes of its arguments. A size is found from an extent if it is the only unknown
// size in the extent, and the extent is linear in it.
typedef struct known {
  const nw_program *p;
  const char **name;
  bool *size;
} known;

static int only_unknown(const known *k, const nw_expr *e) {
  int found = -1;
  for (int i = 0; i < k->p->nsizes; i++) {
    if (k->size[i] || !nw_uses_var(e, k->name[i])) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

static bool finds(known *k, const nw_expr *e) {
  int v = only_unknown(k, e);
  int64_t coef;
  const nw_expr *rest;
  bool linear = v >= 0 && nw_affine(k->p->pool, e, 1, &k->name[v], &coef, &rest) && coef;
  if (linear) k->size[v] = true;
  return linear;
}

// Finds the sizes that follow from the shapes of the inputs and, if `outputs` is true, of the outputs.
static known sizes_of(nw_step *st, const nw_program *p, bool outputs) {
  known k = {p, NW_NEW_N(st->scratch, const char *, p->nsizes + 1), NW_NEW_N(st->scratch, bool, p->nsizes + 1)};
  for (int i = 0; i < p->nsizes; i++) k.name[i] = p->size[i].name;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < p->nbuffers && p->buffer[i]->role != NW_TEMP; i++) {
      const nw_buffer *b = p->buffer[i];
      for (int d = 0; d < nw_physical_dims(b) && (outputs || b->role == NW_INPUT); d++)
        more |= finds(&k, nw_physical_shape(b)[d]) | (b->pitch && finds(&k, b->pitch[d]));
    }
  }
  return k;
}

static bool sizes_follow(nw_step *st, const nw_buffer *b, bool outputs) {
  known was = sizes_of(st, st->before, outputs), is = sizes_of(st, st->p, outputs);
  for (int i = 0; i < was.p->nsizes; i++)
    if (was.size[i] && !is.size[i])
      return nw_step_refuse(st,
                            "a call finds the sizes from the shapes of its arguments; keep this dimension of one of "
                            "them, or give the size a number",
                            NULL, "the size %s would no longer follow from the new shape of %s", was.name[i], b->name);
  return true;
}

// ---- the step

static bool is_plain(const nw_buffer *b) {
  bool plain = b->nlayout == b->ndim;
  for (int d = 0; d < b->nlayout && plain; d++) {
    nw_pool *pool = b->layout[d]->pool;
    plain = b->layout[d] == nw_var(pool, nw_dim_name(pool, d));
  }
  return plain;
}

static void note_shape(nw_step *st, const nw_buffer *b) {
  nw_str shape = {0};
  for (int d = 0; d < nw_physical_dims(b); d++) {
    nw_str_add(&shape, d ? ", " : "");
    nw_expr_print(&shape, nw_physical_shape(b)[d]);
  }
  nw_step_note(st, "the kernel now %s %s as a tensor of shape [%s]: %s", b->role == NW_INPUT ? "takes" : "returns",
               b->name, shape.s,
               b->role == NW_INPUT ? "s:pack converts a tensor"
                                   : "s:unpack converts it to the shape of the computation");
  nw_str_free(&shape);
}

bool nw_lay_out_param(nw_step *st, nw_buffer *b, const nw_arg *pad) {
  if (!set_pad(st, b, pad)) return false;
  b->laid = st->p->step;
  if (is_plain(b)) b->nlayout = b->laid = 0, b->pad = NULL;
  if (!sizes_follow(st, b, false) || !sizes_follow(st, b, true)) return false;
  note_shape(st, b);
  return true;
}
