// Registers an intrinsic: reads its description, compiles or loads its implementation, and tests it.
#include "base/file.h"
#include "check/trial.h"
#include "codegen/shuffle.h"
#include "run/cc.h"
#include "run/temp.h"
#include "te/te.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define LIBRARY_MOST ((size_t)1 << 30)
#define MOST_WORK 2000000 // limit on the block executions of a description, which is interpreted several times

// ---- the description

static bool read_args(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s) {
  if (s->nargs < 1 || s->nargs > NW_MAX_TILES)
    return nw_fail(c, NW_EINVAL, NULL, "intrinsic %s: it takes 1 to %d tensors, not %d", s->name, NW_MAX_TILES,
                   s->nargs);
  if (s->nconstants > NW_MAX_CONSTANTS)
    return nw_fail(c, NW_EINVAL, NULL, "intrinsic %s: it takes at most %d constants", s->name, NW_MAX_CONSTANTS);
  in->nargs = s->nargs;
  for (int i = 0; i < s->nargs; i++) {
    in->arg[i].name = nw_tensor_name(s->arg[i]);
    if (nw_tensor_has_strides(s->arg[i]))
      return nw_fail(c, NW_EINVAL, "give them to nw.intrinsic: strides = {A = {16, 1}}",
                     "intrinsic %s: the strides of %s belong to the intrinsic, not to the tensor", s->name,
                     in->arg[i].name);
    for (int k = 0; k < i; k++)
      if (!strcmp(in->arg[k].name, in->arg[i].name))
        return nw_fail(c, NW_EINVAL, NULL, "intrinsic %s: two arguments are named %s", s->name, in->arg[i].name);
    for (int d = 0; d < NW_MAX_TILE_DIMS && d < nw_tensor_ndim(s->arg[i]); d++)
      in->arg[i].dim[d].stride = s->stride && s->stride[i] ? s->stride[i][d] : NW_ANY_STRIDE;
  }
  in->nconstants = s->nconstants;
  for (int i = 0; i < s->nconstants; i++) in->constant[i] = s->constant[i];
  return true;
}

static int outputs_of(const nw_intrinsic_spec *s, nw_tensor **out) {
  int n = 0;
  for (int i = 0; i < s->nargs; i++)
    if (!nw_tensor_is_placeholder(s->arg[i])) out[n++] = s->arg[i];
  return n;
}

// Builds the description, in which the buffers have the names of the arguments.
static bool describe(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s) {
  nw_tensor *out[NW_MAX_TILES];
  if (!read_args(c, in, s)) return false;
  int n = outputs_of(s, out);
  if (!n) return nw_fail(c, NW_EINVAL, NULL, "intrinsic %s: no argument is an output, so it computes nothing", s->name);
  nw_program *p = nw_te_program(c, n, out);
  if (!p || !nw_intrinsic_describe(c, in, p)) return false;
  for (int i = 0; i < in->nargs; i++) in->arg[i].name = nw_find_buffer(p, in->arg[i].name)->name;
  double work = 1;
  for (int i = 0; i < in->nloops; i++) {
    int64_t extent = 1;
    nw_is_int(in->loop[i]->loop.extent, &extent);
    work *= (double)extent;
  }
  if (work <= MOST_WORK) return true;
  return nw_fail(c, NW_ELIMIT, "describe a smaller tile",
                 "intrinsic %s: a description of %.0f steps is too large to try", s->name, work);
}

typedef struct seen {
  const nw_intrinsic *in;
  bool *at[NW_MAX_TILES];
} seen;

static void see(void *env, const nw_access *a) {
  seen *x = env;
  for (int i = 0; i < x->in->nargs; i++)
    if (!strcmp(x->in->arg[i].name, a->buffer)) x->at[i][a->index] = true;
}

// Checks that the description accesses every element of its tiles. Otherwise, in a call, an element that is not
// accessed could be outside the buffer.
static bool touches_all(nw_ctx *c, const nw_intrinsic *in) {
  seen x = {.in = in};
  nw_check_data d;
  bool good = nw_check_data_make(&d, in->description, NULL, 1);
  nw_view *v = nw_check_views(&d);
  for (int i = 0; i < in->nargs; i++)
    for (int k = 0; k < d.n; k++)
      if (!strcmp(in->description->buffer[k]->name, in->arg[i].name)) x.at[i] = nw_xcalloc((size_t)v[k].count + 1, 1);
  good = good && nw_interp_program(c, in->description, NULL, v, &(nw_interp_opts){.trace = see, .env = &x});
  for (int i = 0; i < in->nargs; i++) {
    int k = 0;
    while (strcmp(in->description->buffer[k]->name, in->arg[i].name)) k++;
    for (int64_t e = 0; good && e < v[k].count; e++) {
      if (x.at[i][e]) continue;
      char *element = nw_check_element(in->arg[i].name, d.array[k], e);
      good = nw_fail(c, NW_EINVAL, "declare the argument with only the part that is used",
                     "intrinsic %s: its description never touches %s", in->name, element);
      free(element);
    }
    free(x.at[i]);
  }
  free(v);
  nw_check_data_free(&d);
  return good;
}

