// Publishes messages, and the text that is written to stdout and stderr, on the iopub socket.
//
// Each thread sends its own messages, under the lock `send`. (Waking a separate thread for sending would take several
// times as long as executing `1+1`.) Text has another lock, `text`, which is taken before `send`. A thread that waits
// for the rate limit holds only `text`, so the control thread can still publish its status. The thread that collects
// text waits a moment for more text, so that it sends few messages.
//
// The notebook server drops output of a kernel that sends too many messages, or more than a megabyte a second (options
// iopub_msg_rate_limit and iopub_data_rate_limit). So the kernel limits its own rate, over the same time window of 3 s.
#include "kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum {
  GATHER_MS = 30, // milliseconds for which collected text waits for more text
  BATCH = 256 << 10, // number of collected bytes at which text is sent without waiting
  PIPE = 512 << 10, // capacity of each pipe in bytes
  BURST = 1000000, // bytes that may be sent at once
  RATE = 600, // bytes per millisecond that may be sent after a burst; less than 3 MB in any 3 s
  COUNT = 1000, // a shorter message counts as this many bytes; less than 3,000 messages in any 3 s
  MOST = 4 << 20, // largest number of bytes of a cell's text that are published from each stream
  HELD = 2, // largest number of messages that are held back: the busy status, and execute_input
};

typedef struct stream {
  const char *name;
  int fd; // read end of the pipe
  char *text; // text that was not yet sent
  size_t n, cap;
  int64_t since; // time when the first byte of `text` arrived
  size_t cell; // bytes that the running cell has written
  bool capped;
} stream;

typedef struct held { // a message that can wait a moment
  const char *type;
  char *parent;
  json_t *content;
} held;

typedef struct publisher {
  nwj *k;
  pthread_mutex_t text; // protects the following fields
  atomic_int wanted; // number of threads that wait for the lock `text`
  char *parent; // header of the request to which the text belongs
  stream stream[2];
  int64_t budget, counted; // budget: bytes that may still be sent; counted: when the budget was last updated
  pthread_mutex_t send; // protects the socket and the following fields
  held held[HELD]; // sent before all other messages
  int nheld;
  int changed; // file descriptor that becomes readable when a client subscribes
  int stop; // file descriptor that becomes readable when the collecting thread must end
} publisher;

static publisher the_one = {
    .text = PTHREAD_MUTEX_INITIALIZER, .send = PTHREAD_MUTEX_INITIALIZER, .changed = -1, .stop = -1};
static int log_fd = STDERR_FILENO;

int nwj_log_fd(void) { return log_fd; }

int64_t nwj_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// ---- sending

// Sends a message and returns its size in bytes. The caller holds the lock `send`.
static size_t send_one(publisher *p, const char *type, const char *parent, json_t *metadata, json_t *content) {
  nwj_send_part(p->k->iopub, type, strlen(type), true);
  return nwj_send(p->k, p->k->iopub, type, parent, metadata, content);
}

// Answers a subscription with the message iopub_welcome of JEP 65. This message tells the client that it will receive
// every later message.
static void welcome(publisher *p, const char *message, size_t size) {
  if (size == 0 || *message != 1) return;
  char *topic = strndup(message + 1, size - 1);
  json_t *content = json_pack("{s:s}", "subscription", topic);
  send_one(p, "iopub_welcome", NULL, NULL, content ? content : json_pack("{s:s}", "subscription", ""));
  free(topic);
}

// Answers all pending subscriptions. The function is also called after each message, because sending may clear the
// event that p->changed signals. The caller holds the lock `send`.
static void take_subscriptions(publisher *p) {
  for (bool more = true; more;) {
    zmq_msg_t m;
    zmq_msg_init(&m);
    more = zmq_msg_recv(&m, p->k->iopub, ZMQ_DONTWAIT) >= 0;
    if (more) welcome(p, zmq_msg_data(&m), zmq_msg_size(&m));
    zmq_msg_close(&m);
  }
}

// Sends the messages that were held back. The caller holds the lock `send`.
static void release(publisher *p) {
  for (int i = 0; i < p->nheld; i++) {
    send_one(p, p->held[i].type, p->held[i].parent, NULL, p->held[i].content);
    free(p->held[i].parent);
  }
  p->nheld = 0;
}

