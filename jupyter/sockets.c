// Makes the sockets that the connection file describes.
#include "kernel.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

// These are limits of a frame in bytes. MOST_TOPIC is for a subscription. A subscription is a prefix of message types,
// and is stored as long as its client is connected.
enum { MOST_FRAME = 2 * NWJ_MAX_BYTES, MOST_TOPIC = 1 << 10, MOST_BEAT = 1 << 20 };

static void where_of(const nwj *k, int port, char *out, size_t size) {
  bool bare = strchr(k->at.ip, ':') && k->at.ip[0] != '['; // an IPv6 address needs brackets before a port
  if (k->at.ipc)
    snprintf(out, size, "ipc://%s-%d", k->at.ip, port);
  else
    snprintf(out, size, bare ? "tcp://[%s]:%d" : "tcp://%s:%d", k->at.ip, port);
}

static bool set(void *s, int option, const void *value, size_t size) {
  return zmq_setsockopt(s, option, value, size) == 0;
}
static bool set_number(void *s, int option, int value) { return set(s, option, &value, sizeof value); }

static bool prepare(const nwj *k, void *s, int kind, int64_t most) {
  const char *secret = k->at.curve_secret;
  return set_number(s, ZMQ_LINGER, 1000) && set_number(s, ZMQ_SNDHWM, 0) &&
         set(s, ZMQ_MAXMSGSIZE, &most, sizeof most) && (kind != ZMQ_ROUTER || set_number(s, ZMQ_ROUTER_HANDOVER, 1)) &&
         (kind != ZMQ_XPUB || set_number(s, ZMQ_XPUB_VERBOSE, 1)) &&
         (k->at.ipc || !strchr(k->at.ip, ':') || set_number(s, ZMQ_IPV6, 1)) &&
         (!*secret || (set_number(s, ZMQ_CURVE_SERVER, 1) && set(s, ZMQ_CURVE_SECRETKEY, secret, strlen(secret))));
}

// True if a socket may be bound to the address. If the address is a path, ZeroMQ removes a file that exists there. So
// such a file must be a socket, which a kernel that has ended may have left.
static bool is_free(const nwj *k, const char *where) {
  struct stat st;
  if (!k->at.ipc || lstat(where + strlen("ipc://"), &st) || S_ISSOCK(st.st_mode)) return true;
  errno = EEXIST;
  return false;
}

// Makes and binds a socket. If the transport is ipc, only the owner may open the socket.
static void *bound(nwj *k, int kind, int port, int64_t most, char *why, size_t size) {
  char where[320];
  void *s = zmq_socket(k->zmq, kind);
  where_of(k, port, where, sizeof where);
  mode_t before = umask(0177);
  bool ok = s && prepare(k, s, kind, most) && is_free(k, where) && zmq_bind(s, where) == 0;
  umask(before);
  if (ok) return s;
  snprintf(why, size, "cannot listen at %s: %s", where, zmq_strerror(zmq_errno()));
  if (s) zmq_close(s);
  return NULL;
}

bool nwj_bind(nwj *k, char *why, size_t size) {
  k->zmq = zmq_ctx_new();
  k->shell = bound(k, ZMQ_ROUTER, k->at.shell, MOST_FRAME, why, size);
  k->control = k->shell ? bound(k, ZMQ_ROUTER, k->at.control, MOST_FRAME, why, size) : NULL;
  k->input = k->control ? bound(k, ZMQ_ROUTER, k->at.input, MOST_FRAME, why, size) : NULL;
  k->heartbeat = k->input ? bound(k, ZMQ_ROUTER, k->at.heartbeat, MOST_BEAT, why, size) : NULL;
  k->iopub = k->heartbeat ? bound(k, ZMQ_XPUB, k->at.iopub, MOST_TOPIC, why, size) : NULL;
  return k->iopub != NULL;
}

// Closes the sockets of the main thread. Other threads close their own sockets.
void nwj_unbind(nwj *k) {
  zmq_close(k->shell);
  zmq_close(k->input);
  zmq_ctx_term(k->zmq);
}
