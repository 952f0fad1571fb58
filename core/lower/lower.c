// Runs the passes of the table below on a scheduled program, and makes the executable program.
#include "ir/program/lanes.h"
#include "ir/text/lines.h"
#include "lower/pass.h"
#include <stdlib.h>

// ---- when passes run

static bool always(const nw_lowering *l) { return l->target != NULL; }
static bool copies_bodies(const nw_lowering *l) { return !l->keeps_loops; }
static bool makes_vectors(const nw_lowering *l) { return !l->keeps_loops && l->target->limit.lanes > 1; }

static const nw_pass passes[] = {
    {"cross", "gives each thread that shares a reduction a partial result of its own", nw_pass_cross, always},
    {"accumulate", "gives the lanes of a vector loop accumulators, if a reduction runs along the loop",
     nw_pass_accumulate, always},
    {"init", "moves the inits of reductions into statements of their own", nw_pass_init, always},
    {"barriers", "inserts barriers between threads of a block", nw_pass_barriers, always},
    {"async", "commits asynchronous copies in groups, and waits for a group before its elements are used",
     nw_pass_async, always},
    {"bounds", "shortens loops to the iterations in which the reduction inside gets a contribution", nw_pass_bounds,
     always},
    {"blocks", "turns blocks into stores with linear indices, and conditions into guards", nw_pass_blocks, always},
    {"pads", "writes the value of positions that hold no element of an output", nw_pass_pads, always},
    {"interleave", "turns virtual threads, and threads around barriers, into loops around each statement",
     nw_pass_interleave, always},
    {"guards", "moves guards out of loops on which they do not depend", nw_pass_guards, always},
    {"partition", "splits loops so that iterations that need no guard run without it", nw_pass_partition, always},
    {"vectorize", "turns vector loops into vector loads, operations and stores", nw_pass_vectorize, makes_vectors},
    {"storage", "places local temporaries on the stack and the others in workspaces", nw_pass_storage, always},
    {"masks", "removes masks from stack buffers in which no lane uses the elements of another", nw_pass_masks,
     makes_vectors},
    {"unroll", "replaces unrolled loops by their iterations", nw_pass_unroll, copies_bodies},
    {"simplify", "simplifies every expression, using the conditions and bounds around it", nw_pass_simplify, always},
    {"narrow", "shortens masked vectors to the lanes that run", nw_pass_narrow, makes_vectors},
    {"registers", "keeps elements that are updated under a mask in stack buffers during their updates",
     nw_pass_registers, makes_vectors},
    {"terms", "combines several terms of a minimum or maximum before they update the element", nw_pass_terms,
     copies_bodies},
    {"halves", "computes f16 and bf16 in f32", nw_pass_halves, always},
    {"extremes", "computes minimums and maximums by one comparison where NaN and the sign of 0 do not matter",
     nw_pass_extremes, always},
    {"fma", "turns products that are only added into fma", nw_pass_fma, always},
};

int nw_pass_count(void) { return NW_COUNT(passes); }

const nw_pass *nw_pass_at(int i) { return i >= 0 && i < NW_COUNT(passes) ? &passes[i] : NULL; }

static int pass_index(nw_ctx *c, const char *name) {
  nw_str known = {0};
  for (int i = 0; i < NW_COUNT(passes); i++) {
    if (!strcmp(passes[i].name, name)) {
      nw_str_free(&known);
      return i;
    }
    nw_str_fmt(&known, "%s%s", i ? ", " : "", passes[i].name);
  }
  nw_fail(c, NW_EINVAL, nw_diag_printf(c, "Passes: %s.", known.s), "there is no pass named \"%s\"", name);
  nw_str_free(&known);
  return -1;
}

// Passes replace vector and unrolled loops. This type says which of these loops are kept. NONE means that no loop is
// kept, and ALL that all are kept. LONG means that the unrolled loops are kept if the unrolled program is too long to
// be compiled.
typedef enum kept { NONE, ALL, LONG } kept;

