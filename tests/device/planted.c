// Compares how the simulated GPU and Oclgrind find races: both run programs and their mutants (mutants.c). Oclgrind runs the
// OpenCL C of the same lowered program, as the driver of the worker for OpenCL, and writes what it finds to a file.
//
// usage: planted RESULT LOG PROGRAM...
// PROGRAM: a file with a program whose loops are bound to a grid (s:show "full")
// LOG: the file to which Oclgrind writes (OCLGRIND_LOG)
// RESULT: gets three numbers: the mutants in which Oclgrind finds a race, those of them in which the simulated GPU finds
// none, and the programs without a mistake in which one of them finds a fault.
#include "codegen/c/c_dialect.h"
#include "device/gpu/run.h"
#include "mutants.h"
#include "run/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct found { // what one of them found
  bool ran, races, diverges, other;
} found;

typedef struct tally {
  int mutants, races, missed, diverged, only_simulated, harmless, unsound, failed;
} tally;

// ---- files

static char *read_text(const char *path) {
  FILE *f = fopen(path, "r");
  nw_str s = {0};
  char part[4096];
  nw_str_add(&s, "");
  for (size_t n; f && (n = fread(part, 1, sizeof part, f)) > 0;) nw_str_addn(&s, part, n);
  if (f) fclose(f);
  return nw_str_take(&s);
}

// ---- data

static int64_t elements_of(const nw_exec *e, int i) {
  int64_t n = 0;
  nw_eval_size(e->storage[i].elements, 0, NULL, NULL, &n);
  return n;
}

// Returns the arguments of a program without sizes. Numbers of inputs are small.
static nw_view *arguments_of(const nw_exec *e, int *n) {
  nw_view *v = nw_xcalloc((size_t)e->p->nbuffers + 1, sizeof *v);
  for (*n = 0; *n < e->p->nbuffers && e->p->buffer[*n]->role != NW_TEMP; ++*n) {
    const nw_buffer *b = e->p->buffer[*n];
    int64_t count = elements_of(e, *n);
    v[*n] = (nw_view){b->dtype, count, nw_xcalloc((size_t)count + 1, (size_t)nw_dtype_bytes(b->dtype))};
    for (int64_t k = 0; b->role == NW_INPUT && k < count; k++) {
      if (b->dtype == NW_F32) ((float *)v[*n].data)[k] = (float)((k * 7 + *n) % 13);
      if (b->dtype == NW_I32) ((int32_t *)v[*n].data)[k] = (int32_t)((k * 7 + *n) % 13);
    }
  }
  return v;
}

static void free_arguments(int n, nw_view *v) {
  for (int i = 0; i < n; i++) free(v[i].data);
  free(v);
}

// ---- the two

static found simulated(nw_ctx *c, const nw_exec *e) {
  found out = {0};
  int n;
  nw_view *v = arguments_of(e, &n);
  nw_gpu_report *r = nwg_simulate(c, e, NULL, v, &(nw_gpu_opts){.threads = 1});
  out.ran = r != NULL;
  for (int i = 0; r && i < nw_gpu_findings(r); i++) switch (nw_gpu_finding_at(r, i)->fault) {
    case NW_GPU_RACE:
    case NW_GPU_RACE_BLOCKS:
    case NW_GPU_RACE_COPY: out.races = true; break;
    case NW_GPU_DIVERGED: out.diverges = true; break;
    default: out.other = true; break;
    }
  if (r) nw_gpu_report_free(r);
  free_arguments(n, v);
  return out;
}

// Copies the arguments to the device, and launches the kernels.
static bool launch(nw_ctx *c, const nw_plan *plan, const nw_view *v, const nw_gpu_module *m, uint64_t *memory) {
  float ms;
  for (int i = 0; i < plan->nbuffers; i++) {
    const nw_plan_buffer *b = &plan->buffer[i];
    if (!b->read && !b->written) continue;
    if (!nw_gpu_alloc(c, NW_GPU_OPENCL, b->name, b->bytes, &memory[i])) return false;
    if (b->role == NW_INPUT && !nw_gpu_put(c, NW_GPU_OPENCL, memory[i], v[i].data, b->bytes)) return false;
  }
  return nw_gpu_run(c, NW_GPU_OPENCL, m, plan, memory, 1, &ms);
}

