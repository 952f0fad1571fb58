// The session's side of the worker. It starts the worker when it is first needed, sends jobs to the worker, and kills
// the worker if it does not answer.
#include "run/worker/worker.h"
#include "run/kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "nestwright-worker"

enum { START_SECONDS = 20 };

struct nw_worker {
  pid_t pid;
  int socket;
};

// ---- memory

size_t nw_page(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

nw_shared *nw_shared_new(nw_ctx *c, size_t bytes) {
  nw_shared *m = nw_xcalloc(1, sizeof *m);
  *m = (nw_shared){.fd = memfd_create("nestwright", MFD_CLOEXEC), .bytes = nw_page(bytes ? bytes : 1)};
  bool good = m->fd >= 0 && !ftruncate(m->fd, (off_t)m->bytes);
  m->data = good ? mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0) : MAP_FAILED;
  if (m->data != MAP_FAILED) return m;
  nw_fail(c, NW_ERANGE, NULL, "cannot allocate %zu bytes of shared memory: %s", bytes, strerror(errno));
  m->data = NULL;
  nw_shared_free(m);
  return NULL;
}

void nw_shared_free(nw_shared *m) {
  if (!m) return;
  if (m->data) munmap(m->data, m->bytes);
  if (m->fd >= 0) close(m->fd);
  free(m);
}

// ---- the process

// Starts the worker in its own process group, so that signals from the terminal to the session's group do not reach it.
static bool spawn(nw_ctx *c, nw_worker *w, const char *program) {
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
  return nw_fail(c, NW_EIO, "set NESTWRIGHT_WORKER to the path of the worker", "cannot start %s: %s", program,
                 strerror(failed));
}

// Kills the worker and all processes that it started, and waits for it, so that no zombie remains. Returns the status
// of waitpid.
int nw_worker_end(nw_worker *w) {
  int status = 0;
  if (!w) return 0;
  close(w->socket);
  kill(-w->pid, SIGKILL);
  kill(w->pid, SIGKILL);
  while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {}
  free(w);
  return status;
}

static int end_worker(nw_ctx *c) {
  nw_session *s = nw_session_of(c);
  nw_worker *w = s->worker;
  s->worker = NULL;
  return nw_worker_end(w);
}

void nw_worker_close(nw_ctx *c) { end_worker(c); }

int nw_worker_pid(nw_ctx *c) {
  const nw_worker *w = nw_session_of(c)->worker;
  return w ? (int)w->pid : 0;
}

// ---- listening

typedef enum heard { HEARD, CLOSED, LATE, STOPPED } heard;

// Reads n bytes, and checks regularly for an interrupt. Returns LATE if the bytes do not arrive before the time
// `until`.
static heard hear(nw_ctx *c, int fd, void *data, size_t n, double until) {
  for (char *at = data; n;) {
    if (c->interrupted) return STOPPED;
    double left = until - nw_now();
    if (left <= 0) return LATE;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = poll(&p, 1, left < 0.1 ? (int)(left * 1e3) + 1 : 100);
    if (ready <= 0) continue;
    ssize_t got = recv(fd, at, n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return CLOSED;
    at += got;
    n -= (size_t)got;
  }
  return HEARD;
}

static heard hear_reply(nw_ctx *c, int fd, nw_wire_reply *r, double until) {
  uint32_t length;
  heard h = hear(c, fd, &length, sizeof length, until);
  if (h != HEARD) return h;
  return length == sizeof *r ? hear(c, fd, r, sizeof *r, until) : CLOSED;
}

// ---- starting

// True if the worker has ended. Waits up to `patience` seconds for its end. If the caller kills a worker that is about
// to end by itself, the status of the worker does not show why it closed the connection.
static bool is_gone(const nw_worker *w, double patience) {
  siginfo_t info = {0};
  for (double until = nw_now() + patience;; usleep(2000)) {
    if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT | WNOHANG) || info.si_pid) return true;
    if (nw_now() >= until) return false;
  }
}

