// The thread that publishes: what other threads hand it, and what is written to stdout and stderr.
//
// Text is gathered for a moment and goes out in few messages; a front end gives up on a kernel that sends too many, or more
// than a megabyte a second (notebook: iopub_msg_rate_limit, iopub_data_rate_limit), so bytes are counted over its window.
#include "kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum {
  GATHER_MS = 30, // text waits that long for more
  BATCH = 256 << 10,
  BURST = 1000000, // bytes that may go out at once, and a millisecond after that: under 3 MB in any 3 s
  RATE = 600,
  MOST = 4 << 20, // of one cell
};

typedef struct stream {
  const char *name;
  int fd; // the end that is read
  char *text; // not yet sent
  size_t n, cap;
  int64_t since; // when the first of it came
  size_t cell; // bytes of this cell
  bool capped;
} stream;

typedef struct publisher {
  nwj *k;
  void *in; // the queue
  json_t *parent; // of the text
  stream stream[2];
  int64_t budget, counted; // bytes that may still go out, as of when
} publisher;

static int done_fd = -1, log_fd = STDERR_FILENO;

int nwj_log_fd(void) { return log_fd; }

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// ---- sending

static void publish(publisher *p, const char *topic, const nwj_frame part[4]) {
  nwj_send_part(p->k->iopub, topic, strlen(topic), true);
  nwj_send_signed(p->k, p->k->iopub, part);
}

// The bytes of the message.
static size_t publish_json(publisher *p, const char *type, const json_t *parent, json_t *content) {
  json_t *header = nwj_header(p->k, type);
  char *text[4] = {nwj_dumped(header), nwj_dumped(parent), nwj_dumped(NULL), nwj_dumped(content)};
  nwj_frame part[4];
  size_t bytes = 0;
  for (int i = 0; i < 4; i++) {
    part[i] = (nwj_frame){text[i], strlen(text[i])};
    bytes += part[i].size;
  }
  publish(p, type, part);
  for (int i = 0; i < 4; i++) free(text[i]);
  json_decref(header);
  json_decref(content);
  return bytes;
}

// ---- text

// Bytes of the well-formed character at s, 0 for none; -1 when it may go on beyond the end.
static int utf8_length(const unsigned char *s, size_t n) {
  int want = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
  for (int i = 1; i < want; i++) {
    if ((size_t)i >= n) return -1;
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1 && s[0] == 0xE0) low = 0xA0;
    if (i == 1 && s[0] == 0xED) high = 0x9F;
    if (i == 1 && s[0] == 0xF0) low = 0x90;
    if (i == 1 && s[0] == 0xF4) high = 0x8F;
    if (s[i] < low || s[i] > high) return 0;
  }
  return want;
}

// What is no UTF-8 becomes U+FFFD. A character that is not whole yet stays behind, unless `last`. Heap; *used of n.
static char *repaired(const char *text, size_t n, bool last, size_t *used, size_t *size) {
  char *out = malloc(3 * n + 1);
  size_t i = 0, k = 0;
  while (i < n) {
    int want = utf8_length((const unsigned char *)text + i, n - i);
    if (want < 0 && !last) break;
    if (want > 0) {
      memcpy(out + k, text + i, (size_t)want);
      k += (size_t)want;
      i += (size_t)want;
    } else {
      memcpy(out + k, "\xEF\xBF\xBD", 3);
      k += 3;
      i++;
    }
  }
  *used = i;
  *size = k;
  return out;
}

// Waits until the front end may be sent more; meanwhile the pipes fill and those who write wait too.
static void wait_for_budget(publisher *p) {
  for (;;) {
    int64_t now = now_ms();
    p->budget += RATE * (now - p->counted);
    p->counted = now;
    if (p->budget > BURST) p->budget = BURST;
    if (p->budget > 0 || p->k->leaving) return;
    usleep(10000);
  }
}

static void send_text(publisher *p, stream *s, const char *text, size_t n) {
  wait_for_budget(p);
  json_t *content = json_pack("{s:s, s:s%}", "name", s->name, "text", text, n);
  if (content) p->budget -= (int64_t)publish_json(p, "stream", p->parent, content);
}

static void flush_stream(publisher *p, stream *s, bool last) {
  if (!s->n) return;
  size_t used, size;
  char *text = repaired(s->text, s->n, last, &used, &size);
  if (size) send_text(p, s, text, size);
  free(text);
  memmove(s->text, s->text + used, s->n - used);
  s->n -= used;
  s->since = now_ms();
}

