// Calls a kernel.
#include "run/gpu/backend.h"
#include "run/gpu/resident.h"
#include "run/kernel.h"
#include <stdlib.h>

// Sets *n to the number of elements of a buffer. Returns false if the number does not fit in 64 bits.
static bool elements_of(const nw_kernel *k, const nw_storage *s, int64_t *n) {
  if (!nw_eval_size(s->elements, k->formals.nsizes, k->formals.size, k->sizes, n)) return *n = 0, NW_MUTATED(size_zero);
  if (*n < 0) *n = 0;
  return true;
}

static bool no_room(nw_kernel *k, const nw_storage *s, bool fits, int64_t bytes) {
  const char *hint = "compute it where it is used, or in smaller pieces";
  if (!fits)
    return nw_fail(k->ctx, NW_EMEMORY, hint, "%s, a temporary of more than 9 exabytes, does not fit in memory",
                   s->buffer);
  char why[160];
  nw_say_limit(why, sizeof why);
  return nw_fail(k->ctx, NW_EMEMORY, hint, "%s, a temporary of %.1f GB, does not fit in memory: %s", s->buffer,
                 (double)bytes / 1e9, why);
}

// Allocates the workspace of buffer i from the pool, if the buffer has a workspace. This is done before the call,
// because generated code never allocates memory. Returns false, with a diagnostic, if there is not enough memory.
static bool make_workspace(nw_kernel *k, int i) {
  const nw_storage *s = &k->exec->storage[i];
  if (s->kind != NW_STORE_WORKSPACE && s->kind != NW_STORE_PER_THREAD) return true;
  int64_t bytes, all, pieces = s->kind == NW_STORE_PER_THREAD ? k->threads : 1;
  if (!elements_of(k, s, &bytes) || __builtin_mul_overflow(bytes, (int64_t)nw_dtype_bytes(s->dtype), &bytes) ||
      __builtin_mul_overflow(bytes, pieces, &all))
    return no_room(k, s, false, 0);
  if (all <= 64 << 20 || all <= nw_memory_left())
    k->work[i] = nw_mem_pieces(&nw_session_of(k->ctx)->mem, (size_t)bytes, pieces, &k->stride[i]);
  return k->work[i] || no_room(k, s, true, all);
}

void nw_kernel_end(nw_kernel *k) {
  if (k->running) k = k->running;
  if (k->backend->end) k->backend->end(k);
  for (int i = 0; i < k->exec->nstorage; i++) {
    nw_mem_put(&nw_session_of(k->ctx)->mem, k->work[i]);
    k->work[i] = NULL;
  }
}

static bool too_large(nw_kernel *k, const nw_expr *e) {
  nw_str s = {0};
  nw_expr_print(&s, e);
  nw_fail(k->ctx, NW_ERANGE, "give smaller tensors", "%s is too large", s.s);
  nw_str_free(&s);
  return false;
}

static bool sizes_fit(nw_kernel *k) {
  int64_t ignored;
  for (int i = 0; i < k->exec->nfits; i++)
    if (!nw_eval_size(k->exec->fits[i], k->formals.nsizes, k->formals.size, k->sizes, &ignored))
      return too_large(k, k->exec->fits[i]);
  return true;
}

static bool is_aligned(nw_ctx *c, const nw_storage *s, const nw_array *a) {
  return !s->streamed || (uintptr_t)a->data % NW_STREAM_ALIGN == 0 ||
         nw_fail(c, NW_EINVAL, "give align = 64, or a larger power of two, without an offset",
                 "%s is written by streaming stores: it must be aligned to %d bytes", s->buffer, NW_STREAM_ALIGN);
}

// Makes the elements of an argument available to code of this host, which then may write them.
static bool here(nw_array *a, nw_role role) {
  if (!nw_array_fetch(a)) return false;
  if (role == NW_OUTPUT) nw_array_touch(a);
  return true;
}

static bool set_up(nw_kernel *k, nw_array *const *args) {
  for (int i = 0, at = 0; i < k->exec->p->nbuffers; i++) {
    bool given = k->exec->p->buffer[i]->role != NW_TEMP;
    k->params[i] = given ? args[at]->data : NULL;
    k->arg[i] = given ? args[at] : NULL;
    if (given && !nw_kernel_has_driver(k) && !here(args[at], k->exec->p->buffer[i]->role)) return false;
    if (given && !is_aligned(k->ctx, &k->exec->storage[i], args[at++])) return false;
  }
  if (k->backend->begin) return sizes_fit(k) && (k->backend->begin(k) || (nw_kernel_end(k), false));
  for (int i = 0; i < k->exec->nstorage; i++)
    if (!make_workspace(k, i)) return nw_kernel_end(k), false;
  return sizes_fit(k) || (nw_kernel_end(k), false);
}

