// A kernel as a shared library with a header: the machine code of the session, and a little C around it.
#include "run/cc.h"
#include "run/kernel.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool write_file(nw_ctx *c, const char *path, const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  bool good = f && fwrite(data, 1, n, f) == n;
  if (f && fclose(f)) good = false;
  return good || nw_fail(c, NW_EIO, NULL, "export: cannot write %s: %s", path, strerror(errno));
}

// k.so -> k.h; NULL unless the path ends in .so.
static char *header_path(const char *path) {
  size_t n = strlen(path);
  if (n < 4 || strcmp(path + n - 3, ".so")) return NULL;
  nw_str s = {0};
  nw_str_addn(&s, path, n - 3);
  nw_str_add(&s, ".h");
  return nw_str_take(&s);
}

static char *beside(const char *path, const char *suffix) {
  nw_str s = {0};
  nw_str_fmt(&s, "%s.%ld%s", path, (long)getpid(), suffix);
  return nw_str_take(&s);
}

// ---- object files, one a version

typedef struct objects {
  int n;
  char **path; // heap
} objects;

static bool write_object(nw_kernel *k, const nw_kernel *one, int i, const char *path) {
  char error[512] = "", entry[64];
  size_t size = 0;
  snprintf(entry, sizeof entry, NW_ENTRY_SYMBOL, i);
  char *object =
      nw_session_of(k->ctx)->api->object(nw_session_jit(k->ctx), one->code, entry, &size, error, sizeof error);
  if (!object) return nw_fail(k->ctx, NW_ECODEGEN, NULL, "%s", error);
  bool good = write_file(k->ctx, path, object, size);
  free(object);
  return good;
}

static bool write_objects(nw_kernel *k, nw_kernel *const *one, const char *path, objects *o) {
  bool good = true;
  for (int i = 0; i < o->n && good; i++) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".%d.o", i);
    o->path[i] = beside(path, suffix);
    good = !nw_stopped(k->ctx) && write_object(k, one[i], i, o->path[i]);
  }
  return good;
}

static void remove_objects(objects *o) {
  for (int i = 0; i < o->n && o->path[i]; i++) {
    unlink(o->path[i]);
    free(o->path[i]);
  }
  free(o->path);
}

// ---- the library

static bool link_library(nw_kernel *k, const char *path, const objects *o, const nw_glue *glue) {
  static const char *const before[] = {"-std=c99", "-O2", "-fPIC", "-fopenmp", "-shared", "-Wl,-z,noexecstack"};
  static const char *const after[] = {"-lm", "-lmvec"};
  char *c = beside(path, ".c");
  const char **args = nw_xcalloc((size_t)o->n + NW_COUNT(before) + NW_COUNT(after) + 4, sizeof *args);
  int n = 0;
  for (int i = 0; i < NW_COUNT(before); i++) args[n++] = before[i];
  args[n++] = c;
  for (int i = 0; i < o->n; i++) args[n++] = o->path[i];
  args[n++] = "-o";
  args[n++] = path;
  for (int i = 0; i < NW_COUNT(after); i++) args[n++] = after[i];
  bool good = write_file(k->ctx, c, glue->source, strlen(glue->source)) && nw_cc(k->ctx, args);
  unlink(c);
  free(c);
  free(args);
  return good;
}

static bool export_as(nw_kernel *k, nw_kernel *const *one, int n, const char *path, const char *header,
                      const nw_glue *glue) {
  objects o = {n, nw_xcalloc((size_t)n, sizeof *o.path)};
  bool good = write_objects(k, one, path, &o) && link_library(k, path, &o, glue) &&
              write_file(k->ctx, header, glue->header, strlen(glue->header));
  remove_objects(&o);
  return good;
}

static bool glue_for(nw_kernel *k, nw_kernel *const *one, int n, nw_glue *out) {
  const nw_exec **e = nw_xcalloc((size_t)n, sizeof *e);
  for (int i = 0; i < n; i++) e[i] = one[i]->exec;
  bool good = nw_c_glue(n, e, &k->choices, out);
  free(e);
  return good;
}

bool nw_kernel_export(nw_kernel *k, const char *path) {
  nw_glue glue;
  if (!k || nw_stopped(k->ctx)) return false;
  nw_kernel *const *one = k->ncases ? k->one : &k;
  int n = k->ncases ? k->ncases : 1;
  char *header = header_path(path);
  if (!header)
    return nw_fail(k->ctx, NW_EINVAL, "f:export \"kernel.so\"", "export: %s is not the name of a shared library", path);
  bool good = glue_for(k, one, n, &glue);
  if (good) {
    good = export_as(k, one, n, path, header, &glue);
    free(glue.source);
    free(glue.header);
  }
  free(header);
  return good;
}
