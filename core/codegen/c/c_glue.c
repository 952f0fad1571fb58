// Writes the C code around exported machine code. A kernel that the JIT compiled takes its arguments in a frame
// (nw_frame), and calls a run-time function for its parallel loops (codegen.h). This file writes C code that makes the
// frame, and C code for this run-time function.
#include "codegen/c/c.h"
#include <stdlib.h>

static const char frame[] =
    "typedef struct nw_frame {\n"
    "  void **params;\n"
    "  const int64_t *sizes;\n"
    "  void **work;\n"
    "  const int64_t *stride;\n"
    "  int threads;\n"
    "  void *runtime;\n"
    "  const char *name;\n"
    "} nw_frame;\n"
    "typedef void (*nw_body)(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread);\n"
    "#define NW_HIDDEN __attribute__((visibility(\"hidden\")))\n"
    "NW_HIDDEN void " NW_PARALLEL_SYMBOL "(nw_frame *f, nw_body body, void *captured, int64_t n, int64_t chunk);\n\n"
    "static void nw_share(nw_frame *f, nw_body body, void *captured, int64_t n, int64_t chunk, int64_t *next, int64_t "
    "t,\n"
    "                     int64_t threads) {\n"
    "  int64_t by = chunk < 0 ? -chunk : chunk, begin = n * t / threads, end = n * (t + 1) / threads;\n"
    "  if (!chunk && begin < end) body(f, captured, begin, end, t);\n"
    "  for (begin = t * by; chunk > 0 && begin < n; begin += threads * by)\n"
    "    body(f, captured, begin, n - begin < by ? n : begin + by, t);\n"
    "  while (chunk < 0) {\n"
    "#pragma omp atomic capture\n"
    "    { begin = *next; *next += by; }\n"
    "    if (begin >= n) break;\n"
    "    body(f, captured, begin, n - begin < by ? n : begin + by, t);\n"
    "  }\n"
    "}\n\n"
    "void " NW_PARALLEL_SYMBOL "(nw_frame *f, nw_body body, void *captured, int64_t n, int64_t chunk) {\n"
    "  int64_t next = 0;\n"
    "  if (f->threads == 1) {\n"
    "    nw_share(f, body, captured, n, chunk, &next, 0, 1);\n"
    "    return;\n"
    "  }\n"
    "#pragma omp parallel num_threads(f->threads)\n"
    "  nw_share(f, body, captured, n, chunk, &next, omp_get_thread_num(), omp_get_num_threads());\n"
    "}\n\n";

static void words(nwt *g, nw_str *out) {
  nw_str_fmt(out, "  const int64_t nw_sizes[%d] = {", g->p->nsizes + 1);
  for (int i = 0; i < g->p->nsizes; i++) nw_str_fmt(out, "%s, ", nwt_name(g, g->p->size[i].name));
  nw_str_add(out, "0};\n");
  nw_str_fmt(out, "  void *nw_params[%d] = {", g->p->nbuffers + 1);
  for (int i = 0; i < g->p->nbuffers; i++) {
    const nw_buffer *b = g->p->buffer[i];
    nw_str_fmt(out, b->role == NW_TEMP ? "0, " : "(void *)%s, ", nwt_name(g, b->name));
  }
  nw_str_fmt(out, "0};\n  void *nw_work[%d] = {0};\n  int64_t nw_stride[%d] = {0};\n", g->p->nbuffers + 1,
             g->p->nbuffers + 1);
}

// Writes code that allocates the workspace of buffer i, if the buffer has a workspace. The kernel assumes that the
// memory of each thread begins at a multiple of the cache line, so the code rounds up to 128 bytes. Returns true if the
// code may jump to the label nw_done.
static bool workspace(nwt *g, int i) {
  const nw_storage *s = &g->exec->storage[i];
  bool each = s->kind == NW_STORE_PER_THREAD;
  if (!each && s->kind != NW_STORE_WORKSPACE) return false;
  bool fits = nwt_surely_fits(s);
  if (fits) {
    nw_str_fmt(&g->out, "  nw_stride[%d] = ((int64_t)sizeof(%s) * ", i, nwt_type(s->dtype));
    nwt_operand(g, NW_OP_MUL, s->elements);
    nw_str_add(&g->out, " + 127) / 128 * 128;\n");
  } else {
    g->used[NWT_SIZE_ADD][NW_INDEX] = g->used[NWT_SIZE_MUL][NW_INDEX] = true;
    nw_str_fmt(&g->out, "  nw_stride[%d] = nw_size_add(nw_size_mul((int64_t)sizeof(%s), ", i, nwt_type(s->dtype));
    nwt_size(g, s->elements);
    nw_str_add(&g->out, ", &nw_big), 127, &nw_big) / 128 * 128;\n");
    nw_str_fmt(&g->out, "  (void)nw_size_mul(nw_size_add(nw_stride[%d], 128, &nw_big), nw_threads, &nw_big);\n", i);
    nw_str_add(&g->out, "  if (nw_big) { nw_bad = 3; goto nw_done; }\n");
  }
  nw_str_fmt(&g->out, "  nw_bad |= posix_memalign(&nw_work[%d], 128, (size_t)(nw_stride[%d] + 128)%s) != 0;\n", i, i,
             each ? " * (size_t)nw_threads" : "");
  return !fits;
}