static void cap(publisher *p, stream *s) {
  char text[160];
  flush_stream(p, s, true);
  s->capped = true;
  int n = snprintf(text, sizeof text, "\n[what this cell writes beyond %d MB is not shown]\n", MOST >> 20);
  send_text(p, s, text, (size_t)n);
}

static void keep_text(publisher *p, stream *s, const char *text, size_t n) {
  if (s->capped) return;
  if (!s->n) s->since = now_ms();
  if (s->n + n > s->cap) {
    s->cap = 2 * (s->n + n);
    s->text = realloc(s->text, s->cap);
  }
  memcpy(s->text + s->n, text, n);
  s->n += n;
  s->cell += n;
  if (s->cell > MOST) cap(p, s);
}

// Reads once; false when there is nothing.
static bool read_stream(publisher *p, stream *s) {
  static char buffer[1 << 16];
  ssize_t n = read(s->fd, buffer, sizeof buffer);
  if (n <= 0) return false;
  keep_text(p, s, buffer, (size_t)n);
  return true;
}

static void drain_stream(publisher *p, stream *s) {
  while (read_stream(p, s))
    if (s->n >= BATCH) flush_stream(p, s, false);
}

static void drain(publisher *p) {
  for (int i = 0; i < 2; i++) {
    drain_stream(p, &p->stream[i]);
    flush_stream(p, &p->stream[i], true);
  }
}

// ---- the queue: type, parent, metadata, content of a message, and one more if somebody waits; or "drain" and a parent

static char *received(void *socket, bool *more) {
  zmq_msg_t m;
  zmq_msg_init(&m);
  char *s = NULL;
  if (zmq_msg_recv(&m, socket, 0) >= 0) {
    size_t n = zmq_msg_size(&m);
    s = malloc(n + 1);
    memcpy(s, zmq_msg_data(&m), n);
    s[n] = '\0';
  }
  *more = zmq_msg_more(&m);
  zmq_msg_close(&m);
  return s;
}

static void new_parent(publisher *p, const char *text) {
  drain(p);
  json_decref(p->parent);
  p->parent = json_loads(text, 0, NULL);
  for (int i = 0; i < 2; i++) p->stream[i].cell = 0, p->stream[i].capped = false;
}

static void done(void) {
  uint64_t one = 1;
  if (write(done_fd, &one, sizeof one) < 0) return;
}

static void pass_on(publisher *p, char *const *field) {
  json_t *header = nwj_header(p->k, field[0]);
  char *text = nwj_dumped(header);
  nwj_frame part[4] = {{text, strlen(text)}};
  for (int i = 1; i < 4; i++) part[i] = (nwj_frame){field[i], strlen(field[i])};
  drain(p);
  publish(p, field[0], part);
  free(text);
  json_decref(header);
}

static void take_queue(publisher *p) {
  char *field[5] = {NULL};
  bool more = true;
  int n = 0;
  while (more && n < 5) field[n++] = received(p->in, &more);
  if (n == 2 && field[0] && strcmp(field[0], "drain") == 0) new_parent(p, field[1]);
  if (n >= 4 && field[0]) pass_on(p, field);
  if (n == 2 || n == 5) done();
  for (int i = 0; i < n; i++) free(field[i]);
}

// A subscription: the welcome of JEP 65, so that a client knows from when on it misses nothing.
static void welcome(publisher *p) {
  zmq_msg_t m;
  zmq_msg_init(&m);
  if (zmq_msg_recv(&m, p->k->iopub, ZMQ_DONTWAIT) > 0 && *(char *)zmq_msg_data(&m) == 1) {
    size_t n = zmq_msg_size(&m) - 1;
    char *topic = calloc(n + 1, 1);
    memcpy(topic, (char *)zmq_msg_data(&m) + 1, n);
    json_t *content = json_pack("{s:s}", "subscription", topic);
    publish_json(p, "iopub_welcome", NULL, content ? content : json_pack("{s:s}", "subscription", ""));
    free(topic);
  }
  zmq_msg_close(&m);
}

// ---- the loop

// When the earliest gathered text is due, in ms from now; -1: there is none.
static long due(publisher *p) {
  int64_t at = -1;
  for (int i = 0; i < 2; i++) {
    stream *s = &p->stream[i];
    if (!s->n) continue;
    int64_t left = s->n >= BATCH ? 0 : s->since + GATHER_MS - now_ms();
    if (left < 0) left = 0;
    if (at < 0 || left < at) at = left;
  }
  return (long)at;
}

