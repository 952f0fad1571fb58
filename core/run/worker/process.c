// Starts workers, talks with them and ends them.
#include "run/worker/process.h"
#include "run/kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_SECONDS = 20 };

// Starts the worker in its own process group, so that signals from the terminal to the session's group do not reach it.
static bool spawn(nw_ctx *c, nw_worker *w, const char *variable, const char *program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return nw_fail(c, NW_EIO, NULL, "%s", strerror(errno));
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], NW_WORKER_FD);
  posix_spawn_file_actions_addclosefrom_np(&files, NW_WORKER_FD + 1);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char *argv[] = {(char *)program, NULL};
  int failed = posix_spawn(&w->pid, program, &files, &attr, argv, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  close(ends[1]);
  w->socket = ends[0];
  if (!failed) return true;
  close(ends[0]);
  const char *hint = nw_diag_printf(c, "set %s to the path of the worker", variable);
  return nw_fail(c, NW_EIO, hint, "cannot start %s: %s", program, strerror(failed));
}

nw_worker *nw_worker_start(nw_ctx *c, const char *variable, const char *program) {
  char path[4096];
  nw_worker w;
  if (!nw_find_library(variable, program, path, sizeof path))
    return nw_fail(c, NW_EIO, nw_diag_printf(c, "set %s to the path of the worker", variable),
                   "there is no %s next to the library", program);
  if (!spawn(c, &w, variable, path)) return NULL;
  nw_worker *out = nw_xcalloc(1, sizeof *out);
  w.path = nw_xstrdup(path);
  *out = w;
  return out;
}

int nw_worker_end(nw_worker *w) {
  int status = 0;
  if (!w) return 0;
  close(w->socket);
  kill(-w->pid, SIGKILL);
  kill(w->pid, SIGKILL);
  while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {}
  free(w->path);
  free(w);
  return status;
}

// ---- talking

nw_heard nw_worker_hear(nw_ctx *c, const nw_worker *w, void *data, size_t n, double until) {
  for (char *at = data; n;) {
    if (c->interrupted) return NW_INTERRUPTED;
    double left = until - nw_now();
    if (left <= 0) return NW_LATE;
    struct pollfd p = {.fd = w->socket, .events = POLLIN};
    int ready = poll(&p, 1, left < 0.1 ? (int)(left * 1e3) + 1 : 100);
    if (ready <= 0) continue;
    ssize_t got = recv(w->socket, at, n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return NW_CLOSED;
    at += got;
    n -= (size_t)got;
  }
  return NW_HEARD;
}

static bool send_all(int fd, const char *data, size_t n) {
  while (n) {
    ssize_t done = send(fd, data, n, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    data += done;
    n -= (size_t)done;
  }
  return true;
}

bool nw_worker_send(const nw_worker *w, const void *data, size_t n, int fd) {
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.room = {0}};
  struct iovec part = {(void *)data, n};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (fd < 0) return send_all(w->socket, data, n);
  control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
  ssize_t done;
  while ((done = sendmsg(w->socket, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR) {}
  return done > 0 && send_all(w->socket, (const char *)data + done, n - (size_t)done);
}

// ---- its end

bool nw_worker_is_gone(const nw_worker *w, double patience) {
  siginfo_t info = {0};
  for (double until = nw_now() + patience;; usleep(2000)) {
    if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT | WNOHANG) || info.si_pid) return true;
    if (nw_now() >= until) return false;
  }
}

// Returns a text for a message that says how a worker ended.
static const char *ending_of(nw_ctx *c, int status) {
  if (WIFEXITED(status)) return nw_diag_printf(c, "it ended with status %d", WEXITSTATUS(status));
  return nw_diag_printf(c, "it was ended by signal %d: %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

bool nw_worker_greeted(nw_ctx *c, nw_worker **at, uint32_t word) {
  nw_worker *w = *at;
  uint32_t first = 0;
  nw_heard h = nw_worker_hear(c, w, &first, sizeof first, nw_now() + START_SECONDS);
  if (h == NW_HEARD && first == word) return true;
  bool gone = h == NW_CLOSED && nw_worker_is_gone(w, 0.2);
  const char *path = nw_diag_printf(c, "%s", w->path);
  int status = nw_worker_end(w);
  *at = NULL;
  if (h == NW_INTERRUPTED) return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while the worker was starting");
  const char *why = gone           ? ending_of(c, status)
                    : h == NW_LATE ? nw_diag_printf(c, "it did not answer for %d seconds", START_SECONDS)
                                   : "it is another program or another version";
  return nw_fail(c, NW_EIO, "call it again: a new worker starts", "the worker %s did not start: %s", path, why);
}
