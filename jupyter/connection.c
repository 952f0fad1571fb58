// The connection file, and the sockets it asks for.
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static int port(const json_t *o, const char *name) {
  json_int_t v = nwj_integer(o, name, 0);
  return v > 0 && v < 65536 ? (int)v : 0;
}

bool nwj_connection_read(const char *path, nwj_connection *out, char *why, size_t size) {
  json_error_t error;
  json_t *o = json_load_file(path, 0, &error);
  *out = (nwj_connection){0};
  if (!json_is_object(o)) {
    snprintf(why, size, "%s is not a connection file: %s", path, o ? "no object" : error.text);
    json_decref(o);
    return false;
  }
  snprintf(out->transport, sizeof out->transport, "%s", nwj_string(o, "transport", "tcp"));
  snprintf(out->ip, sizeof out->ip, "%s", nwj_string(o, "ip", "127.0.0.1"));
  out->shell = port(o, "shell_port");
  out->control = port(o, "control_port");
  out->iopub = port(o, "iopub_port");
  out->input = port(o, "stdin_port");
  out->heartbeat = port(o, "hb_port");
  snprintf(out->curve_secret, sizeof out->curve_secret, "%s", nwj_string(o, "curve_secretkey", ""));
  snprintf(out->curve_public, sizeof out->curve_public, "%s", nwj_string(o, "curve_publickey", ""));
  const char *key = nwj_string(o, "key", ""), *scheme = nwj_string(o, "signature_scheme", "hmac-sha256");
  out->key = nwj_key_of(key);
  bool ok = out->shell && out->control && out->iopub && out->input && out->heartbeat;
  if (!ok) snprintf(why, size, "%s does not name the five ports", path);
  if (ok && out->key.size && strcmp(scheme, "hmac-sha256") != 0) {
    snprintf(why, size, "%s asks for the signature scheme %s; hmac-sha256 is the only one", path, scheme);
    ok = false;
  }
  json_decref(o);
  return ok;
}

static void *bound(nwj *k, int kind, int number, char *why, size_t size) {
  void *s = zmq_socket(k->zmq, kind);
  char where[320];
  bool ipc = strcmp(k->at.transport, "ipc") == 0;
  snprintf(where, sizeof where, ipc ? "ipc://%s-%d" : "tcp://%s:%d", k->at.ip, number);
  int linger = 1000, none = 0, one = 1;
  int64_t most = 4ll * NWJ_MAX_BYTES;
  zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
  zmq_setsockopt(s, ZMQ_MAXMSGSIZE, &most, sizeof most);
  zmq_setsockopt(s, ZMQ_SNDHWM, &none, sizeof none);
  if (kind == ZMQ_ROUTER) zmq_setsockopt(s, ZMQ_ROUTER_HANDOVER, &one, sizeof one);
  if (kind == ZMQ_XPUB) zmq_setsockopt(s, ZMQ_XPUB_VERBOSE, &one, sizeof one);
  if (*k->at.curve_secret) {
    zmq_setsockopt(s, ZMQ_CURVE_SERVER, &one, sizeof one);
    zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, k->at.curve_secret, strlen(k->at.curve_secret));
  }
  if (zmq_bind(s, where) == 0) return s;
  snprintf(why, size, "cannot listen at %s: %s", where, zmq_strerror(zmq_errno()));
  zmq_close(s);
  return NULL;
}

bool nwj_bind(nwj *k, char *why, size_t size) {
  k->zmq = zmq_ctx_new();
  k->shell = bound(k, ZMQ_ROUTER, k->at.shell, why, size);
  k->control = k->shell ? bound(k, ZMQ_ROUTER, k->at.control, why, size) : NULL;
  k->input = k->control ? bound(k, ZMQ_ROUTER, k->at.input, why, size) : NULL;
  k->heartbeat = k->input ? bound(k, ZMQ_ROUTER, k->at.heartbeat, why, size) : NULL;
  k->iopub = k->heartbeat ? bound(k, ZMQ_XPUB, k->at.iopub, why, size) : NULL;
  return k->iopub != NULL;
}

// The sockets of threads are closed by them.
void nwj_unbind(nwj *k) {
  zmq_close(k->shell);
  zmq_close(k->input);
  zmq_ctx_term(k->zmq);
}
