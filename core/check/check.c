// nw_check compares a schedule with its definition. It computes the results in four ways, on the same data:
//
//   the definition         the tensor expressions are evaluated without a program
//   the scheduled program  the interpreter runs it
//   the lowered program    the interpreter runs it; the results equal those of the compiled program bit for bit
//   the compiled program   runs as machine code; omitted for a grid, and for a target that is not this host
//
// If a program without symbolic sizes is too large to interpret, only the compiled program runs. Its results are
// compared with the definition at the corners of the outputs and at random points.
#include "check/inside.h"
#include <stdlib.h>

typedef struct job {
  nw_ctx *c;
  nw_sched *s;
  const nw_program *naive, *p;
  nw_exec *exec;
  nw_kernel *kernel;
  nw_check_bound bound;
  nw_str *report;
  bool mismatch;
} job;

static bool interpret(job *j, const int64_t *sizes, const nw_check_data *d, bool lowered) {
  nw_view *v = nw_check_views(d);
  bool ok = lowered ? nw_interp_exec(j->c, j->exec, sizes, v, NULL) : nw_interp_program(j->c, j->p, sizes, v, NULL);
  free(v);
  return ok;
}

// ---- one shape

typedef enum way { DEFINITION, SCHEDULED, LOWERED, COMPILED, WAYS } way;
static const char *const way_name[] = {"the definition", "the scheduled program", "the lowered program",
                                       "the compiled program"};

// Runs the lowered program, interpreted or compiled, on arguments in the layouts of the schedule.
static bool run_laid_out(job *j, bool compiled, const int64_t *sizes, nw_check_data *d) {
  nw_check_data packed;
  bool good = nw_check_pack(&packed, j->p, sizes, d) &&
              (compiled ? nw_kernel_call(j->kernel, packed.n, packed.array) : interpret(j, sizes, &packed, true)) &&
              nw_check_unpack(d, j->p, sizes, &packed);
  nw_check_data_free(&packed);
  return good;
}

static bool run_way(job *j, way w, const int64_t *sizes, nw_check_data *d) {
  switch (w) {
  case DEFINITION: return nw_check_define(j->c, j->s, j->p, sizes, d);
  case SCHEDULED: return interpret(j, sizes, d, false);
  default: return run_laid_out(j, w == COMPILED, sizes, d);
  }
}

static void report_difference(job *j, way a, const nw_check_data *x, way b, const nw_check_data *y, int param,
                              int64_t at) {
  char *element = nw_check_element(j->p->buffer[param]->name, x->array[param], at);
  nw_str_fmt(j->report, "differs: %s is %.9g in %s, %.9g in %s\n", element, nw_array_get(x->array[param], at),
             way_name[a], nw_array_get(y->array[param], at), way_name[b]);
  if (!j->mismatch) {
    nw_fail(j->c, NW_EMISMATCH, NULL, "%s is %.9g in %s, %.9g in %s", element, nw_array_get(x->array[param], at),
            way_name[a], nw_array_get(y->array[param], at), way_name[b]);
  }
  j->mismatch = true;
  free(element);
}

static bool compare(job *j, way a, const nw_check_data *x, way b, const nw_check_data *y, nw_check_bound bound) {
  for (int i = nw_check_inputs(j->p); i < x->n; i++) {
    int64_t at = nw_check_differs(x->array[i], y->array[i], bound);
    if (at < 0) continue;
    report_difference(j, a, x, b, y, i, at);
    return false;
  }
  return true;
}

static int64_t outputs_of(const job *j, const nw_check_data *d) {
  int64_t n = 0;
  for (int i = nw_check_inputs(j->p); i < d->n; i++) n += nw_array_count(d->array[i]);
  return n;
}

static int ways(const job *j) { return j->kernel ? WAYS : COMPILED; }

