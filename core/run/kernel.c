// Compiles programs to machine code.
#include "run/kernel.h"
#include "ir/program/reducer.h"
#include "poly/poly.h"
#include "run/guard.h"
#include <stdlib.h>

static int thread_count(const nw_exec *e, int asked) {
  int n = asked > 0 ? asked : nw_host()->cores;
  if (!e->parallel || n < 1) return 1;
  return n < NW_MAX_TEAM ? n : NW_MAX_TEAM;
}

// True if the code is small enough. Compiling cannot be interrupted, so it must not take long.
static bool small_enough(nw_ctx *c, const nw_exec *e) {
  if (e->instructions <= NW_CODE_LIMIT) return true;
  return nw_fail(c, NW_ELIMIT, "unroll or vectorize less", "%s would be about %ld instructions long; the limit is %d",
                 e->p->name ? e->p->name : "the program", (long)e->instructions, NW_CODE_LIMIT);
}

// True if the program is for a GPU or an accelerator, or has no loops of a grid, which a CPU cannot run.
static bool for_this_machine(nw_ctx *c, const nw_program *p) {
  const nw_stmt *loop = nw_find_bound(p->root);
  if (!loop || p->target->machine.kind != NW_MACHINE_CPU) return true;
  return nw_fail(c, NW_ECODEGEN,
                 "nw.interpret(s, data, {lowered = true}) runs it and looks for races; so does s:check()",
                 "%s is bound to %s, and no code is generated for a grid of blocks and threads", loop->loop.var->name,
                 nw_loop_kind_name(loop->loop.mark));
}

nw_kernel *nw_kernel_new(nw_ctx *c, nw_exec *e, int threads) {
  nw_kernel *k = nw_xcalloc(1, sizeof *k);
  size_t n = (size_t)e->p->nbuffers + 1;
  *k = (nw_kernel){.refs = 1, .ctx = c, .exec = e, .threads = threads, .formals = nw_formals_of_program(e->p)};
  k->sizes = nw_xcalloc((size_t)e->p->nsizes + 1, sizeof *k->sizes);
  k->params = nw_xcalloc(n, sizeof *k->params);
  k->work = nw_xcalloc(n, sizeof *k->work);
  k->arg = nw_xcalloc(n, sizeof *k->arg);
  k->stride = nw_xcalloc(n, sizeof *k->stride);
  k->frame = (nw_frame){k->params, k->sizes, k->work, k->stride, threads, NULL, k->formals.callee, NULL, NULL};
  return k;
}

// A search for math functions without a vector form on the target. They are computed one element at a time.
typedef struct fallback {
  const nw_target *target;
  nw_str *notes;
} fallback;

static bool note_fallback(void *env, const nw_expr *e) {
  const fallback *f = env;
  if (e->type.lanes == 1 || !nw_op_has((nw_op)e->op, 'M')) return true;
  nw_dtype t = e->type.dtype == NW_F64 ? NW_F64 : NW_F32;
  const nw_math_row *row = nw_math_find(f->target->features, (nw_op)e->op, t, NW_LANES_ROOM);
  nw_str note = {0};
  nw_str_fmt(&note, "%s of %s has no vector form on %s: it is computed one element at a time\n",
             nw_op_name((nw_op)e->op), nw_dtype_name(t), f->target->machine.name);
  if (row->lanes == 1 && !(f->notes->s && strstr(f->notes->s, note.s))) nw_str_add(f->notes, note.s);
  nw_str_free(&note);
  return true;
}

static bool note_fallbacks(void *env, nw_stmt *s) {
  if (s->kind == NW_STORE) nw_visit(s->store.value, note_fallback, env);
  return true;
}

// Returns the back end of the program's target. Returns NULL, with a diagnostic, if the target has no back end.
static const nw_backend *backend_of(nw_ctx *c, const nw_program *p) {
  nw_backends_provide(c);
  const nw_backend *b = p->target->backend;
  return b ? b
           : nw_fail(c, NW_ECODEGEN, "s:retarget(nw.target()) makes a schedule for this host",
                     "no code is generated for %s", p->target->machine.name);
}

nw_kernel *nw_compile_lowered(nw_ctx *c, const nw_program *p, nw_exec *e, const nw_build_opts *o) {
  const nw_backend *backend = backend_of(c, p);
  if (!backend || !small_enough(c, e)) return nw_exec_release(e), NULL;
  nw_kernel *k = nw_kernel_new(c, e, thread_count(e, o->threads));
  k->backend = backend;
  k->source = nw_program_retain(p);
  if (!backend->compile(k, o)) return nw_kernel_release(k), NULL;
  if (!k->launches) nw_walk_from(e->p->root, note_fallbacks, &(fallback){p->target, &k->notes});
  return k;
}

nw_kernel *nw_compile(nw_ctx *c, const nw_program *p, const nw_build_opts *o) {
  static const nw_build_opts usual = {.opt = 1};
  if (!p || nw_stopped(c) || !for_this_machine(c, p) || !nw_judge_harmless(p, "compiled")) return NULL;
  if (!backend_of(c, p)) return NULL;
  double start = nw_now();
  nw_exec *e = nw_lower(p, NULL);
  nw_kernel *k = e ? nw_compile_lowered(c, p, e, o ? o : &usual) : NULL;
  if (k) k->compile_ms = (nw_now() - start) * 1e3;
  return k;
}

nw_kernel *nw_kernel_retain(nw_kernel *k) {
  if (k) k->refs++;
  return k;
}

