// Exports a kernel as a C file, or as a shared library with a header. The library contains the machine code of the
// kernel, and C code that calls it.
#include "base/file.h"
#include "run/cc.h"
#include "run/kernel.h"
#include "run/temp.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIBRARY_MOST ((size_t)1 << 30)

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && !strcmp(path + n - m, end);
}

// Returns the path of a file with another end, for example k.h for k.so, on the heap. Returns NULL if the path does not end
// in `end`.
static char *path_beside(const char *path, const char *end, const char *other) {
  if (!ends_in(path, end)) return NULL;
  nw_str s = {0};
  nw_str_addn(&s, path, strlen(path) - strlen(end));
  nw_str_add(&s, other);
  return nw_str_take(&s);
}

// True if a file may be written beside the one that the user asked for. The user does not choose its name, so an existing
// file is replaced only if an export wrote it, or if it is empty.
static bool may_be_replaced(nw_ctx *c, const char *path) {
  nw_str why = {0};
  size_t n;
  char *text = nw_file_read(path, NW_FILE_ANY, LIBRARY_MOST, &n, &why);
  bool missing = !text && access(path, F_OK) != 0, // if the path is not valid, the writer reports why
      ours = text && (!n || !strncmp(text, NW_HEADER_MARK, strlen(NW_HEADER_MARK)));
  nw_str_free(&why);
  free(text);
  if (missing || ours) return true;
  nw_fail(c, NW_EINVAL, "give the kernel another name, or move that file away",
          "export: path: %s exists and was not written by an export", path);
  return false;
}

static char *in_dir(const char *dir, const char *name) {
  nw_str s = {0};
  nw_str_fmt(&s, "%s/%s", dir, name);
  return nw_str_take(&s);
}

// ---- input of the compiler: an object file for each version, and the C code around them

typedef struct work {
  // Only the user can access this directory. The compiler gets paths in this directory, never the path that the user
  // gave.
  char *dir;
  int n;
  char **object; // paths, heap
  char *source, *library;
} work;

static bool write_object(nw_kernel *k, nw_kernel *one, int i, const char *path) {
  char entry[64], *object;
  size_t size = 0;
  snprintf(entry, sizeof entry, NW_ENTRY_SYMBOL, i);
  if (!one->backend->object(one, entry, &object, &size)) return false;
  bool good = nw_write_file(k->ctx, path, object, size);
  free(object);
  return good;
}

static bool write_objects(nw_kernel *k, nw_kernel *const *one, const work *w) {
  bool good = true;
  for (int i = 0; i < w->n && good; i++) good = !nw_stopped(k->ctx) && write_object(k, one[i], i, w->object[i]);
  return good;
}

static bool open_work(nw_ctx *c, work *w, int n) {
  *w = (work){.dir = nw_temp_dir(c), .n = n};
  if (!w->dir) return false;
  w->object = nw_xcalloc((size_t)n, sizeof *w->object);
  w->source = in_dir(w->dir, "kernel.c");
  w->library = in_dir(w->dir, "kernel.so");
  for (int i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "%d.o", i);
    w->object[i] = in_dir(w->dir, name);
  }
  return true;
}

static void close_work(work *w) {
  for (int i = 0; w->object && i < w->n; i++) free(w->object[i]);
  free(w->object);
  free(w->source);
  free(w->library);
  nw_temp_remove(w->dir);
}

// ---- the library

static bool link_library(nw_kernel *k, const work *w, const nw_glue *glue) {
  static const char *const before[] = {"-std=c99", "-O2", "-fPIC", "-fopenmp", "-shared", "-Wl,-z,noexecstack"};
  const nw_kernel *one = k->ncases ? k->one[0] : k;
  nw_linker linker = one->backend->linker(k->exec->p->target);
  const char **args = nw_xcalloc((size_t)w->n + NW_COUNT(before) + 12, sizeof *args);
  int n = 0;
  for (int i = 0; i < NW_COUNT(before); i++) args[n++] = before[i];
  args[n++] = w->source;
  for (int i = 0; i < w->n; i++) args[n++] = w->object[i];
  args[n++] = "-o";
  args[n++] = w->library;
  for (int i = 0; linker.libraries[i]; i++) args[n++] = linker.libraries[i];
  bool good = nw_write_file(k->ctx, w->source, glue->source, strlen(glue->source)) && nw_cc(k->ctx, &linker, args);
  free(args);
  return good;
}

// Writes files that belong together, for example a library and its header. All are on disk before the first one gets its
// final name. Returns false, with a diagnostic, on failure.
static bool publish(nw_ctx *c, int n, const char *const *path, const char *const *text, const size_t *bytes) {
  enum { MOST = 3 };
  nw_str why = {0};
  nw_file *f[MOST] = {NULL};
  bool fits[MOST] = {false}, good = true;
  for (int i = 0; i < n && good; i++)
    good = (f[i] = nw_file_begin(path[i], ends_in(path[i], ".so") ? NW_FILE_PROGRAM : NW_FILE_PLAIN, &why)) != NULL;
  for (int i = 0; i < n && f[i]; i++) {
    fits[i] = nw_file_add(f[i], text[i], bytes[i]) && nw_file_settle(f[i]);
    good &= fits[i];
  }
  for (int i = 0; i < n && f[i]; i++) {
    if (good)
      good = nw_file_end(f[i], &why);
    else if (!fits[i] && !why.n)
      nw_file_end(f[i], &why);
    else
      nw_file_drop(f[i]);
  }
  return good || nw_file_fail(c, "export", &why);
}

