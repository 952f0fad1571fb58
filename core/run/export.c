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

// Returns the path of the header, for example k.h for k.so, on the heap. Returns NULL if the path does not end in .so.
static char *header_path(const char *path) {
  size_t n = strlen(path);
  if (n < 4 || strcmp(path + n - 3, ".so")) return NULL;
  nw_str s = {0};
  nw_str_addn(&s, path, n - 3);
  nw_str_add(&s, ".h");
  return nw_str_take(&s);
}

// True if the header may be written. The user does not choose its name, so an existing file is replaced only if an
// export wrote it, or if it is empty.
static bool may_be_replaced(nw_ctx *c, const char *header) {
  nw_str why = {0};
  size_t n;
  char *text = nw_file_read(header, NW_FILE_ANY, LIBRARY_MOST, &n, &why);
  bool missing = !text && access(header, F_OK) != 0, // if the path is not valid, the writer reports why
      ours = text && (!n || !strncmp(text, NW_HEADER_MARK, strlen(NW_HEADER_MARK)));
  nw_str_free(&why);
  free(text);
  if (missing || ours) return true;
  nw_fail(c, NW_EINVAL, "give the library another name, or move that file away",
          "export: path: %s exists and was not written by an export", header);
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

// Writes both files, the library and the header. Both are on disk before the first file gets its final name, because
// they belong together. Returns false, with a diagnostic, on failure.
static bool publish(nw_ctx *c, const char *const *path, const char *const *text, const size_t *n) {
  nw_str why = {0};
  nw_file *f[2] = {nw_file_begin(path[0], NW_FILE_PROGRAM, &why), NULL};
  if (f[0]) f[1] = nw_file_begin(path[1], NW_FILE_PLAIN, &why);
  bool fits[2] = {false, false}, good;
  for (int i = 0; i < 2 && f[i]; i++) fits[i] = nw_file_add(f[i], text[i], n[i]) && nw_file_settle(f[i]);
  good = fits[0] && fits[1];
  for (int i = 0; i < 2 && f[i]; i++) {
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
  bool good = publish(k->ctx, (const char *[]){path, header}, (const char *[]){library, glue->header},
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

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && !strcmp(path + n - m, end);
}

static bool export_text(nw_kernel *k, const char *path, char *text) {
  nw_str why = {0};
  bool good =
      text && (nw_file_write(path, NW_FILE_PLAIN, text, strlen(text), &why) || nw_file_fail(k->ctx, "export", &why));
  free(text);
  return good;
}

bool nw_kernel_export(nw_kernel *k, const char *path, const char *symbol) {
  nw_glue glue;
  if (!k || nw_stopped(k->ctx) || (symbol && !nw_c_symbol_given(k->ctx, symbol))) return false;
  if (ends_in(path, ".c")) return export_text(k, path, nw_kernel_c(k, symbol));
  if (ends_in(path, ".ptx")) return export_text(k, path, nw_kernel_text(k, "ptx"));
  if (ends_in(path, ".cu")) return export_text(k, path, nw_kernel_cuda(k, symbol));
  if (ends_in(path, ".cl")) return export_text(k, path, nw_kernel_text(k, "opencl"));
  nw_kernel *const *one = k->ncases ? k->one : &k;
  int n = k->ncases ? k->ncases : 1;
  char *header = header_path(path);
  if (!header)
    return nw_fail(k->ctx, NW_EINVAL, "f:export \"kernel.so\" or f:export \"kernel.c\"",
                   "export: path: '%s' is not the name of a shared library or of a C file", path);
  bool good = may_be_replaced(k->ctx, header) && glue_for(k, one, n, symbol, &glue);
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
