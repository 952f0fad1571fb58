// Runs a program on the simulated GPU.
#include "device/gpu/kinds.h"
#include "access/walker.h"
#include "run/formals.h"
#include "ir/program/instruction.h"
#include "run/gpu/ptxas.h"
#include <stdlib.h>

// ---- the machine

// The limits of a GPU that no record describes. The numbers of multiprocessors, warps and blocks are not known.
static nw_machine_gpu usual(const nw_target *t) {
  return (nw_machine_gpu){.limit = t->limit.launch, .sector = 32, .line = 128, .banks = 32};
}

static const nw_machine *machine_of(const nwg_run *r) {
  return r->opts.machine ? r->opts.machine : &r->exec->p->target->machine;
}

static bool choose_machine(nwg_run *r) {
  const nw_target *t = r->exec->p->target;
  const nw_machine *m = machine_of(r);
  if (r->opts.machine && m->kind != NW_MACHINE_GPU)
    return nw_fail(r->ctx, NW_EINVAL, "nw.machines() lists them", "machine: %s is not a GPU", m->name);
  bool known = m->kind == NW_MACHINE_GPU;
  r->gpu = known ? m->gpu : usual(t);
  r->machine = !known ? "a GPU with the usual limits" : *m->gpu.simulates ? m->gpu.simulates : m->name;
  if (r->gpu.limit.warp > NWG_LANES)
    return nw_fail(r->ctx, NW_ELIMIT, NULL, "machine: warps of %lld threads are not simulated: at most %d",
                   (long long)r->gpu.limit.warp, NWG_LANES);
  if (r->gpu.sector & (r->gpu.sector - 1) || r->gpu.line & (r->gpu.line - 1))
    return nw_fail(r->ctx, NW_ELIMIT, NULL,
                   "machine: sectors of %lld bytes and lines of %lld bytes are not simulated: give powers of two",
                   (long long)r->gpu.sector, (long long)r->gpu.line);
  if (r->gpu.banks > NWG_MOST_BANKS)
    return nw_fail(r->ctx, NW_ELIMIT, NULL, "machine: %lld banks are not simulated: at most %d",
                   (long long)r->gpu.banks, NWG_MOST_BANKS);
  return true;
}

// ---- buffers

// True if the buffer is allocated inside a loop that is bound to threads, so that each thread has its own.
static bool is_of_thread(const nw_stmt *s, const char *buffer, bool inside) {
  inside |= nw_is_thread_loop(s);
  if (s->kind == NW_ALLOC && inside && !strcmp(s->alloc.buffer, buffer)) return true;
  for (int i = 0; i < s->nkids; i++)
    if (is_of_thread(s->kid[i], buffer, inside)) return true;
  return false;
}

static nwg_space space_of(const nwg_run *r, const nw_buffer *b, const nw_storage *s) {
  if (s->kind != NW_STORE_GRID && s->kind != NW_STORE_STACK) return NWG_GLOBAL;
  if (b->scope == NW_LOCAL || is_of_thread(r->exec->p->root, b->name, false)) return NWG_LOCAL;
  return b->scope == NW_WARP ? NWG_WARP : NWG_SHARED;
}

// Returns the names of the sizes of the program.
static const char **size_names(const nwg_run *r) {
  const nw_program *p = r->exec->p;
  const char **name = NW_NEW_N(r->arena, const char *, p->nsizes + 1);
  for (int k = 0; k < p->nsizes; k++) name[k] = p->size[k].name;
  return name;
}

// Sets *out to the number of elements of a buffer. The number of its bytes fits in 64 bits, too.
static bool count_elements(nwg_run *r, int i, int64_t *out) {
  const nw_program *p = r->exec->p;
  const nw_expr *elements = r->exec->storage[i].elements;
  int64_t bytes = nw_dtype_bytes(p->buffer[i]->dtype);
  if (nw_eval_size(elements, p->nsizes, size_names(r), r->sizes, out) && !__builtin_mul_overflow(*out, bytes, &bytes))
    return true;
  return nw_fail(r->ctx, NW_ERANGE, "give smaller sizes", "%s is too large: it would have more than 9 exabytes",
                 p->buffer[i]->name);
}

// True if no expression of sizes overflows.
static bool sizes_fit(const nwg_run *r) {
  const nw_exec *e = r->exec;
  const char **name = size_names(r);
  int64_t ignored;
  for (int i = 0; i < e->nfits; i++) {
    if (nw_eval_size(e->fits[i], e->p->nsizes, name, r->sizes, &ignored)) continue;
    nw_str s = {0};
    nw_expr_print(&s, e->fits[i]);
    nw_fail(r->ctx, NW_ERANGE, "give smaller sizes", "%s is too large", s.s);
    nw_str_free(&s);
    return false;
  }
  return true;
}

