// Writes a program as standalone C99 with OpenMP. The text has two forms. In one, vectors have the vector types of GNU C,
// and unrolled loops are expanded, as in machine code. In the other, which any compiler accepts, loops stay loops, and
// vector loops are `omp simd`. A program without vectors has only this form. The results of the C code are bit for bit
// those of the interpreter if two conditions hold. The compiler must not make an fma of a multiplication and an addition
// (-ffp-contract=off, or -std=c99). The program must not use exp, log, tanh, erf or pow.
#include "codegen/c/c_vector.h"
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

// Chooses the name of the function, if the user gave no name. The program often has the same name as its output, for
// example C. In this example, the function is named C_kernel.
static void name_kernel(nwt *g, const char *symbol) {
  nw_str s = {0};
  if (symbol) {
    nw_vec_push(&g->ir, (void *)nw_pool_name(g->p->pool, "the symbol")); // no tensor has a name with a space
    nw_vec_push(&g->c, nw_xstrdup(symbol));
    g->kernel = g->c.at[0];
    return;
  }
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

void nwt_describe_tensors(nwt *g, nw_str *out) {
  if (g->p->unsafe) nw_str_fmt(out, UNSAFE, g->p->unsafe);
  if (g->p->tested) nw_str_fmt(out, TESTED, g->p->tested, g->p->values);
  nw_program_note_reducers(out, g->p, "//");
  bool strides = false;
  for (int i = 0; i < g->p->nbuffers; i++) strides |= g->p->buffer[i]->pitch != NULL;
  nw_str_fmt(out, "// Made by Nestwright " NW_VERSION ". Tensors are row-major%s and must not overlap:\n",
             strides ? ", except those with strides (in elements)," : "");
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    if (b->role == NW_TEMP) continue;
    nw_str_fmt(out, "//   %s %s: %s[", b->role == NW_INPUT ? "in " : "out", nwt_name(g, b->name),
               nw_dtype_name(b->dtype));
    exprs(out, nw_physical_dims(b), nw_physical_shape(b));
    nw_str_add(out, "]");
    if (b->nlayout) layout(out, b);
    if (b->pitch) {
      nw_str_add(out, " with strides [");
      exprs(out, b->ndim, (const nw_expr *const *)b->pitch);
      nw_str_add(out, "]");
    }
    nw_str_add(out, "\n");
  }
}

