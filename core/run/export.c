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

static bool link_library(nw_kernel *k, const char *path, const char *object, size_t size, const nw_glue *glue) {
  char *o = beside(path, ".o"), *c = beside(path, ".c");
  const char *args[] = {"-std=c99", "-O2", "-fPIC", "-fopenmp", "-shared", "-Wl,-z,noexecstack", c, o,
                        "-o",       path,  "-lm",   "-lmvec",   NULL};
  bool good = write_file(k->ctx, o, object, size) && write_file(k->ctx, c, glue->source, strlen(glue->source)) &&
              nw_cc(k->ctx, args);
  unlink(o);
  unlink(c);
  free(o);
  free(c);
  return good;
}

static bool export_as(nw_kernel *k, const char *path, const char *header, const nw_glue *glue, const char *entry) {
  char error[512] = "";
  size_t size = 0;
  char *object = nw_session_of(k->ctx)->api->object(nw_session_jit(k->ctx), k->code, entry, &size, error, sizeof error);
  if (!object) return nw_fail(k->ctx, NW_ECODEGEN, NULL, "%s", error);
  bool good =
      link_library(k, path, object, size, glue) && write_file(k->ctx, header, glue->header, strlen(glue->header));
  free(object);
  return good;
}

bool nw_kernel_export(nw_kernel *k, const char *path) {
  static const char entry[] = "nw_kernel_entry";
  nw_glue glue;
  if (!k || nw_stopped(k->ctx)) return false;
  if (k->ncases)
    return nw_fail(k->ctx, NW_EINVAL, "s:checkout(version):build():export(path) exports one of them",
                   "export: a kernel of several versions is not exported");
  char *header = header_path(path);
  if (!header)
    return nw_fail(k->ctx, NW_EINVAL, "f:export \"kernel.so\"", "export: %s is not the name of a shared library", path);
  bool good = nw_c_glue(k->exec, entry, &glue);
  if (good) {
    good = export_as(k, path, header, &glue, entry);
    free(glue.source);
    free(glue.header);
    free(glue.function);
  }
  free(header);
  return good;
}
