// The back end that runs kernels on the simulated GPU. What the simulation finds is an error of the call.
#include "device/devices.h"
#include "device/gpu/run.h"
#include "run/gpu/backend.h"
#include "run/kernel.h"
#include "nestwright/sched.h"
#include <stdlib.h>

enum { MOST_THREADS = 64 }; // of this host

typedef struct keeping {
  nw_kernel *k;
  const nw_sched *steps;
} keeping;

static bool keep_step(void *env, nw_stmt *s) {
  const keeping *x = env;
  if (s->step <= 0) return true;
  if (s->step >= x->k->nsteps) {
    x->k->step = nw_xrealloc(x->k->step, (size_t)(s->step + 1) * sizeof *x->k->step);
    while (x->k->nsteps <= s->step) x->k->step[x->k->nsteps++] = NULL;
  }
  if (!x->k->step[s->step]) x->k->step[s->step] = nw_sched_step_text(x->steps, s->step);
  return true;
}

static bool compile(nw_kernel *k, const nw_build_opts *o) {
  int threads = o->threads > 0 ? o->threads : nw_host()->cores;
  k->opt = o->opt;
  k->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
  if (o->steps) nw_walk_from(k->exec->p->root, keep_step, &(keeping){k, o->steps});
  k->launches = nw_launches_of(k->exec);
  return k->launches != NULL;
}

static char *text(nw_kernel *k, const char *view) {
  return strcmp(view, "opencl") ? NULL : nw_grid_text(k->ctx, k->source, view, NULL);
}

// ---- running

// Adds the step that made the statement, or that bound the loop of a race.
static void add_step(nw_str *s, const nw_kernel *k, const nw_gpu_place *p) {
  const char *text = p->step > 0 && p->step < k->nsteps ? k->step[p->step] : NULL;
  if (text)
    nw_str_fmt(s, " (step %d: %s)", p->step, text);
  else if (p->step > 0)
    nw_str_fmt(s, " (step %d)", p->step);
  else if (p->id)
    nw_str_add(s, " (the statement is that of the definition)");
}

// Raises what the simulation found as an error, or returns true if it found nothing.
static bool accepted(nw_kernel *k, const nw_gpu_report *r) {
  int n = nw_gpu_findings(r);
  if (!n) return true;
  const nw_gpu_finding *f = nw_gpu_finding_at(r, 0);
  bool race = f->fault == NW_GPU_RACE || f->fault == NW_GPU_RACE_BLOCKS || f->fault == NW_GPU_RACE_COPY;
  char *sentence = nw_gpu_finding_text(f);
  nw_str more = {0};
  add_step(&more, k, &f->second);
  if (n > 1) nw_str_fmt(&more, "; and %d more", n - 1);
  nw_fail(k->ctx, race ? NW_ERACE : NW_EINVAL, "nw.simulate(s, {...}) returns all findings", "%s: %s%s",
          k->formals.callee, sentence, more.s ? more.s : "");
  nw_str_free(&more);
  free(sentence);
  return false;
}

static bool call(nw_kernel *k) {
  int n = k->exec->p->nbuffers, given = 0;
  nw_view *views = nw_xcalloc((size_t)n + 1, sizeof *views);
  for (int i = 0; i < n; i++)
    if (k->arg[i]) views[given++] = nw_view_of(k->arg[i]);
  nw_gpu_report *r = nwg_simulate(k->ctx, k->exec, k->sizes, views, &(nw_gpu_opts){.threads = k->threads});
  bool good = r && accepted(k, r);
  nw_gpu_report_free(r);
  free(views);
  return good;
}

static void unload(nw_kernel *k) {
  for (int i = 0; i < k->nsteps; i++) free(k->step[i]);
  free(k->step);
  nw_launches_free(k->launches);
}

// ---- the target

static bool is_simulated(const nw_machine *m) { return *m->gpu.simulates != 0; }

const nw_backend nwg_backend = {.name = "gpu",
                                .doc = "a simulated GPU, which counts accesses and finds races",
                                .compile = compile,
                                .text = text,
                                .call = call,
                                .unload = unload,
                                .begin = nw_device_begin,
                                .serves = is_simulated,
                                .views = "lowered, ptx, cuda or opencl",
                                .files = NW_GPU_FILES,
                                .untimed = "the simulated GPU counts, but it has no clock",
                                .counts = "s:gpu_counts() counts what costs time; s:retarget \"cuda\" or s:retarget "
                                          "\"opencl\" makes a schedule that a driver runs and times"};