static bool runs(const nw_pass *pass, const nw_program *p, kept loops) {
  nw_lowering l = {p->target, loops == ALL};
  bool too_long = loops == LONG && pass->run == nw_pass_unroll && nw_code_size(p->root) > NW_CODE_LIMIT;
  return !too_long && pass->applies(&l);
}

// Runs the passes up to number `last` on a copy of p. Returns NULL, with a diagnostic, if a pass fails.
static nw_program *run_passes(const nw_program *p, int last, kept loops) {
  nw_program *q = nw_program_clone(nw_without_units(p));
  q->step = 0;
  for (int i = 0; i <= last; i++) {
    if (!runs(&passes[i], q, loops)) continue;
    nw_program *next = nw_stopped(p->ctx) ? NULL : passes[i].run(q);
    if (!next) {
      nw_program_release(q);
      return NULL;
    }
    q = next;
  }
  return q;
}

static bool any_parallel(const nw_stmt *s) {
  bool any = s->kind == NW_LOOP && s->loop.mark == NW_PARALLEL;
  for (int i = 0; !any && i < s->nkids; i++) any = any_parallel(s->kid[i]);
  return any;
}

// Makes the executable program from q, and takes ownership of q.
static nw_exec *new_exec(nw_program *q) {
  nw_exec *e = nw_xcalloc(1, sizeof *e);
  e->refs = 1;
  e->instructions = nw_code_size(q->root);
  e->nstorage = q->nbuffers;
  e->storage = nw_storage_table(q);
  e->nfits = nw_products_of_sizes(q, &e->fits);
  e->parallel = any_parallel(q->root);
  e->p = q;
  return e;
}

static nw_exec *frozen(nw_exec *e) {
  e->p = nw_program_freeze(e->p);
  if (e->p) return e;
  nw_exec_release(e);
  return NULL;
}

// Runs the passes up to and including the pass named `until`. The result can be printed. It can be executed only if all
// passes have run.
static nw_exec *lower_until(const nw_program *p, const char *until, kept loops) {
  int last = pass_index(p->ctx, until);
  nw_program *q = last >= 0 ? run_passes(p, last, loops) : NULL;
  return q ? frozen(new_exec(q)) : NULL;
}

static nw_exec *lower_all(const nw_program *p) {
  nw_program *q = run_passes(p, nw_pass_count() - 1, NONE);
  if (!q) return NULL;
  nw_exec *e = new_exec(q);
  NW_MUST(nw_storage_agrees(q, e->storage));
  e->shown = nw_program_freeze(nw_program_clone(q));
  nw_strip_workspaces(q, q->root, e->storage);
  return e->shown ? frozen(e) : (nw_exec_release(e), NULL);
}

static void free_lowered(void *e) { nw_exec_release(e); }

// Stores e in p, so that p is lowered only once. e stays there even if the current call is aborted. Returns e.
static nw_exec *keep_lowered(const nw_program *p, nw_exec *e) {
  nw_program *own = (nw_program *)p;
  if (!e || !p->frozen) return e;
  nw_arena_keep(e->p->arena);
  nw_arena_keep(e->shown->arena);
  own->lowered = nw_exec_retain(e);
  own->lowered_free = free_lowered;
  return e;
}

// See lower.h. The caller must release the result.
nw_exec *nw_lower(const nw_program *p, const char *until) {
  if (!p) return NULL;
  if (until) return lower_until(p, until, NONE);
  return p->lowered ? nw_exec_retain(p->lowered) : keep_lowered(p, lower_all(p));
}

nw_program *nw_lower_lanes(const nw_program *p) {
  if (!nw_reduces_in_lanes(p->root)) return nw_program_retain(p);
  nw_program *q = nw_program_clone(p);
  if (nw_pass_accumulate(q)) return nw_program_freeze(q);
  nw_program_release(q);
  return NULL;
}

nw_exec *nw_lower_loops(const nw_program *p) {
  nw_program *q = p ? run_passes(p, nw_pass_count() - 1, ALL) : NULL;
  if (!q) return NULL;
  nw_exec *e = new_exec(q);
  NW_MUST(nw_storage_agrees(q, e->storage));
  return frozen(e);
}

nw_exec *nw_exec_retain(nw_exec *e) {
  if (e) e->refs++;
  return e;
}

