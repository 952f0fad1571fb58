// The program nestwright-worker. It gets jobs from a socket and runs them one at a time, until the socket is closed.
// See run/worker/worker.h.
#include "run/worker/process.h"
#include "run/worker/worker.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct mapped {
  char *start, *data; // `start` is the guard page before the data; another guard page follows the data
  size_t bytes;
} mapped;

typedef struct job {
  nw_wire_job head;
  char *message;
  const char *library, *symbol;
  const nw_wire_segment *segment;
  const nw_wire_word *word;
  int memory;
  mapped *at;
} job;

static const job *running;
static size_t page;

static bool write_all(const void *data, size_t n) {
  for (const char *p = data; n;) {
    ssize_t done = write(NW_WORKER_FD, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

static bool reply(const nw_wire_reply *r) {
  uint32_t length = sizeof *r;
  return write_all(&length, sizeof length) && write_all(r, sizeof *r);
}

static bool read_all(void *data, size_t n) {
  for (char *p = data; n;) {
    ssize_t done = read(NW_WORKER_FD, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

// ---- crashes: report the address, then end by the signal

static void locate(nw_wire_reply *r, const char *address) {
  r->segment = -1;
  for (uint32_t i = 0; running && running->at && i < running->head.nsegments; i++) {
    const mapped *m = &running->at[i];
    if (!m->start || address < m->start || address >= m->data + m->bytes + page) continue;
    r->segment = (int32_t)i;
    r->at = address - m->data;
  }
}

static void on_crash(int sig, siginfo_t *info, void *context) {
  (void)context;
  static nw_wire_reply r;
  r = (nw_wire_reply){.outcome = NW_WIRE_CRASHED, .signal = sig};
  locate(&r, info->si_addr);
  signal(sig, SIG_DFL);
  reply(&r);
}

static void catch_crashes(void) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  static char stack[1 << 16];
  stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction a = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaltstack(&s, NULL);
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) sigaction(crashes[i], &a, NULL);
}

// ---- one job

// Receives the length of a job, and the file descriptor of its memory, which arrives together with the length.
static bool receive_head(uint32_t *length, int *fd) {
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {length, sizeof *length};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n;
  do n = recvmsg(NW_WORKER_FD, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (n < 0 && errno == EINTR);
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  if (n != sizeof *length || !c || c->cmsg_type != SCM_RIGHTS) return false;
  memcpy(fd, CMSG_DATA(c), sizeof *fd);
  return *length >= sizeof(nw_wire_job) && *length <= NW_WIRE_MOST;
}

static bool receive(job *j) {
  uint32_t length;
  if (!receive_head(&length, &j->memory)) return false;
  j->message = malloc(length);
  if (!j->message || !read_all(j->message, length)) return false;
  memcpy(&j->head, j->message, sizeof j->head);
  size_t segments = sizeof j->head, words = segments + j->head.nsegments * sizeof *j->segment;
  size_t library = words + j->head.nwords * sizeof *j->word, symbol = library + j->head.nlibrary;
  j->segment = (const nw_wire_segment *)(j->message + segments);
  j->word = (const nw_wire_word *)(j->message + words);
  j->library = j->message + library;
  j->symbol = j->message + symbol;
  return symbol + j->head.nsymbol == length && j->head.nwords <= NW_MAX_WORDS;
}

static bool map_segment(const job *j, uint32_t i) {
  const nw_wire_segment *s = &j->segment[i];
  mapped *m = &j->at[i];
  char *room = mmap(NULL, s->bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  *m = (mapped){room, room + page, s->bytes};
  int may = PROT_READ | (s->writable ? PROT_WRITE : 0);
  return mmap(m->data, s->bytes, may, MAP_SHARED | MAP_FIXED, j->memory, (off_t)s->offset) == m->data;
}

static bool map_all(job *j) {
  j->at = calloc(j->head.nsegments + 1, sizeof *j->at);
  for (uint32_t i = 0; j->at && i < j->head.nsegments; i++)
    if (!map_segment(j, i)) return false;
  return j->at != NULL;
}

static void unmap_all(job *j) {
  for (uint32_t i = 0; j->at && i < j->head.nsegments; i++)
    if (j->at[i].start) munmap(j->at[i].start, j->at[i].bytes + 2 * page);
  free(j->at);
  free(j->message);
  close(j->memory);
}

static void call(const job *j, void *symbol) {
  int64_t w[NW_MAX_WORDS] = {0};
  for (uint32_t i = 0; i < j->head.nwords; i++) {
    const nw_wire_word *from = &j->word[i];
    w[i] = from->segment < 0 ? from->value : (int64_t)(intptr_t)(j->at[from->segment].data + from->value);
  }
  nw_words_fn fn = (nw_words_fn)(uintptr_t)symbol;
  running = j;
  fn(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]);
  running = NULL;
}

static void say(nw_wire_reply *r, nw_wire_outcome outcome, const char *text) {
  r->outcome = outcome;
  if (outcome) snprintf(r->text, sizeof r->text, "%s", text ? text : "?");
}

// Runs a job. The library is closed after the job, because its file may change before the next job.
static void run(job *j, nw_wire_reply *r) {
  void *library = dlopen(j->library, RTLD_NOW | RTLD_LOCAL);
  if (!library) return say(r, NW_WIRE_NO_LIBRARY, dlerror());
  void *symbol = dlsym(library, j->symbol);
  if (!symbol)
    say(r, NW_WIRE_NO_SYMBOL, dlerror());
  else if (!map_all(j))
    say(r, NW_WIRE_NO_MEMORY, "the memory cannot be mapped");
  else
    call(j, symbol);
  dlclose(library);
}

int main(void) {
  struct rlimit none = {0};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGXFSZ, SIG_IGN); // exceeding the file size limit is then a write error
  page = (size_t)sysconf(_SC_PAGESIZE);
  catch_crashes();
  uint32_t ready = NW_WIRE_READY;
  if (!write_all(&ready, sizeof ready)) return 0;
  for (;;) {
    job j = {.memory = -1};
    nw_wire_reply r = {.segment = -1};
    if (!receive(&j)) return 0;
    run(&j, &r);
    unmap_all(&j);
    if (!reply(&r)) return 0;
  }
}