static bool export_as(nw_kernel *k, nw_kernel *const *one, const work *w, const char *path, const char *header,
                      const nw_glue *glue) {
  nw_str why = {0};
  size_t n;
  if (!write_objects(k, one, w) || !link_library(k, w, glue)) return false;
  char *library = nw_file_read(w->library, NW_FILE_OWN, LIBRARY_MOST, &n, &why);
  if (!library) return nw_file_fail(k->ctx, "export", &why);
  bool good = publish(k->ctx, 2, (const char *[]){path, header}, (const char *[]){library, glue->header},
                      (size_t[]){n, strlen(glue->header)});
  free(library);
  return good;
}

static bool glue_for(nw_kernel *k, nw_kernel *const *one, int n, const char *symbol, nw_glue *out) {
  const nw_exec **e = nw_xcalloc((size_t)n, sizeof *e);
  for (int i = 0; i < n; i++) e[i] = one[i]->exec;
  bool good = nw_c_glue(n, e, &k->choices, symbol, out);
  free(e);
  return good;
}

static bool export_text(nw_kernel *k, const char *path, char *text) {
  nw_str why = {0};
  bool good =
      text && (nw_file_write(path, NW_FILE_PLAIN, text, strlen(text), &why) || nw_file_fail(k->ctx, "export", &why));
  free(text);
  return good;
}

// True if a line of C can name the file.
static bool can_be_included(nw_ctx *c, const char *file) {
  for (const char *s = file; *s; s++)
    if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\')
      return nw_fail(
          c, NW_EINVAL, "f:export \"kernel.cl\"",
          "export: path: the name of the file has the character with the code %d, and a C file cannot include "
          "such a header",
          (unsigned char)*s);
  return true;
}

// Writes the kernels, and beside them the C file and the header of the function that launches them.
static bool export_opencl(nw_kernel *k, const char *path, const char *symbol) {
  if (!k->source) return nw_kernel_fail_cases(k, "OpenCL C");
  char *header = path_beside(path, ".cl", ".h"), *source = path_beside(path, ".cl", ".c"), *text = NULL;
  const char *slash = strrchr(header, '/');
  char *file = nw_xstrdup(slash ? slash + 1 : header);
  file[strlen(file) - 2] = 0;
  nw_glue host = {0};
  if (can_be_included(k->ctx, file) && may_be_replaced(k->ctx, header) && may_be_replaced(k->ctx, source))
    text = nw_opencl_files(k->source, symbol, file, &host);
  bool good = text && publish(k->ctx, 3, (const char *[]){path, source, header},
                              (const char *[]){text, host.source, host.header},
                              (size_t[]){strlen(text), strlen(host.source), strlen(host.header)});
  if (text) free(host.source), free(host.header);
  free(text);
  free(file);
  free(header);
  free(source);
  return good;
}

static bool has_libraries(const nw_kernel *one) {
  return one->backend->object || nw_fail(one->ctx, NW_EINVAL, one->backend->files, "there are no libraries for %s",
                                         one->exec->p->target->machine.name);
}

// Returns the PTX after comments about the launches, on the heap.
static char *ptx_of(nw_kernel *k) {
  if (k->ncases) return nw_kernel_fail_cases(k, "PTX"), NULL;
  char *text = nw_kernel_text(k, "ptx"), *notes = text ? nw_ptx_notes(k->exec) : NULL;
  nw_str all = {0};
  if (notes) nw_str_fmt(&all, "%s%s", notes, text);
  free(notes);
  free(text);
  return notes ? nw_str_take(&all) : NULL;
}

// True if C code can be made. A grid is written in CUDA C or OpenCL C.
static bool can_be_c(nw_kernel *k) {
  const nw_kernel *one = k->ncases ? k->one[0] : k;
  if (one->exec->p->target->machine.kind != NW_MACHINE_GPU) return true;
  return nw_fail(k->ctx, NW_EINVAL, one->backend->files, "export: path: C has no grids, and the kernel is for %s",
                 one->exec->p->target->machine.name);
}

bool nw_kernel_export(nw_kernel *k, const char *path, const char *symbol) {
  nw_glue glue;
  if (!k || nw_stopped(k->ctx) || (symbol && !nw_c_symbol_given(k->ctx, symbol))) return false;
  if (ends_in(path, ".c")) return can_be_c(k) && export_text(k, path, nw_kernel_c(k, symbol));
  if (ends_in(path, ".ptx")) return export_text(k, path, ptx_of(k));
  if (ends_in(path, ".cu")) return export_text(k, path, nw_kernel_cuda(k, symbol));
  if (ends_in(path, ".cl")) return export_opencl(k, path, symbol);
  nw_kernel *const *one = k->ncases ? k->one : &k;
  int n = k->ncases ? k->ncases : 1;
  char *header = path_beside(path, ".so", ".h");
  if (!header)
    return nw_fail(k->ctx, NW_EINVAL, one[0]->backend->files,
                   "export: path: the end of '%s' names no kind of file that can be written", path);
  bool good = has_libraries(one[0]) && may_be_replaced(k->ctx, header) && glue_for(k, one, n, symbol, &glue);
  if (good) {
    work w;
    good = open_work(k->ctx, &w, n) && export_as(k, one, &w, path, header, &glue);
    close_work(&w);
    free(glue.source);
    free(glue.header);
  }
  free(header);
  return good;
}