static found by_oclgrind(nw_ctx *c, const nw_exec *e, const char *log) {
  found out = {0};
  int n;
  nw_view *v = arguments_of(e, &n);
  nw_launches *l = nw_launches_of(e);
  char *text = l ? nwk_text(e, &nwk_opencl, NULL) : NULL;
  nw_plan *plan = text ? nw_plan_of(e, l, NULL) : NULL;
  nw_gpu_module m = {0};
  uint64_t *memory = nw_xcalloc((size_t)e->p->nbuffers + 1, sizeof *memory);
  out.ran = plan && nw_gpu_load(c, NW_GPU_OPENCL, &m, l, text) && launch(c, plan, v, &m, memory);
  char *said = read_text(log);
  out.races = strstr(said, "data race") != NULL;
  out.diverges = strstr(said, "divergence") != NULL;
  free(said);
  nw_gpu_unload(c, NW_GPU_OPENCL, &m);
  nw_plan_free(plan);
  nw_launches_free(l);
  free(text);
  free(memory);
  free_arguments(n, v);
  return out;
}

// ---- a mutant

static const char *said(const found *f) {
  if (!f->ran) return "did not run it";
  if (f->races) return f->diverges ? "found a race and a divergent barrier" : "found a race";
  return f->diverges ? "found a divergent barrier" : f->other ? "found another fault" : "found nothing";
}

static void count(tally *t, const char *program, const char *mutant, const found *ours, const found *theirs) {
  bool missed = (theirs->races && !ours->races) || (theirs->diverges && !ours->diverges);
  t->mutants++;
  t->races += theirs->races, t->diverged += theirs->diverges;
  t->missed += missed, t->failed += !ours->ran || !theirs->ran;
  t->only_simulated += ours->races && theirs->ran && !theirs->races && !theirs->diverges;
  t->harmless += ours->ran && theirs->ran && !ours->races && !theirs->races && !ours->diverges && !theirs->diverges;
  if (missed || !ours->ran || !theirs->ran || (ours->races && !theirs->races && !theirs->diverges))
    printf("%s, %s: Oclgrind %s, the simulated GPU %s\n", program, mutant, said(theirs), said(ours));
}

// Runs mutant n of a program, or the program itself if n is -1. Returns false if there is no such mutant. Each has a worker of
// its own, because Oclgrind prints only a limited number of messages.
static bool try_mutant(const char *name, const char *text, int n, const char *log, tally *t) {
  nw_ctx *c = nw_open();
  nw_pool *pool = nw_pool_new(c);
  nw_program *p = nw_program_parse(c, pool, text);
  nw_exec *whole = nw_lower_loops(p), *e = whole;
  char mutant[MUTANT_NAME] = "no mistake";
  if (whole && n >= 0) e = mutant_of(whole, n, mutant);
  if (!whole) {
    printf("%s: %s\n", name, nw_error(c) ? nw_error(c)->message : "not lowered");
    t->unsound++;
  }
  if (e) {
    unlink(log);
    found ours = simulated(c, e);
    if (!ours.ran) printf("%s, %s: %s\n", name, mutant, nw_error(c) ? nw_error(c)->message : "?");
    nw_clear(c);
    found theirs = by_oclgrind(c, e, log);
    if (!theirs.ran) printf("%s, %s: %s\n", name, mutant, nw_error(c) ? nw_error(c)->message : "?");
    nw_clear(c);
    bool clean =
        ours.ran && theirs.ran && !ours.races && !ours.diverges && !ours.other && !theirs.races && !theirs.diverges;
    if (n >= 0)
      count(t, name, mutant, &ours, &theirs);
    else if (!clean)
      t->unsound++, printf("%s, no mistake: Oclgrind %s, the simulated GPU %s\n", name, said(&theirs), said(&ours));
  }
  bool more = e != NULL;
  if (e != whole) nw_exec_release(e);
  nw_exec_release(whole);
  nw_program_release(p);
  nw_pool_release(pool);
  nw_close(c);
  return more;
}

int main(int n, char **args) {
  tally t = {0};
  if (n < 4) return fprintf(stderr, "usage: planted RESULT LOG PROGRAM...\n"), 2;
  for (int i = 3; i < n; i++) {
    char *text = read_text(args[i]);
    const char *slash = strrchr(args[i], '/');
    for (int k = -1; try_mutant(slash ? slash + 1 : args[i], text, k, args[2], &t); k++) {}
    free(text);
  }
  printf("planted faults in %d programs: %d mutants; Oclgrind finds a race in %d and a divergent barrier in %d, of "
         "which the "
         "simulated GPU misses %d; it alone finds a race in %d; %d have no fault, %d did not run\n",
         n - 3, t.mutants, t.races, t.diverged, t.missed, t.only_simulated, t.harmless, t.failed);
  FILE *out = fopen(args[1], "w");
  if (!out) return 1;
  fprintf(out, "%d %d %d\n", t.races, t.missed + t.failed, t.unsound);
  return fclose(out) ? 1 : 0;
}