void nw_exec_release(nw_exec *e) {
  if (!e || --e->refs) return;
  nw_program_release(e->p);
  nw_program_release(e->shown);
  free(e->storage);
  free(e->fits);
  free(e->clock);
  free(e);
}

static void *copied(const void *at, int n, size_t each) {
  void *copy = nw_xmalloc((size_t)n * each + 1);
  if (n > 0) memcpy(copy, at, (size_t)n * each);
  return copy;
}

nw_exec *nw_exec_with_clocks(const nw_exec *e, int n, const nw_stmt *const *loop) {
  nw_exec *out = copied(e, 1, sizeof *e);
  out->refs = 1;
  out->p = nw_program_retain(e->p);
  out->shown = e->shown ? nw_program_retain(e->shown) : NULL;
  out->storage = copied(e->storage, e->nstorage, sizeof *e->storage);
  out->fits = copied(e->fits, e->nfits, sizeof *e->fits);
  out->nclocks = n;
  out->clock = copied(loop, n, sizeof(const nw_stmt *));
  return out;
}

static bool is_long(const nw_exec *e) { return e->instructions > NW_CODE_LIMIT; }

// Returns the program that users see after `pass`, or after the last pass if `pass` is NULL. If the program is too long
// to be compiled, its unrolled loops are kept.
static nw_exec *shown_after(const nw_program *p, const char *pass) {
  if (!p) return NULL;
  nw_exec *known = p->lowered;
  if (!pass && known && !is_long(known)) return nw_exec_retain(known);
  return lower_until(p, pass ? pass : passes[NW_COUNT(passes) - 1].name, LONG);
}

static void note_length(nw_str *out, const nw_exec *e) {
  if (is_long(e))
    nw_str_fmt(out, "# about %ld instructions; more than %d are not compiled, so loops to unroll are shown as loops\n",
               (long)e->instructions, NW_CODE_LIMIT);
}

// Returns the text that shows a scheduled program to users after `pass`, or after the last pass if `pass` is NULL. In
// this text, workspaces are allocated where they are used, and a program that is too long to be compiled keeps its
// unrolled loops. Returns NULL, with a diagnostic, on failure.
char *nw_lower_text(nw_ctx *c, const nw_program *p, const char *pass) {
  (void)c;
  nw_exec *e = shown_after(p, pass);
  if (!e) return NULL;
  nw_str out = {0};
  note_length(&out, e);
  char *text = nw_program_show(e->shown ? e->shown : e->p, NULL);
  nw_str_add(&out, text);
  free(text);
  nw_exec_release(e);
  return nw_str_take(&out);
}

// Like nw_lower_text, but folds the statements that unrolled loops have repeated. See nw_folded.
char *nw_lower_folded(nw_ctx *c, const nw_program *p, const char *pass, int **id, int *n) {
  (void)c;
  nw_exec *e = shown_after(p, pass);
  if (!e) return NULL;
  nw_str out = {0};
  note_length(&out, e);
  char *text = nw_folded(e->shown ? e->shown : e->p, is_long(e), id, n);
  nw_str_add(&out, text);
  free(text);
  nw_exec_release(e);
  return nw_str_take(&out);
}

// Returns an array on the heap with an element for each line of nw_lower_text(c, p, NULL): the id of the line's
// statement, or 0. Sets *n to the number of lines. Returns NULL, with a diagnostic, on failure.
int *nw_lower_line_ids(nw_ctx *c, const nw_program *p, int *n) {
  (void)c;
  nw_exec *e = shown_after(p, NULL);
  if (!e) return NULL;
  nw_lines lines = {0};
  nw_program_lines(&lines, e->shown ? e->shown : e->p, &(nw_show_opts){.style = NW_TEXT_PLAIN});
  int first = is_long(e), *id = nw_xcalloc((size_t)(lines.n + first) + 1, sizeof *id);
  for (int i = 0; i < lines.n; i++) id[first + i] = lines.line[i].stmt;
  *n = lines.n + first;
  nw_lines_free(&lines);
  nw_exec_release(e);
  return id;
}