static size_t publish(publisher *p, const char *type, const char *parent, json_t *metadata, json_t *content) {
  pthread_mutex_lock(&p->send);
  release(p);
  size_t bytes = send_one(p, type, parent, metadata, content);
  take_subscriptions(p);
  pthread_mutex_unlock(&p->send);
  return bytes;
}

// ---- text

// True if this is the main thread and the user has interrupted its code.
static bool is_interrupted(const publisher *p) {
  return pthread_equal(pthread_self(), p->k->main) && nwh_interrupted(p->k->host);
}

// Waits until the rate limit allows more output. Meanwhile the pipes fill, and the threads that write to them block.
static void wait_for_budget(publisher *p) {
  for (;;) {
    int64_t now = nwj_now_ms();
    p->budget += RATE * (now - p->counted);
    p->counted = now;
    if (p->budget > BURST) p->budget = BURST;
    if (p->budget > 0 || p->k->hurry || is_interrupted(p)) return;
    usleep(10000);
  }
}

static void send_counted(publisher *p, const char *type, const char *parent, json_t *metadata, json_t *content) {
  wait_for_budget(p);
  int64_t bytes = (int64_t)publish(p, type, parent, metadata, content);
  p->budget -= bytes > COUNT ? bytes : COUNT;
}

static void send_text(publisher *p, stream *s, const char *text, size_t n) {
  json_t *content = json_pack("{s:s, s:s%}", "name", s->name, "text", text, n);
  if (content) send_counted(p, "stream", p->parent, NULL, content);
}

static void flush_stream(publisher *p, stream *s, bool last) {
  if (!s->n) return;
  size_t used, size;
  char *text = nwj_repaired(s->text, s->n, last, &used, &size);
  if (size) send_text(p, s, text, size);
  free(text);
  memmove(s->text, s->text + used, s->n - used);
  s->n -= used;
  s->since = nwj_now_ms();
}

static void cap(publisher *p, stream *s) {
  char text[160];
  flush_stream(p, s, true);
  s->capped = true;
  int n = snprintf(text, sizeof text, "\n[output of this cell beyond %d MB is not shown]\n", MOST >> 20);
  send_text(p, s, text, (size_t)n);
}

static void keep_text(publisher *p, stream *s, const char *text, size_t n) {
  if (s->capped) return;
  if (!s->n) s->since = nwj_now_ms();
  if (s->n + n > s->cap) {
    s->cap = 2 * (s->n + n);
    s->text = realloc(s->text, s->cap);
  }
  memcpy(s->text + s->n, text, n);
  s->n += n;
  s->cell += n;
  if (s->cell > MOST) cap(p, s);
}

// Reads from the pipe once. Returns the number of bytes; 0 or less if there are none.
static ssize_t read_stream(publisher *p, stream *s) {
  static char buffer[1 << 16];
  ssize_t n = read(s->fd, buffer, sizeof buffer);
  if (n > 0) keep_text(p, s, buffer, (size_t)n);
  return n;
}

// Reads the text that is in the pipe now. Does not read text that is written in the meantime, because a writer may
// never stop.
static void drain_stream(publisher *p, stream *s) {
  int left = 0;
  if (ioctl(s->fd, FIONREAD, &left) < 0) return;
  for (ssize_t n; left > 0 && (n = read_stream(p, s)) > 0; left -= (int)n)
    if (s->n >= BATCH) flush_stream(p, s, false);
}

static void drain(publisher *p) {
  for (int i = 0; i < 2; i++) {
    drain_stream(p, &p->stream[i]);
    flush_stream(p, &p->stream[i], true);
  }
}

static void lock_text(publisher *p) {
  p->wanted++;
  pthread_mutex_lock(&p->text);
  p->wanted--;
}

// ---- the collecting thread

// Returns the milliseconds until the first collected text must be sent, or -1 if there is no text.
static int due(publisher *p) {
  int64_t at = -1;
  for (int i = 0; i < 2; i++) {
    stream *s = &p->stream[i];
    if (!s->n) continue;
    int64_t left = s->n >= BATCH ? 0 : s->since + GATHER_MS - nwj_now_ms();
    if (left < 0) left = 0;
    if (at < 0 || left < at) at = left;
  }
  return (int)at;
}

