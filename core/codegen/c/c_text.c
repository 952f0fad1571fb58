// Writes a program as standalone C99 with OpenMP. Loops stay loops, and vector loops are `omp simd`, so the text is
// readable and any compiler accepts it. The results of the C code are bit for bit those of the interpreter if two
// conditions hold. The compiler must not make an fma of a multiplication and an addition (-ffp-contract=off, or
// -std=c99). The program must not use exp, log, tanh, erf or pow.
#include "codegen/c/c.h"
#include "ir/program/reducer.h"
#include <stdlib.h>

bool nwt_fail(nwt *g, const char *fmt, ...) {
  va_list args;
  if (g->failed) return false;
  g->failed = true;
  va_start(args, fmt);
  nw_str why = {0};
  nw_str_vfmt(&why, fmt, args);
  va_end(args);
  const char *hint =
      nw_find_bound(g->p->root) ? "s:show \"lowered\" shows a grid; unmark removes a loop from it" : NULL;
  nw_fail(g->p->ctx, NW_ECODEGEN, hint, "%s", why.s);
  nw_str_free(&why);
  return false;
}

// ---- the head

static bool is_argument(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  const nw_buffer *b = nw_find_buffer(p, name);
  return b && b->role != NW_TEMP;
}

// Chooses the name of the function. The program often has the same name as its output, for example C. In this example,
// the function is named C_kernel.
static void name_kernel(nwt *g) {
  nw_str s = {0};
  const char *name = g->p->name ? g->p->name : "kernel";
  nw_str_fmt(&s, "%s%s", name, is_argument(g->p, name) ? "_kernel" : "");
  g->kernel = nwt_name(g, nw_pool_name(g->p->pool, s.s));
  nw_str_free(&s);
}

static void exprs(nw_str *out, int n, const nw_expr *const *e) {
  for (int d = 0; d < n; d++) {
    nw_str_add(out, d ? ", " : "");
    nw_expr_print(out, e[d]);
  }
}

// Describes the layout of a parameter: which position holds an element, and what the other positions hold.
static void layout(nw_str *out, const nw_buffer *b) {
  nw_str_fmt(out, "\n//     element (");
  for (int d = 0; d < b->ndim; d++) nw_str_fmt(out, "%s_%d", d ? ", " : "", d);
  nw_str_add(out, ") of [");
  exprs(out, b->ndim, (const nw_expr *const *)b->shape);
  nw_str_add(out, "] is at [");
  exprs(out, b->nlayout, (const nw_expr *const *)b->layout);
  nw_str_add(out, "]");
  if (b->role == NW_INPUT) nw_str_add(out, "; other positions are not read");
  if (b->role != NW_OUTPUT || !b->pad) return;
  nw_str_add(out, "; other positions get the value ");
  nw_expr_print(out, b->pad);
}

#define UNSAFE "// unsafe: steps of its schedule that were not judged: %d\n"
#define TESTED "// steps of its schedule that were tested, not proved: %d, on %d values\n"

void nwt_describe(nwt *g, nw_str *out) {
  if (g->p->unsafe) nw_str_fmt(out, UNSAFE, g->p->unsafe);
  if (g->p->tested) nw_str_fmt(out, TESTED, g->p->tested, g->p->values);
  nw_program_note_reducers(out, g->p, "//");
  nw_str_fmt(out, "// Made by Nestwright " NW_VERSION ". Tensors are row-major and must not overlap:\n");
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP) continue;
    nw_str_fmt(out, "//   %s %s: %s[", b->role == NW_INPUT ? "in " : "out", nwt_name(g, b->name),
               nw_dtype_name(b->dtype));
    exprs(out, nw_physical_dims(b), nw_physical_shape(b));
    nw_str_add(out, "]");
    if (b->nlayout) layout(out, b);
    nw_str_add(out, "\n");
  }
  nw_str_add(out, "// A pointer must be aligned for its type; it may be NULL only if its tensor has no elements.\n");
  if (g->exec->parallel)
    nw_str_add(out,
               "// Parallel loops use OpenMP's threads; a process forked after this was loaded uses one thread.\n");
  nwt_describe_codes(g, out);
}

