// The program `nestwright`: runs scripts, or opens the prompt.
#include "repl.h"
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAD_USAGE 2

typedef struct options {
  bool interactive, version, help, executed;
  int script; // index of the script in argv, or argc
} options;

static void usage(FILE *out) {
  fputs("usage: nestwright [options] [script [args]]\n"
        "  -e CODE        run CODE; nw is the library\n"
        "  -l NAME        load the module NAME into the global NAME\n"
        "  -i             open the prompt after the script\n"
        "  --install-kernel [--user | --sys-prefix | --prefix DIR]\n"
        "                 register the kernel with Jupyter\n"
        "  -v, --version  print the version\n"
        "  -h, --help     print this text\n"
        "  -              read the script from standard input\n"
        "  --             end of the options\n"
        "At a terminal, without a script, the prompt opens.\n",
        out);
}

static int bad_usage(const char *what, const char *option) {
  fprintf(stderr, "nestwright: %s '%s'\n", what, option);
  usage(stderr);
  return BAD_USAGE;
}

// First pass: parses the options without executing them. Returns 0, or the exit status for a bad command line.
static int parse(int argc, char **argv, options *o) {
  int i = 1;
  for (; i < argc; i++) {
    const char *a = argv[i];
    if (a[0] != '-' || strcmp(a, "-") == 0) break;
    if (strcmp(a, "--") == 0) {
      i++;
      break;
    }
    bool takes = strncmp(a, "-e", 2) == 0 || strncmp(a, "-l", 2) == 0;
    if (takes) {
      o->executed |= a[1] == 'e';
      if (a[2] == '\0' && ++i == argc) return bad_usage("no argument after", a);
    } else if (strcmp(a, "-i") == 0) {
      o->interactive = true;
    } else if (strcmp(a, "-v") == 0 || strcmp(a, "--version") == 0) {
      o->version = true;
    } else if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0) {
      o->help = true;
    } else {
      return bad_usage("unrecognized option", a);
    }
  }
  o->script = i;
  return 0;
}

// Sets the global `arg`: the script at index 0, its arguments from 1, and the words before the script at negative
// indices.
static void set_arg(lua_State *L, int argc, char **argv, int script) {
  int zero = script < argc ? script : 0;
  lua_createtable(L, argc - zero, zero);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

static bool require_global(nwh *h, const char *module, const char *global) {
  lua_State *L = nwh_lua(h);
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  nwh_status status = nwh_call(h, 1, 1);
  if (!nwr_report(h, status)) return false;
  lua_setglobal(L, global);
  return true;
}

// Sets the global nw, and also help if the prompt will open.
static bool set_globals(nwh *h, bool interactive) {
  lua_State *L = nwh_lua(h);
  if (!require_global(h, "nestwright", "nw")) return false;
  if (!interactive) return true;
  lua_getglobal(L, "nw");
  lua_getfield(L, -1, "help");
  lua_setglobal(L, "help");
  lua_pop(L, 1);
  return true;
}

// Executes the options -e and -l in the given order, up to the first failure.
static int run_options(nwh *h, char **argv, int script) {
  for (int i = 1; i < script; i++) {
    char *a = argv[i];
    if (a[0] != '-' || (a[1] != 'e' && a[1] != 'l')) continue;
    const char *value = a[2] ? a + 2 : argv[++i];
    int status = a[1] == 'e' ? nwr_string(h, value) : require_global(h, value, value) ? 0 : EXIT_FAILURE;
    if (status) return status;
  }
  return 0;
}

static int run_script(nwh *h, int argc, char **argv, int script) {
  lua_State *L = nwh_lua(h);
  luaL_checkstack(L, argc + 8, "too many arguments");
  for (int i = script + 1; i < argc; i++) lua_pushstring(L, argv[i]);
  return nwr_file(h, argv[script], argc - script - 1);
}

static int run(nwh *h, int argc, char **argv, const options *o) {
  bool terminal = isatty(STDIN_FILENO), has_script = o->script < argc;
  bool interactive = o->interactive || (!has_script && !o->executed && terminal);
  set_arg(nwh_lua(h), argc, argv, o->script);
  nwh_catch_interrupts(h, NULL);
  if ((interactive || o->executed) && !set_globals(h, interactive)) return EXIT_FAILURE;
  int status = run_options(h, argv, o->script);
  if (status == 0 && has_script) status = run_script(h, argc, argv, o->script);
  if (interactive) return nwr_interactive(h);
  if (status == 0 && !has_script && !o->executed) return nwr_file(h, "-", 0);
  return status;
}

// Flushes the output and returns the exit status. If the output cannot be written, for example on a full disk, prints a
// message and returns a failure. There is no message if the reader has closed the pipe.
static int flush(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  if (errno != EPIPE) fprintf(stderr, "nestwright: cannot write the output: %s\n", strerror(errno));
  return status ? status : EXIT_FAILURE;
}

// Ends the process by SIGINT, as shells expect of a program that Ctrl-C has stopped.
static void die_of_interrupt(void) {
  fflush(NULL);
  signal(SIGINT, SIG_DFL);
  raise(SIGINT);
}

// Runs the kernel program, which is in the same directory and writes its own kernelspec. Returns only if the kernel
// program cannot be run.
static int install_kernel(int argc, char **argv) {
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
  if (n > 0) path[n] = '\0';
  char *slash = n > 0 ? strrchr(path, '/') : NULL;
  strcpy(slash ? slash + 1 : path, "nestwright-kernel");
  char **words = calloc((size_t)argc + 1,
                        sizeof *words); // "nestwright --install-kernel ..." becomes "nestwright-kernel --install ..."
  if (!words) return EXIT_FAILURE;
  memcpy(words, argv, (size_t)argc * sizeof *words);
  words[0] = path;
  static char install[] = "--install";
  words[1] = install;
  execv(path, words);
  fprintf(stderr, "nestwright: %s: %s; it is built only with libzmq, jansson and libsodium\n", path, strerror(errno));
  free(words);
  return EXIT_FAILURE;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); // so a write beyond the file size limit fails with an error
  if (argc > 1 && strcmp(argv[1], "--install-kernel") == 0) return install_kernel(argc, argv);
  options o = {0};
  int status = parse(argc, argv, &o);
  if (status) return status;
  if (o.help) {
    usage(stdout);
    return flush(EXIT_SUCCESS);
  }
  if (o.version) {
    printf("Nestwright %s\n", nw_version());
    if (!o.interactive && !o.executed && o.script == argc) return flush(EXIT_SUCCESS);
  }
  setlocale(LC_CTYPE, "");
  nwh *h = nwh_open();
  if (!h) {
    fputs("nestwright: not enough memory\n", stderr);
    return EXIT_FAILURE;
  }
  status = flush(run(h, argc, argv, &o));
  nwh_close(h);
  if (status == NWR_INTERRUPTED) die_of_interrupt();
  return status;
}