static bool run_all(job *j, const int64_t *sizes, nw_check_data *d) {
  if (!nw_check_data_make(&d[0], j->p, sizes, 1)) return false;
  for (int w = 0; w < ways(j); w++) {
    if (w && !nw_check_data_outputs(&d[w], j->p, &d[0])) return false;
    if (!run_way(j, (way)w, sizes, &d[w])) {
      nw_str_fmt(j->report, "failed in %s: %s\n", way_name[w], nw_error(j->c) ? nw_error(j->c)->message : "?");
      return false;
    }
  }
  return true;
}

// Returns false, which ends the search, if the statement is a call of an intrinsic. Intrinsics may add in any order.
static bool find_call(void *env, nw_stmt *s) {
  (void)env;
  return s->kind != NW_CALL;
}

// Returns how closely the compiled program must agree with the interpreter. They must agree bit for bit, except if
// floats may be added in any order.
static nw_check_bound native_bound(const job *j) {
  if (!nw_walk_from(j->p->root, find_call, NULL)) return NW_CHECK_NEAR;
  return nw_check_any_order(nw_sched_program(j->s)) ? j->bound : NW_CHECK_BITS;
}

// Checks a shape. Returns false only if something could not be run. A mismatch is recorded, and the check continues
// with the other shapes.
static bool check_shape(job *j, const int64_t *sizes) {
  nw_check_data d[WAYS] = {0};
  char *text = nw_check_shape_text(j->p, sizes);
  nw_str_fmt(j->report, "%s: ", text);
  bool ran = run_all(j, sizes, d);
  bool same = ran && compare(j, DEFINITION, &d[DEFINITION], SCHEDULED, &d[SCHEDULED], j->bound) &&
              compare(j, SCHEDULED, &d[SCHEDULED], LOWERED, &d[LOWERED], j->bound) &&
              (!j->kernel || compare(j, LOWERED, &d[LOWERED], COMPILED, &d[COMPILED], native_bound(j)));
  if (same) nw_str_fmt(j->report, "%lld outputs agree\n", (long long)outputs_of(j, &d[0]));
  for (int w = 0; w < WAYS; w++) nw_check_data_free(&d[w]);
  free(text);
  return ran;
}

// ---- a shape too large to interpret

static const char SMALLER[] =
    "replay the steps on small or symbolic sizes, and check those: t:replay(s:trace \"json\")";

typedef struct points {
  job *j;
  const nw_check_data *d;
  nw_view *views;
  const char **names;
  const int64_t *sizes;
  double until;
  int checked;
} points;

static void coordinates(const nw_array *a, uint64_t h, int k, int64_t *index) {
  for (int d = 0; d < a->ndim; d++) {
    h = nw_hash_mix(h, (uint64_t)d + 1);
    bool corner = k < 1 << a->ndim && a->ndim < 8;
    index[d] = corner ? ((k >> d) & 1) * (a->shape[d] - 1) : (int64_t)(h % (uint64_t)a->shape[d]);
  }
}

static bool check_point(points *q, int output, int k) {
  job *j = q->j;
  int param = nw_check_inputs(j->p) + output;
  const nw_array *a = q->d->array[param];
  int64_t index[NW_MAX_DEPTH];
  double want;
  coordinates(a, nw_hash_mix((uint64_t)output, (uint64_t)k), k, index);
  if (!nw_naive_point(j->c, j->s->output[output], q->names, q->sizes, j->p->nsizes, nw_check_inputs(j->p), q->views,
                      index, &want))
    return false;
  double got = nw_array_get(a, nw_check_flat(a, index));
  q->checked++;
  if (!nw_check_value_differs(a->dtype, want, got, j->bound)) return true;
  char *element = nw_check_element(j->p->buffer[param]->name, a, nw_check_flat(a, index));
  nw_str_fmt(j->report, "differs: %s is %.9g in the definition, %.9g in the compiled program\n", element, want, got);
  nw_fail(j->c, NW_EMISMATCH, NULL, "%s is %.9g in the definition, %.9g in the compiled program", element, want, got);
  j->mismatch = true;
  free(element);
  return false;
}