static void flush_due(publisher *p) {
  for (int i = 0; i < 2; i++) {
    stream *s = &p->stream[i];
    if (s->n && (s->n >= BATCH || nwj_now_ms() - s->since >= GATHER_MS)) flush_stream(p, s, false);
  }
}

static void gather(publisher *p, const struct pollfd fd[2]) {
  for (int i = 0; i < 2; i++)
    if (fd[i].revents) read_stream(p, &p->stream[i]);
  flush_due(p);
}

static void see_subscriptions(publisher *p) {
  pthread_mutex_lock(&p->send);
  take_subscriptions(p);
  pthread_mutex_unlock(&p->send);
}

static void *run(void *arg) {
  publisher *p = arg;
  int wait = -1;
  for (;;) {
    struct pollfd fd[] = {
        {p->stream[0].fd, POLLIN, 0}, {p->stream[1].fd, POLLIN, 0}, {p->changed, POLLIN, 0}, {p->stop, POLLIN, 0}};
    if (poll(fd, 4, wait) < 0) continue;
    if (fd[3].revents) return NULL;
    if (fd[2].revents) see_subscriptions(p);
    while (p->wanted) usleep(100); // lets waiting threads take the lock `text` first
    pthread_mutex_lock(&p->text);
    gather(p, fd);
    wait = due(p);
    pthread_mutex_unlock(&p->text);
  }
}

// ---- starting and ending

// Redirects fd to a pipe and returns the read end. Returns -1 on failure.
static int captured(int fd) {
  int end[2];
  if (pipe2(end, O_CLOEXEC)) return -1;
  fcntl(end[1], F_SETPIPE_SZ, PIPE);
  fcntl(end[0], F_SETFL, O_NONBLOCK);
  if (dup2(end[1], fd) < 0) return -1;
  close(end[1]);
  return end[0];
}

bool nwj_iopub_start(nwj *k, pthread_t *thread) {
  publisher *p = &the_one;
  size_t size = sizeof p->changed;
  p->k = k;
  p->stop = eventfd(0, EFD_CLOEXEC);
  log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  p->stream[0] = (stream){.name = "stdout", .fd = captured(STDOUT_FILENO)};
  p->stream[1] = (stream){.name = "stderr", .fd = captured(STDERR_FILENO)};
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  if (p->stream[0].fd < 0 || p->stream[1].fd < 0 || zmq_getsockopt(k->iopub, ZMQ_FD, &p->changed, &size)) return false;
  return pthread_create(thread, NULL, run, p) == 0;
}

void nwj_iopub_stop(pthread_t thread) {
  publisher *p = &the_one;
  uint64_t one = 1;
  if (write(p->stop, &one, sizeof one) < 0) return;
  pthread_join(thread, NULL);
  zmq_close(p->k->iopub);
  free(p->parent);
  for (int i = 0; i < 2; i++) free(p->stream[i].text);
}

// ---- functions for all threads

void nwj_publish(const char *type, const char *parent, json_t *content) {
  publish(&the_one, type, parent, NULL, content);
}

void nwj_publish_soon(const char *type, const char *parent, json_t *content) {
  publisher *p = &the_one;
  pthread_mutex_lock(&p->send);
  if (p->nheld == HELD) release(p);
  p->held[p->nheld++] = (held){type, strdup(parent), content};
  pthread_mutex_unlock(&p->send);
}

void nwj_publish_held(void) {
  publisher *p = &the_one;
  pthread_mutex_lock(&p->send);
  release(p);
  pthread_mutex_unlock(&p->send);
}

void nwj_publish_now(const char *type, const char *parent, json_t *metadata, json_t *content) {
  publisher *p = &the_one;
  fflush(NULL);
  lock_text(p);
  drain(p);
  send_counted(p, type, parent, metadata, content);
  pthread_mutex_unlock(&p->text);
}

void nwj_status(const char *parent, const char *state) {
  nwj_publish("status", parent, json_pack("{s:s}", "execution_state", state));
}

void nwj_drain(const char *parent) {
  publisher *p = &the_one;
  fflush(NULL);
  lock_text(p);
  drain(p);
  free(p->parent);
  p->parent = parent ? strdup(parent) : NULL;
  for (int i = 0; i < 2; i++) p->stream[i].cell = 0, p->stream[i].capped = false;
  pthread_mutex_unlock(&p->text);
}
