// Runs external programs. Their standard input and output are files in memory. So this process need not read anything
// while a program runs. If a program leaves a process behind, such as a window, that process does not keep a pipe open.
#include "base/file.h"
#include "run/run.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_SAID = 8000, LOOK_MS = 100, LOOK_WITHOUT_PIDFD_MS = 5 };

static bool fill(int fd, const char *text, size_t n) {
  while (n) {
    ssize_t done = write(fd, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text += done;
    n -= (size_t)done;
  }
  return lseek(fd, 0, SEEK_SET) == 0;
}

// Returns the first bytes of the file, at most `most`, on the heap and NUL-terminated. Sets *n to their number.
static char *take(int fd, size_t most, size_t *n) {
  struct stat s;
  size_t size = fstat(fd, &s) ? 0 : (size_t)s.st_size, at = 0;
  if (size > most) size = most;
  char *text = nw_xmalloc(size + 1);
  for (ssize_t got; at < size && (got = pread(fd, text + at, size - at, (off_t)at)) != 0;) {
    if (got > 0) at += (size_t)got;
    if (got < 0 && errno != EINTR) break;
  }
  text[at] = '\0';
  if (n) *n = at;
  return text;
}

// Starts the program with default signal handling, as a shell does, and in its own process group, so that the whole
// group can be killed. Returns 0 or an errno value.
static int start(pid_t *pid, const char *const *argv, const int *file) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&files);
  for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&files, file[i], i);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  int why = posix_spawnp(pid, argv[0], &files, &attr, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  return why;
}

static bool wanted(nw_ctx *c, const nw_child *child) {
  if (child->stopped && child->stopped(child->env)) c->interrupted = 1;
  return !nw_stopped(c);
}

// Waits until the program ends, and returns true. If interrupted, kills the whole group and returns false.
static bool wait_for(nw_ctx *c, pid_t pid, const nw_child *child, int *status) {
  struct pollfd p = {.fd = pidfd_open(pid, 0), .events = POLLIN};
  pid_t got = 0;
  bool go = true;
  while (go && (got = waitpid(pid, status, WNOHANG)) == 0) {
    go = wanted(c, child);
    if (!go) break;
    nw_progress(c, child->what, -1);
    poll(&p, 1, p.fd < 0 ? LOOK_WITHOUT_PIDFD_MS : LOOK_MS);
  }
  nw_progress_end(c);
  if (p.fd >= 0) close(p.fd);
  if (got == pid) return true;
  kill(-pid, SIGKILL);
  while (waitpid(pid, status, 0) < 0 && errno == EINTR) {}
  return false;
}

static bool run_with(nw_ctx *c, const char *const *argv, nw_child *child, const int *file) {
  pid_t pid;
  int status = 0;
  for (int i = 0; i < 3; i++)
    if (file[i] < 0)
      return nw_fail(c, NW_EIO, NULL, "cannot start %s: cannot make a file in memory: %s", argv[0],
                     nw_file_reason(errno));
  if (!fill(file[0], child->input, child->ninput))
    return nw_fail(c, NW_EIO, NULL, "cannot start %s: cannot write its input: %s", argv[0], nw_file_reason(errno));
  int why = start(&pid, argv, file);
  child->absent = why == ENOENT;
  if (why) return nw_fail(c, NW_EIO, NULL, "cannot start %s: %s", argv[0], nw_file_reason(why));
  if (!wait_for(c, pid, child, &status))
    return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while %s was running", argv[0]);
  child->status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  child->out = take(file[1], SIZE_MAX / 2, &child->nout);
  child->said = take(file[2], MOST_SAID, NULL);
  return true;
}

bool nw_child_run(nw_ctx *c, const char *const *argv, nw_child *child) {
  int file[3];
  for (int i = 0; i < 3; i++) file[i] = memfd_create("nestwright", MFD_CLOEXEC);
  bool good = run_with(c, argv, child, file);
  for (int i = 0; i < 3; i++)
    if (file[i] >= 0) close(file[i]);
  return good;
}