static bool attach(nwg_run *r, nwg_buffer *b, const nw_buffer *from, const nw_view *v) {
  if (v->dtype != from->dtype)
    return nw_fail(r->ctx, NW_ETYPE, NULL, "%s is %s, not %s", b->name, nw_dtype_name(from->dtype),
                   nw_dtype_name(v->dtype));
  if (v->count < b->count)
    return nw_fail(r->ctx, NW_ERANGE, NULL, "%s has %lld elements, %lld are needed", b->name, (long long)v->count,
                   (long long)b->count);
  b->data = v->data;
  if (from->role != NW_OUTPUT) return true;
  return (b->written = nw_ask(r->ctx, b->name, (uint64_t)b->count + 1, 1)) != NULL;
}

// Makes a fragment an array of each thread, as it is in the kernels. In the program it is an array of the warp.
static void hold_fragment(const nwg_run *r, int i) {
  const nw_buffer *from = r->exec->p->buffer[i];
  if (from->scope != NW_WARP || r->launches->p->buffer[i]->scope != NW_LOCAL) return;
  r->buffer[i].space = NWG_LOCAL;
  r->buffer[i].count /= NW_FRAGMENT_LANES;
}

static bool make_buffer(nwg_run *r, int i, const nw_view *v) {
  const nw_buffer *from = r->exec->p->buffer[i];
  nwg_buffer *b = &r->buffer[i];
  *b = (nwg_buffer){.name = from->name, .dtype = from->dtype, .bytes = nw_dtype_bytes(from->dtype)};
  b->room = nwg_size_of(b->dtype);
  b->space = space_of(r, from, &r->exec->storage[i]);
  b->device = b->space == NWG_SHARED && from->scope == NW_GLOBAL;
  if (!count_elements(r, i, &b->count)) return false;
  hold_fragment(r, i);
  if (r->blank) return true;
  if (from->role != NW_TEMP) return attach(r, b, from, v);
  if (b->space != NWG_GLOBAL) return true;
  r->own[i] = true;
  b->data = nw_ask(r->ctx, b->name, (uint64_t)b->count + 1, (uint64_t)b->bytes);
  b->written = b->data ? nw_ask(r->ctx, b->name, (uint64_t)b->count + 1, 1) : NULL;
  return b->written != NULL;
}

static bool make_buffers(nwg_run *r, const nw_view *params) {
  const nw_program *p = r->exec->p;
  int param = 0;
  r->buffer = NW_NEW_N(r->arena, nwg_buffer, p->nbuffers + 1);
  r->own = NW_NEW_N(r->arena, bool, p->nbuffers + 1);
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_view *v = p->buffer[i]->role == NW_TEMP || !params ? NULL : &params[param++];
    if (!make_buffer(r, i, v)) return false;
  }
  return true;
}

// ---- the run

static void make_workers(nwg_run *r) {
  int n = r->opts.threads > 0 ? r->opts.threads : nw_host()->cores, buffers = r->exec->p->nbuffers;
  if (r->opts.caches) n = 1;
  r->nworkers = n < 1 ? 1 : n > 64 ? 64 : n;
  r->worker = NW_NEW_N(r->arena, nwg_worker, r->nworkers);
  r->room = NW_NEW_N(r->arena, int64_t, r->nworkers * buffers + 1);
  for (int i = 0; i < r->nworkers; i++) {
    nwg_worker *w = &r->worker[i];
    *w = (nwg_worker){.ctx = r->ctx, .id = i, .blank = r->blank, .f = nwg_functions_here()};
    w->mem = NW_NEW_N(r->arena, nwg_mem, buffers + 1);
    w->finding = NW_NEW_N(r->arena, nw_gpu_finding, NWG_FINDINGS);
  }
  for (int i = 0; i < r->nworkers * buffers; i++) r->room[i] = -1;
}

static bool launch(void *env, const nw_launch *l, const int64_t extent[6], const int64_t *var) {
  nwg_run *r = env;
  return nwg_launch(r, (int)(l - r->launches->launch), l, extent, var);
}

// Asks ptxas for the registers of the kernels.
static bool count_registers(nwg_run *r) {
  int n = r->launches->n;
  const char **kernel = NW_NEW_N(r->arena, const char *, n + 1);
  r->registers = NW_NEW_N(r->arena, int64_t, n + 1);
  for (int i = 0; i < n; i++) kernel[i] = r->launches->launch[i].name;
  return !r->source || r->opts.estimates || r->opts.watch ||
         nw_ptxas_registers(r->ctx, r->source, machine_of(r), n, kernel, r->registers);
}

// True if the program has a grid. On a GPU, a nest without bound loops is run by one thread.
static bool has_grid(const nw_program *p) {
  return p->target->machine.kind == NW_MACHINE_GPU || nw_find_bound(p->root);
}