// Writes the C function that makes the frame and calls version i of the kernel. If `checked` is true, the function also
// checks the sizes and the facts.
static void function(nwt *g, int i, bool checked, nw_str *all) {
  nw_str frame_words = {0};
  nw_str checks = {0};
  if (checked) nwt_check_sizes(g);
  nwt_check_arguments(g);
  nw_str_add(&checks, g->out.s ? g->out.s : "");
  nw_str_free(&g->out);
  bool gives_up = false;
  for (int k = 0; k < g->exec->nstorage; k++) gives_up |= workspace(g, k);
  words(g, &frame_words);
  nw_str_fmt(all, "NW_HIDDEN void " NW_ENTRY_SYMBOL "(nw_frame *f);\n\n%s", i, checked ? "" : "static ");
  nwt_prototype(g, all);
  nw_str_fmt(all, " {\n%s  int nw_bad = 0, nw_threads = nw_has_threads() ? omp_get_max_threads() : 1;\n%s%s", checks.s,
             frame_words.s, g->out.s ? g->out.s : "");
  nw_str_fmt(all, "  nw_frame nw_f = {nw_params, nw_sizes, nw_work, nw_stride, nw_threads, 0, \"%s\"};\n", g->kernel);
  nw_str_fmt(all, "  if (!nw_bad) " NW_ENTRY_SYMBOL "(&nw_f);\n", i);
  if (gives_up) nw_str_add(all, "nw_done:\n");
  nw_str_fmt(all, "  for (int nw_i = 0; nw_i < %d; nw_i++) free(nw_work[nw_i]);\n  return nw_bad;\n}\n",
             g->p->nbuffers);
  nw_str_free(&checks);
  nw_str_free(&frame_words);
}

static char *source(nwt *g, int n, nwt *version, const nw_choices *t) {
  nw_str all = {0}, functions = {0};
  for (int i = 0; i < n; i++) function(&version[i], i, n == 1, &functions);
  if (n > 1) {
    nwt_choose(g, n, version, t);
    nw_str_add(&functions, "\n");
    nwt_prototype(g, &functions);
    nw_str_add(&functions, g->out.s);
  }
  nw_str_add(&all, "#define _POSIX_C_SOURCE 200112L\n");
  nw_str_add(&all, nwt_includes);
  nw_str_add(&all, nwt_openmp);
  nw_str_add(&all, "\n");
  nw_str_add(&all, frame);
  nwt_use_all(g, n, version);
  nwt_helpers(g, &all);
  nw_str_add(&all, functions.s);
  nw_str_free(&functions);
  return nw_str_take(&all);
}

static char *header(nwt *g) {
  nw_str all = {0};
  nw_str_add(&all,
             NW_HEADER_MARK "\n#pragma once\n#include <stdint.h>\n\n#ifdef __cplusplus\n#define restrict __restrict\n"
                            "extern \"C\" {\n#endif\n\n");
  nwt_describe(g, &all);
  nwt_prototype(g, &all);
  nw_str_add(&all, ";\n\n#ifdef __cplusplus\n}\n#undef restrict\n#endif\n");
  return nw_str_take(&all);
}

bool nw_c_glue(int n, const nw_exec *const *e, const nw_choices *t, const char *symbol, nw_glue *out) {
  nwt *version = nw_xcalloc((size_t)n, sizeof *version), chooser;
  nwt_begin(&chooser, e[n - 1], symbol);
  chooser.exported = true;
  for (int i = 0; i < n; i++) nwt_begin(&version[i], e[i], symbol), version[i].exported = true;
  if (n > 1) nwt_name_versions(&chooser, n, version);
  *out = (nw_glue){.header = header(&chooser)};
  out->source = source(&chooser, n, version, t);
  bool good = !chooser.failed;
  for (int i = 0; i < n; i++) good = good && !version[i].failed, nwt_end(&version[i]);
  nwt_end(&chooser);
  free(version);
  if (good) return true;
  free(out->source);
  free(out->header);
  return false;
}