void nwt_describe(nwt *g, nw_str *out) {
  nwt_describe_tensors(g, out);
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
  nwt_body(g);
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

// The functions of one form of the text: one for each version of the kernel.
typedef struct form {
  int n;
  nwt *version;
  nwt_vectors *vectors; // NULL in the plain form
} form;

static bool any_parallel(const form *f) {
  bool any = false;
  for (int i = 0; i < f->n; i++) any |= f->version[i].exec->parallel;
  return any;
}

// Writes the functions. If there are several, they are called by another function, g.
static void write_functions(const form *f, const nwt *g, nw_str *out) {
  for (int i = 0; i < f->n; i++) {
    nwt *v = &f->version[i];
    const nw_program *p = v->p;
    nw_str_add(out, "\n");
    if (g && p->unsafe && g->p->unsafe != p->unsafe) nw_str_fmt(out, UNSAFE, p->unsafe);
    if (g && p->tested && g->p->tested != p->tested) nw_str_fmt(out, TESTED, p->tested, p->values);
    if (g) nw_str_add(out, "static ");
    nwt_prototype(v, out);
    nw_str_add(out, v->out.s);
  }
}

// Says how to compile the text so that it is quick and its results are exact.
static void describe_flags(const nwt *g, bool parallel, bool vectors, nw_str *out) {
  const nw_target *t = g->p->target;
  bool here = nw_target_here(t), x86 = t->machine.isa == NW_ISA_X86_64;
  const char *omp = parallel ? " -fopenmp" : vectors ? "" : " -fopenmp-simd";
  nw_str_fmt(out, "// Compile it with: gcc -O3 %s%s -ffp-contract=off%s; link it with -lm.\n",
             here || x86 ? "-march=" : "-mcpu=", here ? "native" : t->machine.cpu, omp);
  if (vectors)
    nw_str_add(out,
               "// Other compilers than gcc and clang, and -DNW_PLAIN, compile plain loops (add -fopenmp-simd).\n");
}

// Returns the whole C text, on the heap. g calls one of several versions; it is NULL if there is only one. `quick` has
// no versions if the text has only the plain form.
static char *whole(nwt *g, const form *plain, const form *quick) {
  nwt *top = g ? g : plain->version;
  nw_str head = {0};
  bool parallel = top->exec->parallel || any_parallel(plain);
  nwt_describe(top, &head);
  describe_flags(top, parallel, quick->n > 0, &head);
  nw_str_add(&head, nwt_includes);
  if (parallel) nw_str_add(&head, nwt_openmp);
  nwt_use_all(top, plain->n, plain->version);
  nwt_use_all(top, quick->n, quick->version);
  nwt_helpers(top, &head);
  if (quick->n) {
    nw_str_add(&head, "\n#if defined(__GNUC__) && !defined(NW_PLAIN)\n");
    nwv_write(quick->version, &head);
    write_functions(quick, g, &head);
    nw_str_add(&head, "\n#else\n");
  }
  write_functions(plain, g, &head);
  if (quick->n) nw_str_add(&head, "#endif\n");
  if (g) {
    nw_str_add(&head, "\n");
    nwt_prototype(g, &head);
    nw_str_add(&head, g->out.s);
  }
  return nw_str_take(&head);
}

void nwt_begin_with(nwt *g, const nw_exec *e, const nw_program *p, const char *symbol, nwt_vectors *vectors) {
  nw_path root = {.n = 1, .at = {p->root}};
  *g = (nwt){.exec = e, .p = p, .vectors = vectors};
  nw_ranges_init(&g->ranges, p->pool);
  nw_ranges_of(&g->ranges, p, &root);
  name_kernel(g, symbol);
}

void nwt_begin(nwt *g, const nw_exec *e, const char *symbol) { nwt_begin_with(g, e, e->p, symbol, NULL); }

void nwt_end(nwt *g) {
  nw_ranges_free(&g->ranges);
  nw_str_free(&g->out);
  for (int i = 0; i < g->c.n; i++) free(g->c.at[i]);
  nw_vec_free(&g->c);
  nw_vec_free(&g->ir);
}

// ---- the two forms

enum { MOST_CODE = 8000 }; // limit on the estimated instructions of a text in which loops are expanded

static bool has_vectors(nw_ctx *c, const nw_stmt *s) {
  const nw_intrinsic *in = s->kind == NW_CALL ? nw_intrinsic_find(c, s->call.intrinsic) : NULL;
  bool any = (in && in->shuffles) || (s->kind == NW_STORE && s->store.index->type.lanes > 1);
  for (int i = 0; i < s->nkids && !any; i++) any = has_vectors(c, s->kid[i]);
  return any;
}

static form new_form(int n, nwt_vectors *vectors) {
  return (form){.version = nw_xcalloc((size_t)n, sizeof(nwt)), .vectors = vectors};
}

static void free_form(form *f) {
  for (int i = 0; i < f->n; i++) {
    nw_exec *e = (nw_exec *)f->version[i].exec;
    nwt_end(&f->version[i]);
    nw_exec_release(e);
  }
  free(f->version);
  if (f->vectors) nw_str_free(&f->vectors->own), nw_vec_free(&f->vectors->known);
  free(f->vectors);
  *f = (form){0};
}

static void drop(form *f) {
  free_form(f);
  f->version = NULL;
}

// Lowers a program and begins its function. Returns false if this form of the text cannot be written.
static bool begin_version(form *f, const nw_program *p, const char *symbol) {
  nw_exec *e = f->vectors ? nw_lower(p, NULL) : nw_lower_loops(p);
  if (!e) return false;
  nwt_begin_with(&f->version[f->n++], e, f->vectors ? e->shown : e->p, symbol, f->vectors);
  return !f->vectors || e->instructions <= MOST_CODE;
}

static bool any_vectors(const form *f) {
  bool any = false;
  for (int i = 0; i < f->n && !any; i++) any = has_vectors(f->version[i].p->ctx, f->version[i].p->root);
  return any;
}

// Writes the functions of a form. `g` names them if there are several. Returns false, with a diagnostic, on failure.
static bool make_form(form *f, nwt *g, int n, const nw_program *const *p, const char *symbol) {
  bool good = true;
  for (int i = 0; i < n && good; i++) good = begin_version(f, p[i], symbol);
  if (!good || (f->vectors && !any_vectors(f))) return false;
  if (g) nwt_name_versions(g, n, f->version);
  for (int i = 0; i < n && good; i++) {
    function(&f->version[i]);
    good = !f->version[i].failed;
  }
  return good;
}

// Makes the form with vectors. If the program has no vectors, or if the form would be too long, the result has no
// versions, and the text has only the plain form. The same happens if the form cannot be written.
static form quick_form(nw_ctx *c, nwt *g, int n, const nw_program *const *p, const char *symbol) {
  form f = new_form(n, nw_xcalloc(1, sizeof(nwt_vectors)));
  f.vectors->register_bytes = nw_features_vector_bytes(p[0]->target->features);
  if (make_form(&f, g, n, p, symbol)) return f;
  if (!nw_stopped(c)) nw_clear(c);
  drop(&f);
  return f;
}

bool nwt_has_c(nw_ctx *c, const nw_program *p) {
  const nw_machine *m = &p->target->machine;
  return m->kind != NW_MACHINE_ACCELERATOR || nw_fail(c, NW_EINVAL, "s:show \"stream\" shows its instructions",
                                                      "%s is an accelerator; its schedules have no text in C", m->name);
}

char *nw_c_text(nw_ctx *c, int n, const nw_program *const *p, const nw_choices *t, const char *symbol) {
  if (!nwt_has_c(c, p[0])) return NULL;
  form chooser = new_form(1, NULL), plain = new_form(n, NULL), quick = {0};
  char *text = NULL;
  nwt *g = n > 1 && begin_version(&chooser, p[n - 1], symbol) ? chooser.version : NULL;
  bool good = (n == 1 || g) && make_form(&plain, g, n, p, symbol);
  if (good) quick = quick_form(c, g, n, p, symbol);
  if (good && g) nwt_choose(g, n, plain.version, t);
  if (good && !(g && g->failed) && !nw_stopped(c)) text = whole(g, &plain, &quick);
  free_form(&quick);
  free_form(&plain);
  free_form(&chooser);
  return text;
}

char *nw_program_c(nw_ctx *c, const nw_program *p) { return p ? nw_c_text(c, 1, &p, NULL, NULL) : NULL; }

bool nw_c_symbol_given(nw_ctx *c, const char *symbol) {
  if (nwt_is_free(symbol)) return true;
  return nw_fail(c, NW_EINVAL, "use letters, digits and _, as in symbol = \"gemm\"",
                 "export: symbol: '%s' cannot be the name of a C function", symbol);
}