void nwt_prototype(nwt *g, nw_str *out) {
  const char *between = "";
  nw_str_fmt(out, "int %s(", g->kernel);
  for (int i = 0; i < g->p->nsizes; i++, between = ", ")
    nw_str_fmt(out, "%sint64_t %s", between, nwt_name(g, g->p->size[i].name));
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP) continue;
    nw_str_fmt(out, "%s%s%s *restrict %s", between, b->role == NW_INPUT ? "const " : "", nwt_type(b->dtype),
               nwt_name(g, b->name));
    between = ", ";
  }
  nw_str_add(out, *between ? ")" : "void)");
}

// ---- sizes and workspaces

static bool is_made(const nw_storage *s) { return s->kind == NW_STORE_WORKSPACE || s->kind == NW_STORE_PER_THREAD; }

static const char *all(const nw_storage *s) { return s->kind == NW_STORE_PER_THREAD ? "_all" : ""; }

// Writes code that returns an error code if the bytes of a workspace overflow. This code runs before any workspace is
// allocated.
static void check_workspaces(nwt *g) {
  bool any = false;
  for (int i = 0; i < g->exec->nstorage; i++) {
    const nw_storage *s = &g->exec->storage[i];
    if (!is_made(s) || nwt_surely_fits(s)) continue;
    bool each = s->kind == NW_STORE_PER_THREAD;
    g->used[NWT_SIZE_ADD][NW_INDEX] = g->used[NWT_SIZE_MUL][NW_INDEX] = true;
    nw_str_add(&g->out, "  (void)nw_size_mul(nw_size_add(");
    nwt_size(g, s->elements);
    nw_str_fmt(&g->out, ", 1, &nw_big), (int64_t)sizeof(%s)%s, &nw_big);\n", nwt_type(s->dtype),
               each ? " * omp_get_max_threads()" : "");
    any = true;
  }
  if (any) nw_str_add(&g->out, "  if (nw_big) return 3;\n");
}

static int make_workspaces(nwt *g) {
  int n = 0;
  check_workspaces(g);
  for (int i = 0; i < g->exec->nstorage; i++) {
    const nw_storage *s = &g->exec->storage[i];
    const char *name = nwt_name(g, s->buffer);
    if (!is_made(s)) continue;
    n++;
    nw_str_fmt(&g->out, "  %s *restrict %s%s = malloc(sizeof(%s) * ((size_t)(", nwt_type(s->dtype), name, all(s),
               nwt_type(s->dtype));
    nwt_expr(g, s->elements);
    nw_str_fmt(&g->out, ")%s + 1));\n", s->kind == NW_STORE_PER_THREAD ? " * (size_t)omp_get_max_threads()" : "");
  }
  return n;
}

static void name_each(nwt *g, const char *before, const char *between, const char *after) {
  const char *first = "";
  for (int i = 0; i < g->exec->nstorage; i++) {
    const nw_storage *s = &g->exec->storage[i];
    if (!is_made(s)) continue;
    nw_str_fmt(&g->out, "%s%s%s%s%s", first, before, nwt_name(g, s->buffer), all(s), after);
    first = between;
  }
}

static void give_up(nwt *g) {
  nw_str_add(&g->out, "  if (");
  name_each(g, "!", " || ", "");
  nw_str_add(&g->out, ") {\n    ");
  name_each(g, "free(", " ", ");");
  nw_str_add(&g->out, "\n    return 1;\n  }\n");
}

static void function(nwt *g) {
  nw_str_add(&g->out, " {\n");
  nwt_check_sizes(g);
  nwt_check_arguments(g);
  int made = make_workspaces(g);
  if (made) give_up(g);
  g->depth = 1;
  nwt_stmt(g, g->p->root);
  if (made) {
    nw_str_add(&g->out, "  ");
    name_each(g, "free(", " ", ");");
    nw_str_add(&g->out, "\n");
  }
  nw_str_add(&g->out, "  return 0;\n}\n");
}

// ---- the whole text

