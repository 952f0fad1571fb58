// Making, sending and receiving messages.
#include "kernel.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <zmq.h>

enum { MAX_FRAMES = 64 };

void nwj_new_id(char out[40]) {
  unsigned char b[16];
  randombytes_buf(b, sizeof b);
  snprintf(out, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
           b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void now(char *out, size_t size) {
  struct timeval t;
  struct tm tm;
  gettimeofday(&t, NULL);
  gmtime_r(&t.tv_sec, &tm);
  size_t n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(out + n, size - n, ".%06ldZ", (long)t.tv_usec);
}

json_t *nwj_header(const nwj *k, const char *type) {
  char id[40], date[40];
  nwj_new_id(id);
  now(date, sizeof date);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "msg_id", id, "session", k->session, "username", "kernel", "date",
                   date, "msg_type", type, "version", NWJ_PROTOCOL);
}

// ---- receiving

static void skip_rest(void *socket, zmq_msg_t *last) {
  while (zmq_msg_more(last)) {
    zmq_msg_close(last);
    zmq_msg_init(last);
    if (zmq_msg_recv(last, socket, 0) < 0) return;
  }
}

bool nwj_receive(nwj *k, void *socket, nwj_message *out) {
  zmq_msg_t part[MAX_FRAMES];
  nwj_frame frame[MAX_FRAMES];
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
  bool whole = n > 0 && !zmq_msg_more(&part[n - 1]);
  if (n == MAX_FRAMES) skip_rest(socket, &part[n - 1]);
  bool ok = whole && nwj_parse(&k->at.key, frame, n, out);
  for (int i = 0; i < n; i++) zmq_msg_close(&part[i]);
  return ok;
}

// ---- sending

char *nwj_dumped(const json_t *v) {
  char *s = v ? json_dumps(v, JSON_COMPACT) : NULL;
  return s ? s : strdup("{}");
}

void nwj_send_part(void *socket, const void *data, size_t size, bool more) {
  while (zmq_send(socket, data, size, more ? ZMQ_SNDMORE : 0) < 0 && zmq_errno() == EINTR) {}
}

void nwj_send_signed(const nwj *k, void *socket, const nwj_frame part[4]) {
  char signature[65];
  nwj_sign(&k->at.key, part, 4, signature);
  nwj_send_part(socket, "<IDS|MSG>", 9, true);
  nwj_send_part(socket, signature, strlen(signature), true);
  for (int i = 0; i < 4; i++) nwj_send_part(socket, part[i].data, part[i].size, i < 3);
}

void nwj_reply(nwj *k, void *socket, const nwj_message *m, const char *type, json_t *content) {
  json_t *header = nwj_header(k, type);
  char *text[4] = {nwj_dumped(header), nwj_dumped(m->header), nwj_dumped(NULL), nwj_dumped(content)};
  nwj_frame part[4];
  for (int i = 0; i < 4; i++) part[i] = (nwj_frame){text[i], strlen(text[i])};
  for (int i = 0; i < m->nids; i++) nwj_send_part(socket, m->id[i], m->idsize[i], true);
  nwj_send_signed(k, socket, part);
  for (int i = 0; i < 4; i++) free(text[i]);
  json_decref(header);
  json_decref(content);
}