static bool prepare(nwg_run *r, const nw_view *params) {
  if (!has_grid(r->exec->p))
    return nw_fail(
        r->ctx, NW_EINVAL,
        "s:bind(\"i\", \"blockIdx.x\") makes a block for each iteration; threadIdx.x makes the threads of a block",
        "the schedule has no loop that is bound to a GPU's grid");
  if (!choose_machine(r) || !sizes_fit(r)) return false;
  r->launches = nw_launches_of(r->exec);
  if (!r->launches || !make_buffers(r, params) || !count_registers(r)) return false;
  r->entry = NW_NEW_N(r->arena, nwg_entry, r->launches->n + 1);
  make_workers(r);
  r->record.watch = r->opts.watch;
  for (int i = 0; r->opts.watch && i < r->nworkers; i++) r->worker[i].record = &r->record;
  if (r->opts.caches && !r->opts.watch && !(r->worker->caches = nwg_caches_open(r))) return false;
  r->report = nwg_report_new(r);
  return true;
}

static void release(nwg_run *r) {
  if (r->worker) nwg_workers_free(r);
  nwg_caches_free(r->caches);
  for (int i = 0; r->entry && i < r->launches->n; i++) {
    nwg_kernel_free(r->entry[i].k);
    nw_arena_free(r->entry[i].arena);
    nw_let_go(r->entry[i].times);
    nw_let_go(r->entry[i].count);
    nw_let_go(r->entry[i].runs);
    nw_let_go(r->entry[i].pattern);
    nwg_kinds_free(r->entry[i].kinds);
  }
  for (int i = 0; r->buffer && i < r->exec->p->nbuffers; i++) {
    if (r->own[i]) nw_let_go(r->buffer[i].data);
    nw_let_go(r->buffer[i].written);
  }
  free(r->record.request);
  free(r->record.span);
  nw_launches_free(r->launches);
  nw_arena_free(r->arena);
}

// `source` is the program that was lowered; NULL if it is not known.
static nw_gpu_report *run(nw_ctx *c, const nw_program *source, const nw_exec *e, const int64_t *sizes,
                          const nw_view *params, const nw_gpu_opts *o) {
  if (!e) return NULL;
  nwg_run r = {.ctx = c, .source = source, .exec = e, .sizes = sizes, .blank = !params, .arena = nw_arena_scratch()};
  if (o) r.opts = *o;
  double begin = nw_now();
  bool good = prepare(&r, params) && nw_launches_run(e, r.launches, sizes, launch, &r);
  if (good) {
    nwg_report_fill(r.report, &r);
    nwg_report_record(r.report, &r.record);
    nwg_report_seconds(r.report, nw_now() - begin);
  } else {
    nw_gpu_report_free(r.report);
    r.report = NULL;
  }
  release(&r);
  return r.report;
}

nw_gpu_report *nwg_simulate(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_view *params,
                            const nw_gpu_opts *o) {
  return run(c, NULL, e, sizes, params, o);
}

// ---- arrays

static nw_view *views_of(int n, nw_array *const *args) {
  nw_view *v = nw_xcalloc((size_t)n + 1, sizeof *v);
  for (int i = 0; i < n; i++) v[i] = nw_view_of(args[i]);
  return v;
}

static nw_gpu_report *simulate(nw_ctx *c, const nw_program *p, const nw_gpu_opts *o, const int64_t *sizes, int n,
                               nw_array *const *args) {
  nw_view *views = views_of(n, args);
  nw_exec *e = nw_lower(p, NULL);
  nw_gpu_report *r = run(c, p, e, sizes, views, o);
  nw_exec_release(e);
  free(views);
  return r;
}

nw_gpu_report *nw_gpu_simulate(nw_ctx *c, const nw_program *p, const nw_gpu_opts *o, int n, nw_array *const *args) {
  if (!p) return NULL;
  nw_formals f = nw_formals_of_program(p);
  int64_t *sizes = nw_xcalloc((size_t)p->nsizes + 1, sizeof *sizes);
  bool good = nw_formals_count(c, &f, n) && nw_formals_check(c, &f, n, args, sizes);
  nw_gpu_report *r = good ? simulate(c, p, o, sizes, n, args) : NULL;
  free(sizes);
  nw_formals_free(&f);
  return r;
}

nw_gpu_report *nw_gpu_count(nw_ctx *c, const nw_program *p, const nw_gpu_opts *o, const int64_t *sizes) {
  if (!p || !nw_sizes_allowed(c, p, sizes)) return NULL;
  nw_exec *e = nw_lower(p, NULL);
  nw_gpu_report *r = run(c, p, e, sizes, NULL, o);
  nw_exec_release(e);
  return r;
}
