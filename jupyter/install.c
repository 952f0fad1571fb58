// The kernelspec: how front ends find the kernel.
#include "kernel.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_dirs(char *dir) {
  for (char *p = dir + 1; *p; p++) {
    if (*p != '/') continue;
    *p = '\0';
    if (mkdir(dir, 0755) && errno != EEXIST) return false;
    *p = '/';
  }
  return !mkdir(dir, 0755) || errno == EEXIST;
}

static json_t *spec(const char *program) {
  return json_pack("{s:[s, s, s], s:s, s:s, s:s, s:{s:b, s:[s]}}", "argv", program, "-f", "{connection_file}",
                   "display_name", "Nestwright (Lua)", "language", "lua", "interrupt_mode", "signal", "metadata",
                   "debugger", 0, "supported_encryption", "curve");
}

// A mark for lists of kernels: a nest of three loops.
static const char logo[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\" width=\"64\" height=\"64\">\n"
    "<rect x=\"4\" y=\"4\" width=\"56\" height=\"56\" rx=\"10\" fill=\"#0072B2\"/>\n"
    "<rect x=\"13\" y=\"13\" width=\"38\" height=\"38\" rx=\"7\" fill=\"#56B4E9\"/>\n"
    "<rect x=\"22\" y=\"22\" width=\"20\" height=\"20\" rx=\"4\" fill=\"#F0E442\"/>\n"
    "</svg>\n";

static bool write_text(const char *dir, const char *name, const char *text) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  if (!f) return false;
  bool ok = fputs(text, f) >= 0;
  return fclose(f) == 0 && ok;
}

static bool write_spec(char *dir, const char *program) {
  if (!make_dirs(dir)) return false;
  json_t *o = spec(program);
  char *text = json_dumps(o, JSON_INDENT(2));
  bool ok = write_text(dir, "kernel.json", text) && write_text(dir, "logo-svg.svg", logo);
  free(text);
  json_decref(o);
  return ok;
}

// Where kernels of this user, or of everybody under a prefix, are looked for.
static bool directory(int argc, char **argv, char *out, size_t n) {
  const char *data = getenv("JUPYTER_DATA_DIR"), *home = getenv("HOME");
  if (argc == 2 && strcmp(argv[0], "--prefix") == 0)
    return snprintf(out, n, "%s/share/jupyter/kernels/nestwright", argv[1]) < (int)n;
  if (argc == 1 && strcmp(argv[0], "--sys-prefix") == 0)
    return snprintf(out, n, "/usr/local/share/jupyter/kernels/nestwright") < (int)n;
  if (argc > 1 || (argc == 1 && strcmp(argv[0], "--user") != 0)) return false;
  if (data && *data) return snprintf(out, n, "%s/kernels/nestwright", data) < (int)n;
  return home && snprintf(out, n, "%s/.local/share/jupyter/kernels/nestwright", home) < (int)n;
}

int nwj_install(const char *program, int argc, char **argv) {
  char dir[PATH_MAX - 32], exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n > 0) exe[n] = '\0';
  if (!directory(argc, argv, dir, sizeof dir)) {
    fputs("nestwright-kernel: --install takes --user, --sys-prefix or --prefix DIR\n", stderr);
    return 2;
  }
  if (!write_spec(dir, n > 0 ? exe : program)) {
    fprintf(stderr, "nestwright-kernel: cannot write %s: %s\n", dir, strerror(errno));
    return EXIT_FAILURE;
  }
  printf("installed in %s\n", dir);
  return EXIT_SUCCESS;
}