void nw_kernel_release(nw_kernel *k) {
  if (!k || --k->refs) return;
  if (k->backend && k->backend->unload) k->backend->unload(k);
  nw_str_free(&k->notes);
  for (int i = 0; i < k->ncases; i++) nw_kernel_release(k->one[i]);
  free(k->one);
  nw_choices_free(&k->choices);
  nw_formals_free(&k->formals);
  nw_exec_release(k->exec);
  if (k->source) nw_program_release(k->source);
  free(k->sizes);
  free(k->params);
  free(k->work);
  free(k->arg);
  free(k->stride);
  free(k);
}

const char *nw_kernel_notes(const nw_kernel *k) { return k->notes.s ? k->notes.s : ""; }

nw_target *nw_kernel_target(const nw_kernel *k) { return k->exec->p->target; }

int nw_kernel_params(const nw_kernel *k) { return k->formals.n; }

const char *nw_kernel_param(const nw_kernel *k, int i, bool *is_output) {
  if (is_output) *is_output = k->formals.at[i].output;
  return k->formals.at[i].name;
}

double nw_kernel_compile_ms(const nw_kernel *k) { return k->compile_ms; }

const char *nw_kernel_cpu(nw_kernel *k) {
  nw_jit *j = nw_session_jit(k->ctx, 0);
  return j ? nw_session_of(k->ctx)->api->cpu(j, k->exec->p->target) : NULL;
}

int nw_kernel_unsafe(const nw_kernel *k) {
  int n = k->exec->p->unsafe;
  for (int i = 0; i < k->ncases; i++) n = k->one[i]->exec->p->unsafe > n ? k->one[i]->exec->p->unsafe : n;
  return n;
}

int nw_kernel_tested(const nw_kernel *k) {
  int n = nw_program_tested(k->exec->p);
  for (int i = 0; i < k->ncases; i++) {
    int m = nw_program_tested(k->one[i]->exec->p);
    if (m && (!n || m < n)) n = m;
  }
  return n;
}

bool nw_kernel_was_cached(const nw_kernel *k) {
  bool all = k->cached || k->ncases;
  for (int i = 0; i < k->ncases; i++) all = all && k->one[i]->cached;
  return all;
}

int64_t nw_kernel_code_bytes(const nw_kernel *k) {
  int64_t n = k->backend && k->backend->bytes ? k->backend->bytes(k) : 0;
  for (int i = 0; i < k->ncases; i++) n += nw_kernel_code_bytes(k->one[i]);
  return n;
}

static char *with_marks(char *text, const nw_program *p, const char *comment) {
  nw_str b = {0};
  if (p->unsafe) nw_str_fmt(&b, "%s unsafe: steps that were not judged: %d\n", comment, p->unsafe);
  if (p->tested)
    nw_str_fmt(&b, "%s steps that were tested, not proved: %d, on %d values\n", comment, p->tested, p->values);
  nw_program_note_reducers(&b, p, comment);
  nw_str_add(&b, text);
  free(text);
  return nw_str_take(&b);
}

// Returns what begins a comment in a view.
static const char *comment_of(const char *what) {
  return !strncmp(what, "llvm", 4) ? ";" : !strcmp(what, "ptx") || !strcmp(what, "opencl") ? "//" : "#";
}

// Returns the view "lowered", "llvm" (after optimisation), "llvm-plain" (before optimisation), "asm", "ptx" or "opencl".
static char *text_of_one(nw_kernel *k, const char *what) {
  if (!strcmp(what, "lowered")) return nw_program_show(k->exec->p, NULL);
  char *text = k->backend->text(k, what);
  if (text) return with_marks(text, k->exec->p, comment_of(what));
  if (nw_error(k->ctx)) return NULL;
  return nw_fail(k->ctx, NW_EINVAL, k->backend->views, "a kernel for %s has no view '%s'",
                 k->exec->p->target->machine.name, what);
}

// Returns the texts of all versions, each after the condition under which the version runs.
static char *texts_of_cases(nw_kernel *k, const char *what) {
  nw_str b = {0};
  const char *comment = comment_of(what);
  for (int i = 0; i < k->ncases; i++) {
    char *text = text_of_one(k->one[i], what), *condition = nw_kernel_condition(k, i);
    if (text) nw_str_fmt(&b, "%s%s %s\n%s", i ? "\n" : "", comment, condition, text);
    free(condition);
    free(text);
    if (!text) return nw_str_free(&b), NULL;
  }
  return nw_str_take(&b);
}

char *nw_kernel_c(nw_kernel *k, const char *symbol) {
  if (!k->ncases) return nw_c_text(k->ctx, 1, (const nw_program *const *)&k->source, NULL, symbol);
  const nw_program **p = nw_xcalloc((size_t)k->ncases, sizeof *p);
  for (int i = 0; i < k->ncases; i++) p[i] = k->one[i]->source;
  char *text = nw_c_text(k->ctx, k->ncases, p, &k->choices, symbol);
  free(p);
  return text;
}

bool nw_kernel_fail_cases(nw_kernel *k, const char *language) {
  return nw_fail(
      k->ctx, NW_EINVAL, "s:checkout(n) goes to version n; then s:build() makes a kernel of this version alone",
      "a kernel of several versions cannot be written in %s, in which no code chooses one of them", language);
}

char *nw_kernel_cuda(nw_kernel *k, const char *symbol) {
  if (k->source) return nw_grid_text(k->ctx, k->source, "cuda", symbol);
  return nw_kernel_fail_cases(k, "CUDA C"), NULL;
}

char *nw_kernel_text(nw_kernel *k, const char *what) {
  if (!strcmp(what, "cuda")) return nw_kernel_cuda(k, NULL);
  if (!strcmp(what, "c")) return nw_kernel_c(k, NULL);
  if (!strcmp(what, "versions"))
    return k->ncases ? nw_choices_show(&k->choices, k->formals.size) : nw_xstrdup("version 1\n");
  return k->ncases ? texts_of_cases(k, what) : text_of_one(k, what);
}
