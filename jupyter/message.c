// Makes, sends and receives messages.
#include "kernel.h"
#include <malloc.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <zmq.h>

enum {
  MAX_FRAMES = 64,
  HEADER = 400,
  LARGE = 4 << 20,
  MOST_DROPPED = 1000 // nwj_receive returns after this many dropped messages, because its caller may have other work
};

void nwj_new_id(char out[40]) {
  unsigned char b[16];
  char hex[33];
  randombytes_buf(b, sizeof b);
  sodium_bin2hex(hex, sizeof hex, b, sizeof b);
  snprintf(out, 40, "%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static void now(char *out, size_t size) {
  struct timeval t;
  struct tm tm;
  gettimeofday(&t, NULL);
  gmtime_r(&t.tv_sec, &tm);
  size_t n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(out + n, size - n, ".%06ldZ", (long)t.tv_usec);
}

// Writes the header of a new message. No field contains a character that JSON must escape.
static void make_header(const nwj *k, const char *type, char out[HEADER]) {
  char id[40], date[40];
  nwj_new_id(id);
  now(date, sizeof date);
  snprintf(out, HEADER,
           "{\"msg_id\":\"%s\",\"session\":\"%s\",\"username\":\"kernel\",\"date\":\"%s\",\"msg_type\":\"%.60s\","
           "\"version\":\"" NWJ_PROTOCOL "\"}",
           id, k->session, date, type);
}

// ---- receiving

static void skip_rest(void *socket, zmq_msg_t *last) {
  while (zmq_msg_more(last)) {
    zmq_msg_close(last);
    zmq_msg_init(last);
    if (zmq_msg_recv(last, socket, 0) < 0) return;
  }
}

// Receives the frames of one message, if there is one, and returns their number. Sets *whole to true if all frames were
// received.
static int receive_frames(void *socket, zmq_msg_t part[MAX_FRAMES], nwj_frame frame[MAX_FRAMES], bool *whole) {
  int n = 0;
  bool more = true;
  while (more && n < MAX_FRAMES) {
    zmq_msg_init(&part[n]);
    if (zmq_msg_recv(&part[n], socket, n ? 0 : ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&part[n]);
      break;
    }
    frame[n] = (nwj_frame){zmq_msg_data(&part[n]), zmq_msg_size(&part[n])};
    more = zmq_msg_more(&part[n++]);
  }
  *whole = n > 0 && !zmq_msg_more(&part[n - 1]);
  if (n == MAX_FRAMES) skip_rest(socket, &part[n - 1]);
  return n;
}

// Returns the memory of a large message to the system. Otherwise, the allocator would keep most of this memory.
static void give_back(size_t bytes) {
  if (bytes > LARGE) malloc_trim(0);
}

void nwj_done(nwj_message *m) {
  size_t bytes = m->bytes;
  nwj_message_free(m);
  give_back(bytes);
}

static bool is_new(nwj *k, nwj_message *m) {
  if (!k->seen || !nwj_seen_before(k->seen, m->mark)) return true;
  nwj_message_free(m);
  return false;
}

bool nwj_receive(nwj *k, void *socket, nwj_message *out) {
  for (int dropped = 0; dropped < MOST_DROPPED; dropped++) {
    zmq_msg_t part[MAX_FRAMES];
    nwj_frame frame[MAX_FRAMES];
    bool whole;
    int n = receive_frames(socket, part, frame, &whole);
    bool ok = whole && nwj_parse(&k->at.key, frame, n, out) && is_new(k, out);
    size_t bytes = 0;
    for (int i = 0; i < n; i++) {
      bytes += frame[i].size;
      zmq_msg_close(&part[i]);
    }
    if (ok) return true;
    give_back(bytes);
    if (n == 0) return false;
  }
  return false;
}

// ---- sending

// Returns v as a JSON text, which the caller frees. NULL counts as an empty object.
static char *dumped(const json_t *v) {
  char *s = v ? json_dumps(v, JSON_COMPACT) : NULL;
  return s ? s : strdup("{}");
}

void nwj_send_part(void *socket, const void *data, size_t size, bool more) {
  while (zmq_send(socket, data, size, more ? ZMQ_SNDMORE : 0) < 0 && zmq_errno() == EINTR) {}
}

size_t nwj_send(const nwj *k, void *socket, const char *type, const char *parent, json_t *metadata, json_t *content) {
  char header[HEADER], *extra = dumped(metadata), *text = dumped(content), signature[65];
  make_header(k, type, header);
  if (!parent) parent = "{}";
  nwj_frame part[] = {{header, strlen(header)}, {parent, strlen(parent)}, {extra, strlen(extra)}, {text, strlen(text)}};
  nwj_sign(&k->at.key, part, 4, signature);
  nwj_send_part(socket, "<IDS|MSG>", 9, true);
  nwj_send_part(socket, signature, strlen(signature), true);
  for (int i = 0; i < 4; i++) nwj_send_part(socket, part[i].data, part[i].size, i < 3);
  size_t bytes = part[0].size + part[1].size + part[2].size + part[3].size;
  free(extra);
  free(text);
  json_decref(metadata);
  json_decref(content);
  return bytes;
}

void nwj_reply(nwj *k, void *socket, const nwj_message *m, const char *type, json_t *content) {
  for (int i = 0; i < m->nids; i++) nwj_send_part(socket, m->id[i], m->idsize[i], true);
  nwj_send(k, socket, type, m->header_text, NULL, content);
}