// Prepares the version that the sizes select. The facts of this version were already checked when it was selected.
static bool set_up_case(nw_kernel *k, nw_array *const *args) {
  nw_kernel *one = nw_kernel_case(k, k->sizes);
  memcpy(one->sizes, k->sizes, (size_t)k->formals.nsizes * sizeof *k->sizes);
  k->running = one;
  k->entry = one->entry;
  k->frame = one->frame;
  return set_up(one, args);
}

static bool runs_here(const nw_kernel *k) {
  const nw_target *t = k->exec->p->target;
  bool simulated = k->backend && k->backend->untimed;
  return nw_target_here(t) || simulated || k->launches || (k->ncases && k->one[0]->launches) ||
         nw_fail(k->ctx, NW_EINVAL,
                 "f:export writes it as a library; s:retarget(nw.target()) makes a schedule for this host",
                 "%s is code for %s, which this host cannot run", k->formals.callee, t->machine.name);
}

bool nw_kernel_in_process(nw_kernel *k, const char *what) {
  if (!k->launches && !(k->ncases && k->one[0]->launches)) return true;
  return nw_fail(k->ctx, NW_EINVAL, "s:retarget \"host\" makes a schedule for this host, which has threads",
                 "%s: %s runs on a GPU", what, k->formals.callee);
}

bool nw_kernel_has_times(nw_kernel *k, const char *what) {
  const nw_backend *b = (k->ncases ? k->one[0] : k)->backend;
  return !b->untimed ||
         nw_fail(k->ctx, NW_EINVAL, b->counts, "%s: %s has no times: %s", what, k->formals.callee, b->untimed);
}

bool nw_kernel_begin(nw_kernel *k, int n, nw_array *const *args) {
  if (!runs_here(k)) return false;
  if (!nw_formals_count(k->ctx, &k->formals, n) || !nw_formals_check(k->ctx, &k->formals, n, args, k->sizes))
    return false;
  return k->ncases ? set_up_case(k, args) : set_up(k, args);
}

bool nw_kernel_call(nw_kernel *k, int n, nw_array *const *args) {
  if (!k || !nw_kernel_begin(k, n, args)) return false;
  nw_kernel *one = k->running ? k->running : k;
  bool good = one->backend->call(one);
  if (good && !nw_fences_hold(&nw_session_of(k->ctx)->mem))
    good = nw_fail(k->ctx, NW_ECRASH, NULL, "%s wrote outside a tensor or a temporary", k->formals.callee);
  nw_kernel_end(k);
  return good;
}

static nw_array *make_output(nw_kernel *k, const nw_formal *p) {
  const nw_formals *f = &k->formals;
  int64_t *shape = nw_xcalloc(2 * (size_t)p->ndim + 1, sizeof *shape), *stride = shape + p->ndim;
  bool good = true;
  for (int d = 0; d < p->ndim; d++) {
    good = good && nw_eval_size(p->shape[d], f->nsizes, f->size, k->sizes, &shape[d]);
    if (p->pitch) good = good && nw_eval_size(p->pitch[d], f->nsizes, f->size, k->sizes, &stride[d]);
  }
  nw_array *a = NULL;
  if (good && p->pitch)
    a = nw_array_strided(k->ctx, p->dtype, p->ndim, shape, stride);
  else if (good)
    a = nw_array_new(k->ctx, p->dtype, p->ndim, shape);
  else
    nw_fail(k->ctx, NW_EINVAL, NULL, "the shape of %s does not follow from those of the inputs", p->name);
  free(shape);
  return a;
}

// Makes the outputs of a call. If an input of a kernel for a GPU stays there, so do the outputs. `inputs` are the
// parameters before the first output. `outputs` must have an entry for each of the other parameters. The caller must release each output. Returns false, with a diagnostic, on failure.
bool nw_kernel_outputs(nw_kernel *k, nw_array *const *inputs, nw_array **outputs) {
  if (!k) return false;
  int n = 0, made = 0;
  while (n < k->formals.n && !k->formals.at[n].output) n++;
  bool resident = false, on_gpu = nw_kernel_has_driver(k);
  nw_gpu_kind kind = nw_kernel_gpu(k);
  for (int i = 0; i < n && on_gpu; i++) resident |= inputs[i]->resident && inputs[i]->resident->kind == kind;
  if (!nw_formals_check(k->ctx, &k->formals, n, inputs, k->sizes)) return false;
  for (int i = n; i < k->formals.n; i++) {
    outputs[made] = make_output(k, &k->formals.at[i]);
    if (outputs[made] && resident) nw_resident_make(outputs[made], kind);
    if (outputs[made++]) continue;
    while (made > 0) nw_array_release(outputs[--made]);
    return false;
  }
  return true;
}