// ---- the implementation

// Compiles the source, and links the code without any library. If this succeeds, the code calls no other code, so a
// longjmp out of the code is safe at any moment. Otherwise links the code with the math library.
static bool compile(nw_ctx *c, nw_intrinsic *in, const char *text, const char *dir) {
  nw_str source = {0}, library = {0};
  nw_str_fmt(&source, "%s/%s.c", dir, in->name);
  nw_str_fmt(&library, "%s/%s.so", dir, in->name);
  in->library = nw_xstrdup(library.s);
  const char *alone[] = {"-std=gnu11", "-O3",       "-march=native",      "-fPIC", "-shared", "-o", library.s,
                         source.s,     "-nostdlib", "-Wl,--no-undefined", NULL};
  const char *usual[] = {"-std=gnu11", "-O3",     "-march=native", "-fPIC", "-shared",
                         "-o",         library.s, source.s,        "-lm",   NULL};
  bool good = nw_write_file(c, source.s, text, strlen(text));
  in->jump_safe = good && nw_cc(c, NULL, alone);
  if (good && !in->jump_safe && !nw_stopped(c)) {
    nw_clear(c);
    good = nw_cc(c, NULL, usual);
  }
  nw_str_free(&source);
  nw_str_free(&library);
  return good;
}

// Compiles the shuffles of a plan for this host, so that they can be tested. Code generators follow a plan for the target
// of a program, which is made in the same way.
static bool compile_shuffles(nw_ctx *c, nw_intrinsic *in, const char *dir) {
  nw_shuffles plan;
  bool good = nw_shuffles_of(c, in, nw_features_vector_bytes(nw_target_host(c)->features), &plan);
  char *text = good ? nw_shuffles_c(in, &plan) : NULL;
  good = good && compile(c, in, text, dir);
  free(text);
  nw_shuffles_free(&plan);
  return good;
}

// Computes the identity of the intrinsic from the whole source or library file. A library name without a slash is not a
// path, so the file is not read. The loader searches for such a library.
static bool identify(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s) {
  const char *text = s->shuffles ? "shuffles" : s->source; // the same identity on every host
  size_t n = text ? strlen(text) : 0;
  nw_str why = {0};
  char *content = NULL;
  if (!text && strchr(in->library, '/')) {
    content = nw_file_read(in->library, NW_FILE_ANY, LIBRARY_MOST, &n, &why);
    if (!content && errno != ENOENT) return nw_file_fail(c, "intrinsic", &why); // the loader reports a missing file
    nw_str_free(&why);
  }
  nw_intrinsic_identify(in, text ? text : content, n);
  free(content);
  return true;
}

static bool open_library(nw_ctx *c, nw_intrinsic *in) {
  in->handle = dlopen(in->library, RTLD_NOW | RTLD_LOCAL);
  return in->handle || nw_fail(c, NW_EIO, NULL, "cannot load %s: %s", in->library, dlerror());
}

// ---- instructions of a warp

static bool is_tile(const nw_intrinsic *in, int i, int64_t rows, int64_t columns, nw_dtype t, bool output) {
  const nw_intrinsic_arg *a = &in->arg[i];
  return a->ndim == 2 && a->dim[0].extent == rows && a->dim[1].extent == columns && a->dtype == t &&
         a->output == output;
}

// Checks that the arguments are those of the instruction: A, B and C of a product, S and D of a load.
static bool has_operands(nw_ctx *c, const nw_intrinsic *in) {
  const nw_instruction *k = in->instruction;
  bool turned = k->matrices && k->rows == 8;
  bool good = k->depth
                  ? in->nargs == 3 && is_tile(in, 0, k->rows, k->depth, k->dtype, false) &&
                        is_tile(in, 1, k->depth, k->columns, k->dtype, false) &&
                        is_tile(in, 2, k->rows, k->columns, NW_F32, true)
                  : in->nargs == 2 && is_tile(in, 0, k->rows, k->columns, k->dtype, false) &&
                        is_tile(in, 1, turned ? k->columns : k->rows, turned ? k->rows : k->columns, k->dtype, true);
  return good ||
         nw_fail(c, NW_EINVAL, k->doc, "intrinsic %s: its tensors are not the operands of %s", in->name, k->name);
}