const char nwt_includes[] = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n";
// A child process made by fork does not have OpenMP's threads, and would wait for them forever. So a child uses one
// thread. A process is a child if its id differs from the id of the process that loaded the code.
const char nwt_openmp[] =
    "#ifdef _OPENMP\n#include <omp.h>\n#include <unistd.h>\n"
    "static long nw_loaded_in;\n"
    "__attribute__((constructor)) static void nw_loaded(void) { nw_loaded_in = (long)getpid(); }\n"
    "static int nw_has_threads(void) { return nw_loaded_in == (long)getpid(); }\n"
    "#else\n#define omp_get_thread_num() 0\n#define omp_get_max_threads() 1\n#endif\n";

static bool any_parallel(int n, const nwt *g) {
  bool any = false;
  for (int i = 0; i < n; i++) any |= g[i].exec->parallel;
  return any;
}

// Returns the whole C text, on the heap. g is the public function; the n versions that it calls are written before it.
// If n is 0, g is the only function.
static char *whole(nwt *g, int n, nwt *version) {
  nw_str head = {0};
  nwt_describe(g, &head);
  nw_str_add(&head, nwt_includes);
  if (g->exec->parallel || any_parallel(n, version)) nw_str_add(&head, nwt_openmp);
  nwt_use_all(g, n, version);
  nwt_helpers(g, &head);
  for (int i = 0; i < n; i++) {
    nw_str_add(&head, "\n");
    if (version[i].p->unsafe && g->p->unsafe != version[i].p->unsafe) nw_str_fmt(&head, UNSAFE, version[i].p->unsafe);
    const nw_program *p = version[i].p;
    if (p->tested && g->p->tested != p->tested) nw_str_fmt(&head, TESTED, p->tested, p->values);
    nw_str_add(&head, "static ");
    nwt_prototype(&version[i], &head);
    nw_str_add(&head, version[i].out.s);
  }
  nw_str_add(&head, "\n");
  nwt_prototype(g, &head);
  nw_str_add(&head, g->out.s);
  return nw_str_take(&head);
}

void nwt_begin(nwt *g, const nw_exec *e) {
  nw_path root = {.n = 1, .at = {e->p->root}};
  *g = (nwt){.exec = e, .p = e->p};
  nw_ranges_init(&g->ranges, e->p->pool);
  nw_ranges_of(&g->ranges, e->p, &root);
  name_kernel(g);
}

void nwt_end(nwt *g) {
  nw_ranges_free(&g->ranges);
  nw_str_free(&g->out);
  for (int i = 0; i < g->c.n; i++) free(g->c.at[i]);
  nw_vec_free(&g->c);
  nw_vec_free(&g->ir);
}

static bool begin_all(int n, const nw_program *const *p, nwt *g) {
  for (int i = 0; i < n; i++) {
    nw_exec *e = nw_lower_loops(p[i]);
    if (!e) return false;
    nwt_begin(&g[i], e);
  }
  return true;
}

static void end_all(int n, nwt *g) {
  for (int i = 0; i < n; i++) {
    nw_exec *e = (nw_exec *)g[i].exec;
    if (!e) continue;
    nwt_end(&g[i]);
    nw_exec_release(e);
  }
}

char *nw_program_c(nw_ctx *c, const nw_program *p) {
  (void)c;
  nwt g = {0};
  char *text = NULL;
  if (begin_all(1, &p, &g)) {
    function(&g);
    text = g.failed ? NULL : whole(&g, 0, NULL);
  }
  end_all(1, &g);
  return text;
}

char *nw_versions_c(int n, const nw_program *const *p, const nw_choices *t) {
  nwt *g = nw_xcalloc((size_t)n, sizeof *g), chooser = {0};
  char *text = NULL;
  bool good = begin_all(n, p, g) && begin_all(1, &p[n - 1], &chooser);
  if (good) nwt_name_versions(&chooser, n, g);
  for (int i = 0; i < n && good; i++) {
    function(&g[i]);
    good = !g[i].failed;
  }
  if (good) {
    nwt_choose(&chooser, n, g, t);
    text = chooser.failed ? NULL : whole(&chooser, n, g);
  }
  end_all(n, g);
  end_all(1, &chooser);
  free(g);
  return text;
}