static bool check_points(points *q) {
  for (int k = 0; k < NW_CHECK_POINTS && nw_now() < q->until; k++) {
    for (int o = 0; o < q->j->s->noutputs; o++) {
      if (nw_stopped(q->j->c)) return false;
      if (q->d->array[nw_check_inputs(q->j->p) + o]->count && !check_point(q, o, k)) return false;
    }
  }
  nw_str_fmt(
      q->j->report,
      "%d of %lld outputs, corners included, agree in the definition and the compiled program; the program is too "
      "large to interpret, so its scheduled and lowered forms were not run\n",
      q->checked, (long long)outputs_of(q->j, q->d));
  return true;
}

static bool check_large(job *j, const int64_t *sizes) {
  nw_check_data d;
  char *text = nw_check_shape_text(j->p, sizes);
  nw_str_fmt(j->report, "%s: ", text);
  free(text);
  bool ok = nw_check_data_make(&d, j->p, sizes, 1) && run_laid_out(j, true, sizes, &d);
  if (ok) {
    points q = {.j = j, .d = &d, .sizes = sizes, .until = nw_now() + 2};
    q.views = nw_check_views(&d);
    q.names = nw_check_size_names(j->p);
    ok = check_points(&q) || j->mismatch;
    free(q.views);
    free(q.names);
  }
  if (!ok) nw_str_fmt(j->report, "failed: %s\n", nw_error(j->c) ? nw_error(j->c)->message : "?");
  nw_check_data_free(&d);
  return ok;
}

// Checks a program without symbolic sizes that is too large to interpret. If the program cannot be run at all, the hint
// of the error says that the same steps can be checked on smaller sizes.
static bool check_constant(job *j) {
  if (!j->kernel && !nw_target_here(j->p->target))
    return nw_fail(j->c, NW_ELIMIT, SMALLER, "too large to interpret, and this host cannot run code for %s",
                   j->p->target->machine.name);
  if (!j->kernel)
    return nw_fail(j->c, NW_ELIMIT, SMALLER, "too large to interpret, and only the interpreter runs a grid");
  bool ok = check_large(j, (int64_t[]){0});
  nw_diag *d = &j->c->diag;
  if (!ok && !j->mismatch && d->code == NW_EMEMORY) {
    d->message = nw_diag_printf(j->c, "nothing was checked: %s", d->message);
    d->hint = SMALLER;
  }
  return ok;
}

// ---- all shapes

static bool check_shapes(job *j) {
  int64_t *row[NW_CHECK_SHAPES];
  int n = nw_check_shapes(j->naive, j->p, NW_CHECK_SHAPES, row);
  bool ok = true;
  for (int i = 0; ok && i < n; i++) ok = check_shape(j, row[i]);
  for (int i = 0; i < n; i++) free(row[i]);
  if (n) return ok;
  if (!j->p->nsizes) return check_constant(j);
  return nw_fail(j->c, NW_ELIMIT, NULL, "no small shape satisfies the facts about the sizes");
}

// Returns true if all results agree. If `report` is not NULL, stores a heap string in *report. The string has a line
// for each shape, which names the first element that differs, if any.
bool nw_check(nw_ctx *c, nw_sched *s, char **report) {
  nw_str text = {0};
  if (report) *report = NULL;
  if (!s) return false;
  job j = {.c = c, .s = s, .naive = nw_sched_version(s, 0), .p = nw_sched_program(s), .report = &text};
  j.bound = nw_check_bound_of_sched(s);
  j.exec = nw_lower(j.p, NULL);
  bool compiled = !nw_find_bound(j.p->root) && nw_target_here(j.p->target);
  j.kernel = j.exec && compiled ? nw_compile(c, j.p, NULL) : NULL;
  bool ok = j.exec && (j.kernel || !compiled) && check_shapes(&j) && !j.mismatch;
  if (ok && j.p->target->machine.kind == NW_MACHINE_ACCELERATOR)
    nw_str_fmt(&text, "the instructions of %s were not executed: s:stream():run() does this\n",
               j.p->target->machine.name);
  nw_kernel_release(j.kernel);
  nw_exec_release(j.exec);
  if (report) *report = nw_str_take(&text);
  nw_str_free(&text);
  return ok;
}