// The operands of a product are fragments, and so is the result of a load, whose operand is in memory.
static bool set_fragments(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s) {
  for (int i = 0; i < in->nargs; i++) {
    if (!in->instruction->depth && i == 0) continue;
    int64_t n = in->arg[i].dim[0].extent * in->arg[i].dim[1].extent / NW_FRAGMENT_LANES;
    if (!s->fragment || !s->fragment[i])
      return nw_fail(c, NW_EINVAL, NULL, "intrinsic %s: %s needs a layout", in->name, in->arg[i].name);
    if (!nw_fragment_set(c, in, i, (int)n, s->fragment[i])) return false;
  }
  return true;
}

static bool make_warp(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s) {
  in->instruction = nw_instruction_find(s->instruction);
  if (!in->instruction)
    return nw_fail(c, NW_EINVAL, "nw.tensor_cores() lists them", "there is no instruction named '%s'", s->instruction);
  if (in->init && in->instruction->depth)
    return nw_fail(c, NW_EINVAL, "accumulate = true", "intrinsic %s: %s adds to the values of its output", in->name,
                   in->instruction->name);
  if (!has_operands(c, in) || !set_fragments(c, in, s)) return false;
  nw_intrinsic_identify(in, NULL, 0);
  return nw_trial_warp(c, in);
}

// Makes an instruction of an accelerator. The simulation executes the nest that it replaces, so there is no code to test.
static bool make_chip(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s) {
  static const char *const kinds[NW_CHIP_KINDS] = {"copy", "fill", "tensor", "alu"};
  int k = 0;
  while (k < NW_CHIP_KINDS && strcmp(kinds[k], s->chip)) k++;
  if (k == NW_CHIP_KINDS)
    return nw_fail(c, NW_EINVAL, "copy, fill, tensor or alu", "intrinsic %s: '%s' is not a kind of instruction",
                   s->name, s->chip);
  in->chip = in->name;
  in->kind = (nw_chip_kind)k;
  if (k == NW_CHIP_TENSOR && (!describe(c, in, s) || !touches_all(c, in))) return false;
  nw_intrinsic_identify(in, s->chip, strlen(s->chip));
  return true;
}

static bool make(nw_ctx *c, nw_intrinsic *in, const nw_intrinsic_spec *s, const char *dir) {
  in->name = nw_xstrdup(s->name);
  in->symbol = nw_xstrdup(s->symbol ? s->symbol : s->name);
  in->special = s->special ? nw_xstrdup(s->special) : NULL;
  in->init = s->init;
  in->jump_safe = s->jump_safe;
  in->shuffles = s->shuffles;
  if (s->chip) return make_chip(c, in, s);
  if (!describe(c, in, s) || !touches_all(c, in)) return false;
  if (s->instruction) return make_warp(c, in, s);
  if (s->shuffles ? !compile_shuffles(c, in, dir)
      : s->source ? !compile(c, in, s->source, dir)
                  : !(in->library = nw_xstrdup(s->library)))
    return false;
  return identify(c, in, s) && nw_trial(c, in, s->timeout > 0 ? s->timeout : 5) && open_library(c, in);
}

static bool sensible(nw_ctx *c, const nw_intrinsic_spec *s) {
  if (!s->name || !*s->name ||
      strspn(s->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != strlen(s->name))
    return nw_fail(c, NW_EINVAL, NULL, "the name of an intrinsic has letters, digits and _ only, not '%s'",
                   s->name ? s->name : "");
  if (s->shuffles + (s->source != NULL) + (s->library != NULL) + (s->instruction != NULL) + (s->chip != NULL) != 1)
    return nw_fail(c, NW_EINVAL, "source = [[C text]], library = \"file.so\", or code = \"shuffles\"",
                   "intrinsic %s: give its implementation as C source, as a library, or as shuffles", s->name);
  return true;
}

const nw_intrinsic *nw_intrinsic_register(nw_ctx *c, const nw_intrinsic_spec *s) {
  if (nw_stopped(c) || nw_error(c) || !sensible(c, s)) return NULL;
  bool compiles = !s->library && !s->instruction && !s->chip;
  char *dir = compiles ? nw_temp_dir(c) : NULL;
  if (compiles && !dir) return NULL;
  nw_intrinsic *in = nw_xcalloc(1, sizeof *in);
  bool good = make(c, in, s, dir);
  nw_temp_remove(dir);
  if (good) return nw_intrinsic_add(c, in);
  nw_intrinsic_free(in);
  return NULL;
}

bool nw_instruction_row(int i, const char **name, const char **doc) {
  const nw_instruction *in = nw_instruction_at(i);
  if (in) *name = in->name, *doc = in->doc;
  return in != NULL;
}

const char *nw_intrinsic_id(const nw_intrinsic *in) { return in->id; }

bool nw_intrinsic_is_jump_safe(const nw_intrinsic *in) { return in->jump_safe; }
