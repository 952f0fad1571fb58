// Installs the kernelspec, which front ends use to find the kernel.
#include "kernel.h"
#include "base/file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOGO_MOST ((size_t)1 << 20)

static json_t *spec(const char *program) {
  return json_pack("{s:[s, s, s], s:s, s:s, s:s, s:{s:b, s:[s]}}", "argv", program, "-f", "{connection_file}",
                   "display_name", "Nestwright (Lua)", "language", "lua", "interrupt_mode", "signal", "metadata",
                   "debugger", 0, "supported_encryption", "curve");
}

static bool write_file(const char *dir, const char *name, const void *data, size_t n, nw_str *why) {
  nw_str path = {0};
  nw_str_fmt(&path, "%s/%s", dir, name);
  bool good = nw_file_write(path.s, NW_FILE_PLAIN, data, n, why);
  nw_str_free(&path);
  return good;
}

// Finds a logo in the installation or in the sources. Returns false if there is none.
static bool logo_path(const char *exe, const char *name, char *out, size_t size) {
  const char *slash = strrchr(exe, '/');
  int n = slash ? (int)(slash - exe) : 0;
  snprintf(out, size, "%.*s/../share/nestwright/logos/%s", n, exe, name);
  if (access(out, R_OK) == 0) return true;
  snprintf(out, size, NW_SOURCE_DIR "/jupyter/logos/%s", name);
  return access(out, R_OK) == 0;
}

static bool copy(const char *from, const char *dir, const char *name, nw_str *why) {
  size_t n;
  char *data = nw_file_read(from, NW_FILE_ANY, LOGO_MOST, &n, why);
  bool good = data && write_file(dir, name, data, n, why);
  free(data);
  return good;
}

static bool write_logos(const char *dir, const char *exe, nw_str *why) {
  static const char *const names[] = {"logo-32x32.png", "logo-64x64.png", "logo-svg.svg"};
  char from[PATH_MAX];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (logo_path(exe, names[i], from, sizeof from) && !copy(from, dir, names[i], why)) return false;
  return true;
}

static bool write_spec(char *dir, const char *exe, const char *program, nw_str *why) {
  if (!nw_make_dirs(dir, 0755)) return nw_str_fmt(why, "cannot make %s: %s", dir, nw_file_reason(errno)), false;
  json_t *o = spec(program);
  char *text = json_dumps(o, JSON_INDENT(2));
  bool ok = write_file(dir, "kernel.json", text, strlen(text), why) && write_logos(dir, exe, why);
  free(text);
  json_decref(o);
  return ok;
}

// Stores the path of the kernelspec's directory in `out`. The options select a directory of the user, or a directory
// under a prefix. Returns false if the options are invalid.
static bool directory(int argc, char **argv, char *out, size_t n) {
  const char *data = getenv("JUPYTER_DATA_DIR"), *home = getenv("HOME");
  const char *prefix = argc == 2 && strcmp(argv[0], "--prefix") == 0        ? argv[1]
                       : argc == 1 && strncmp(argv[0], "--prefix=", 9) == 0 ? argv[0] + 9
                                                                            : NULL;
  if (prefix) return *prefix && snprintf(out, n, "%s/share/jupyter/kernels/nestwright", prefix) < (int)n;
  if (argc == 1 && strcmp(argv[0], "--sys-prefix") == 0)
    return snprintf(out, n, "/usr/local/share/jupyter/kernels/nestwright") < (int)n;
  if (argc > 1 || (argc == 1 && strcmp(argv[0], "--user") != 0)) return false;
  if (data && *data) return snprintf(out, n, "%s/kernels/nestwright", data) < (int)n;
  return home && snprintf(out, n, "%s/.local/share/jupyter/kernels/nestwright", home) < (int)n;
}

// Returns the path of the kernel program that the kernelspec must contain. If the program will be moved later
// (packages, `cmake --install`), the last option is `--program PATH`. This function then returns PATH, and removes the
// option from the arguments.
static const char *program_of(const char *exe, int *argc, char **argv) {
  if (*argc < 2 || strcmp(argv[*argc - 2], "--program") != 0) return exe;
  *argc -= 2;
  return argv[*argc + 1];
}

int nwj_install(const char *own_name, int argc, char **argv) {
  char dir[PATH_MAX - 32], exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n > 0)
    exe[n] = '\0';
  else
    snprintf(exe, sizeof exe, "%s", own_name);
  const char *program = program_of(exe, &argc, argv);
  if (!directory(argc, argv, dir, sizeof dir)) {
    fputs("nestwright-kernel: to install it, give --user, --sys-prefix or --prefix DIR; DIR must not be empty\n",
          stderr);
    return 2;
  }
  nw_str why = {0};
  if (!write_spec(dir, exe, program, &why)) {
    fprintf(stderr, "nestwright-kernel: %s\n", why.s);
    nw_str_free(&why);
    return EXIT_FAILURE;
  }
  printf("installed in %s\n", dir);
  return EXIT_SUCCESS;
}
