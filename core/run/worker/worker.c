// The session's side of the worker. It starts the worker when it is first needed, sends jobs to the worker, and kills
// the worker if it does not answer.
#include "run/worker/worker.h"
#include "run/worker/process.h"
#include "run/kernel.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "nestwright-worker"

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

static nw_heard hear_reply(nw_ctx *c, const nw_worker *w, nw_wire_reply *r, double until) {
  uint32_t length;
  nw_heard h = nw_worker_hear(c, w, &length, sizeof length, until);
  if (h != NW_HEARD) return h;
  return length == sizeof *r ? nw_worker_hear(c, w, r, sizeof *r, until) : NW_CLOSED;
}

// ---- starting

// Returns the current worker, or starts a new one. A worker that was killed in the meantime is removed first.
static nw_worker *worker_of(nw_ctx *c) {
  nw_session *s = nw_session_of(c);
  if (s->worker && nw_worker_is_gone(s->worker, 0)) end_worker(c);
  if (s->worker) return s->worker;
  s->worker = nw_worker_start(c, "NESTWRIGHT_WORKER", PROGRAM);
  return s->worker && nw_worker_greeted(c, &s->worker, NW_WIRE_READY) ? s->worker : NULL;
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

static bool send_job(const nw_worker *w, const nw_job *j) {
  nw_str b = message_of(j);
  uint32_t length = (uint32_t)b.n;
  bool good = nw_worker_send(w, &length, sizeof length, j->memory->fd) && nw_worker_send(w, b.s, b.n, -1);
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

static bool lost(nw_ctx *c, const nw_job *j, nw_heard h) {
  bool gone = h == NW_CLOSED && nw_worker_is_gone(nw_session_of(c)->worker, 0.2);
  int status = end_worker(c);
  if (h == NW_INTERRUPTED) return nw_fail(c, NW_EINTERRUPT, NULL, "interrupted while %s was running", j->symbol);
  if (h == NW_LATE)
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
  if (!send_job(w, j)) { // the worker may have died in the meantime: try again with a new one
    end_worker(c);
    w = worker_of(c);
    if (!w || !send_job(w, j)) return nw_fail(c, NW_EIO, NULL, "the worker does not accept a job");
  }
  nw_heard h = hear_reply(c, w, &r, nw_now() + j->timeout);
  return h == NW_HEARD ? outcome(c, j, &r) : lost(c, j, h);
}