static void flush_due(publisher *p) {
  for (int i = 0; i < 2; i++) {
    stream *s = &p->stream[i];
    if (s->n && (s->n >= BATCH || now_ms() - s->since >= GATHER_MS)) flush_stream(p, s, false);
  }
}

static void *run(void *arg) {
  publisher *p = arg;
  for (;;) {
    zmq_pollitem_t item[] = {{p->in, 0, ZMQ_POLLIN, 0},
                             {p->k->iopub, 0, ZMQ_POLLIN, 0},
                             {NULL, p->stream[0].fd, ZMQ_POLLIN, 0},
                             {NULL, p->stream[1].fd, ZMQ_POLLIN, 0}};
    if (zmq_poll(item, 4, due(p)) < 0) {
      if (zmq_errno() == ETERM) break;
      continue;
    }
    for (int i = 0; i < 2; i++)
      if (item[2 + i].revents) read_stream(p, &p->stream[i]);
    if (item[0].revents) take_queue(p);
    if (item[1].revents) welcome(p);
    flush_due(p);
  }
  zmq_close(p->in);
  zmq_close(p->k->iopub);
  json_decref(p->parent);
  for (int i = 0; i < 2; i++) free(p->stream[i].text);
  free(p);
  return NULL;
}

// ---- starting

// What is written to fd from now on is read at the answer; -1: it cannot be.
static int captured(int fd) {
  int end[2];
  if (pipe2(end, O_CLOEXEC)) return -1;
  fcntl(end[1], F_SETPIPE_SZ, 1 << 20);
  fcntl(end[0], F_SETFL, O_NONBLOCK);
  if (dup2(end[1], fd) < 0) return -1;
  close(end[1]);
  return end[0];
}

bool nwj_iopub_start(nwj *k, pthread_t *thread) {
  publisher *p = calloc(1, sizeof *p);
  p->k = k;
  done_fd = eventfd(0, EFD_CLOEXEC);
  log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  p->stream[0] = (stream){.name = "stdout", .fd = captured(STDOUT_FILENO)};
  p->stream[1] = (stream){.name = "stderr", .fd = captured(STDERR_FILENO)};
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  p->in = zmq_socket(k->zmq, ZMQ_PULL);
  if (p->stream[0].fd < 0 || p->stream[1].fd < 0 || zmq_bind(p->in, "inproc://iopub")) return false;
  return pthread_create(thread, NULL, run, p) == 0;
}

void *nwj_queue_new(nwj *k) {
  void *s = zmq_socket(k->zmq, ZMQ_PUSH);
  int none = 0;
  zmq_setsockopt(s, ZMQ_SNDHWM, &none, sizeof none);
  zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
  zmq_connect(s, "inproc://iopub");
  return s;
}

// ---- what other threads call

static void wait_until_done(void) {
  uint64_t n;
  while (read(done_fd, &n, sizeof n) < 0 && errno == EINTR) {}
}

static void enqueue(void *queue, const char *type, json_t *parent, json_t *metadata, json_t *content, bool wait) {
  char *text[] = {nwj_dumped(parent), nwj_dumped(metadata), nwj_dumped(content)};
  nwj_send_part(queue, type, strlen(type), true);
  for (int i = 0; i < 3; i++) {
    nwj_send_part(queue, text[i], strlen(text[i]), i < 2 || wait);
    free(text[i]);
  }
  if (wait) nwj_send_part(queue, "", 0, false);
  json_decref(metadata);
  json_decref(content);
}

void nwj_publish(nwj *k, void *queue, const char *type, json_t *parent, json_t *content) {
  (void)k;
  enqueue(queue, type, parent, NULL, content, false);
}

void nwj_publish_now(nwj *k, void *queue, const char *type, json_t *parent, json_t *metadata, json_t *content) {
  (void)k;
  fflush(NULL);
  enqueue(queue, type, parent, metadata, content, true);
  wait_until_done();
}

void nwj_status(nwj *k, void *queue, json_t *parent, const char *state) {
  nwj_publish(k, queue, "status", parent, json_pack("{s:s}", "execution_state", state));
}

void nwj_drain(nwj *k, void *queue, json_t *parent) {
  (void)k;
  char *text = nwj_dumped(parent);
  fflush(NULL);
  nwj_send_part(queue, "drain", 5, true);
  nwj_send_part(queue, text, strlen(text), false);
  wait_until_done();
  free(text);
}