// Returns a text for a message that says how a process ended.
static const char *ending_of(nw_ctx *c, int status) {
  if (WIFEXITED(status)) return nw_diag_printf(c, "it ended with status %d", WEXITSTATUS(status));
  return nw_diag_printf(c, "it was ended by signal %d: %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

// Waits for NW_WIRE_READY, which a worker sends when it is ready. Ends the worker and returns false, with a diagnostic,
// if the word does not arrive.
static bool greeted(nw_ctx *c, const char *path) {
  nw_worker *w = nw_session_of(c)->worker;
  uint32_t word = 0;
  heard h = hear(c, w->socket, &word, sizeof word, nw_now() + START_SECONDS);
  if (h == HEARD && word == NW_WIRE_READY) return true;
  bool gone = h == CLOSED && is_gone(w, 0.2);
  int status = end_worker(c);
  if (h == STOPPED) return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while the worker was starting");
  const char *why = gone        ? ending_of(c, status)
                    : h == LATE ? nw_diag_printf(c, "it did not answer for %d seconds", START_SECONDS)
                                : "it is another program or another version";
  return nw_fail(c, NW_EIO, "call it again: a new worker starts", "the worker %s did not start: %s", path, why);
}

// Returns the current worker, or starts a new one. A worker that was killed in the meantime is removed first.
static nw_worker *worker_of(nw_ctx *c) {
  nw_session *s = nw_session_of(c);
  char path[4096];
  if (s->worker && is_gone(s->worker, 0)) end_worker(c);
  if (s->worker) return s->worker;
  nw_worker w;
  if (!nw_find_library("NESTWRIGHT_WORKER", PROGRAM, path, sizeof path))
    return nw_fail(c, NW_EIO, "set NESTWRIGHT_WORKER to the path of the worker", "there is no %s next to the library",
                   PROGRAM);
  if (!spawn(c, &w, path)) return NULL;
  s->worker = nw_xcalloc(1, sizeof w);
  *s->worker = w;
  return greeted(c, path) ? s->worker : NULL;
}

// ---- a job

static void put(nw_str *b, const void *data, size_t n) { nw_str_addn(b, data, n); }

static nw_str message_of(const nw_job *j) {
  nw_wire_job head = {(uint32_t)strlen(j->library) + 1, (uint32_t)strlen(j->symbol) + 1, (uint32_t)j->nsegments,
                      (uint32_t)j->nwords};
  nw_str b = {0};
  put(&b, &head, sizeof head);
  for (int i = 0; i < j->nsegments; i++) {
    const nw_segment *s = &j->segment[i];
    put(&b, &(nw_wire_segment){s->offset, s->bytes, s->writable}, sizeof(nw_wire_segment));
  }
  for (int i = 0; i < j->nwords; i++)
    put(&b, &(nw_wire_word){j->word[i].segment, j->word[i].value}, sizeof(nw_wire_word));
  put(&b, j->library, head.nlibrary);
  put(&b, j->symbol, head.nsymbol);
  return b;
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

static bool send_job(int fd, const nw_job *j) {
  nw_str b = message_of(j);
  uint32_t length = (uint32_t)b.n;
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.room = {0}};
  struct iovec part = {&length, sizeof length};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.head), &j->memory->fd, sizeof(int));
  bool good = sendmsg(fd, &m, MSG_NOSIGNAL) == sizeof length && send_all(fd, b.s, b.n);
  nw_str_free(&b);
  return good;
}

// ---- errors of jobs

static bool crashed(nw_ctx *c, const nw_job *j, const nw_wire_reply *r) {
  const char *what = strsignal(r->signal);
  if (r->segment < 0 || r->segment >= j->nsegments)
    return nw_fail(c, NW_ECRASH, NULL, "%s crashed: %s", j->symbol, what);
  const nw_segment *s = &j->segment[r->segment];
  if (r->at >= 0 && r->at < (int64_t)s->bytes)
    return nw_fail(c, NW_ECRASH, NULL, "%s crashed: %s; it writes %s, which it may only read", j->symbol, what,
                   s->name);
  int64_t beyond = r->at < 0 ? -r->at : r->at - (int64_t)s->bytes;
  return nw_fail(c, NW_ECRASH, NULL, "%s crashed: %s; it touches memory %lld bytes %s %s", j->symbol, what,
                 (long long)beyond, r->at < 0 ? "before" : "after the end of", s->name);
}

// Reports a signal that the function did not cause. A user killed the worker, or the system killed it because memory
// ran out.
static bool killed(nw_ctx *c, const nw_job *j, int sig) {
  return nw_fail(c, NW_EIO, "call it again: a new worker starts; if memory ran out, use less",
                 "the worker was killed while %s was running (signal %d: %s)", j->symbol, sig, strsignal(sig));
}

static bool died(nw_ctx *c, const nw_job *j, int status) {
  if (WIFEXITED(status))
    return nw_fail(c, NW_ECRASH, NULL, "%s ended its process, with status %d", j->symbol, WEXITSTATUS(status));
  int sig = WTERMSIG(status);
  if (sig == SIGKILL || sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT) return killed(c, j, sig);
  return nw_fail(c, NW_ECRASH, NULL, "%s crashed: %s", j->symbol, strsignal(sig));
}

static bool lost(nw_ctx *c, const nw_job *j, heard h) {
  bool gone = h == CLOSED && is_gone(nw_session_of(c)->worker, 0.2);
  int status = end_worker(c);
  if (h == STOPPED) return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while %s was running", j->symbol);
  if (h == LATE)
    return nw_fail(c, NW_ECRASH, NULL, "%s did not end within %.3g seconds, and was killed", j->symbol, j->timeout);
  if (!gone)
    return nw_fail(c, NW_ECRASH, NULL, "%s closed the worker's connection, so the worker was killed", j->symbol);
  return died(c, j, status);
}

static bool outcome(nw_ctx *c, const nw_job *j, const nw_wire_reply *r) {
  switch (r->outcome) {
  case NW_WIRE_DONE: return true;
  case NW_WIRE_NO_LIBRARY: return nw_fail(c, NW_EINVAL, NULL, "cannot load %s: %s", j->library, r->text);
  case NW_WIRE_NO_SYMBOL: return nw_fail(c, NW_EINVAL, NULL, "%s has no function %s", j->library, j->symbol);
  case NW_WIRE_CRASHED: end_worker(c); return crashed(c, j, r);
  default: return nw_fail(c, NW_EIO, NULL, "the worker could not run %s: %s", j->symbol, r->text);
  }
}

bool nw_worker_run(nw_ctx *c, const nw_job *j) {
  if (nw_stopped(c) || nw_error(c)) return false;
  nw_worker *w = worker_of(c);
  nw_wire_reply r = {0};
  if (!w) return false;
  if (!send_job(w->socket, j)) { // the worker may have died in the meantime: try again with a new one
    end_worker(c);
    w = worker_of(c);
    if (!w || !send_job(w->socket, j)) return nw_fail(c, NW_EIO, NULL, "the worker does not accept a job");
  }
  heard h = hear_reply(c, w->socket, &r, nw_now() + j->timeout);
  return h == HEARD ? outcome(c, j, &r) : lost(c, j, h);
}
