#include "run/cc.h"
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGS = 64, MOST_SAID = 4000 };

// Starts the program, with SIGXFSZ handled in the default way. The program writes its output to `out`. Returns 0 or an
// errno value.
static int start(pid_t *pid, const char *program, char *const *argv, int out) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigdefault(&attr, &usual);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_adddup2(&files, out, 2);
  int why = posix_spawnp(pid, program, &files, &attr, argv, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  return why;
}

// Collects the output of the program up to a limit. Further output is read and dropped, because the program would wait
// if nobody read it.
static void listen_to(int in, nw_str *said) {
  char block[1024];
  ssize_t n;
  while ((n = read(in, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0 && said->n < MOST_SAID) nw_str_addn(said, block, (size_t)n);
}

static int ended(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

bool nw_cc(nw_ctx *c, const nw_linker *l, const char *const *args) {
  const char *program = l && l->command ? l->command : getenv("CC");
  char *argv[MOST_ARGS + 2];
  int n = 0, ends[2];
  if (!program || !*program) program = "cc";
  argv[n++] = (char *)program;
  for (int i = 0; args[i] && n <= MOST_ARGS; i++) argv[n++] = (char *)args[i];
  argv[n] = NULL;
  if (pipe2(ends, O_CLOEXEC))
    return nw_fail(c, NW_EIO, NULL, "cannot open a pipe to the C compiler: %s", nw_file_reason(errno));
  pid_t pid;
  int why = start(&pid, program, argv, ends[1]);
  bool started = !why;
  close(ends[1]);
  nw_str said = {0};
  if (started) listen_to(ends[0], &said);
  close(ends[0]);
  int status = started ? ended(pid) : 0;
  if (why && why != ENOENT)
    nw_fail(c, NW_EIO, NULL, "cannot start the C compiler '%s': %s", program, nw_file_reason(why));
  else if (why)
    nw_fail(c, NW_EIO,
            l && l->command ? nw_diag_printf(c, "install it: on Debian, the package %s", l->package)
                            : "install a C compiler, or set CC to one",
            "there is no C compiler '%s'", program);
  else if (status)
    nw_fail(c, NW_ECODEGEN, NULL, "%s failed: %s", program, said.s ? said.s : "it printed no message");
  nw_str_free(&said);
  return started && !status;
}
