// Reads the connection file of the front end. Checks every field, and rejects invalid values.
#include "kernel.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

enum { MOST_BYTES = 1 << 16, MOST_KEY = 4096, CURVE_KEY = 40 };

typedef struct reading {
  const char *path;
  json_t *o;
  nwj_connection *out;
  char *why;
  size_t size;
} reading;

__attribute__((format(printf, 2, 3))) static bool refuse(reading *r, const char *fmt, ...) {
  va_list args;
  int n = snprintf(r->why, r->size, "%s: ", r->path);
  if (n < 0 || (size_t)n >= r->size) return false;
  va_start(args, fmt);
  vsnprintf(r->why + n, r->size - (size_t)n, fmt, args);
  va_end(args);
  return false;
}

// ---- the file

// Reads the file and returns its size, or 0 if the file is rejected. The path comes from the front end, so it may name
// any file. Only regular files are read, because a pipe could block, and a device may never end.
static size_t read_all(reading *r, char *text) {
  int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return refuse(r, "the connection file cannot be read: %s", strerror(errno));
  struct stat st;
  ssize_t n = 0, all = 0;
  bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  while (regular && all <= MOST_BYTES && (n = read(fd, text + all, (size_t)(MOST_BYTES + 1 - all))) > 0) all += n;
  int problem = n < 0 ? errno : 0;
  close(fd);
  if (!regular) return refuse(r, "the connection file must be a regular file");
  if (problem) return refuse(r, "the connection file cannot be read: %s", strerror(problem));
  if (all > MOST_BYTES) return refuse(r, "the connection file has more than %d bytes", MOST_BYTES);
  if (all == 0) return refuse(r, "the connection file is empty");
  return (size_t)all;
}

// Parses the file. Rejects an object in which a name occurs twice, because the value of this name would be ambiguous.
static bool parse(reading *r) {
  char text[MOST_BYTES + 1];
  json_error_t error;
  size_t n = read_all(r, text);
  if (!n) return false;
  r->o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
  if (!r->o) return refuse(r, "the connection file is not JSON: line %d: %s", error.line, error.text);
  return json_is_object(r->o) || refuse(r, "the connection file must be a JSON object");
}

// ---- fields

// Formats the value of a field for a message.
static const char *shown(const json_t *v, char out[80]) {
  char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
  snprintf(out, 80, strlen(text ? text : "") < 60 ? "%s" : "%.56s...", text ? text : "?");
  free(text);
  return out;
}

// Rejects the value of a field. The error message does not show the value of a key, because messages may be logged.
static bool wrong(reading *r, const char *name, const char *allowed) {
  char value[80];
  const json_t *v = json_object_get(r->o, name);
  if (!v) return refuse(r, "%s is missing: it must be %s", name, allowed);
  if (json_is_string(v) && strstr(name, "key"))
    return refuse(r, "%s is a string of %zu bytes: it must be %s", name, json_string_length(v), allowed);
  return refuse(r, "%s is %s: it must be %s", name, shown(v, value), allowed);
}

// Reads a string. Sets *out to NULL if an optional field is missing. Returns false if the value is invalid or too long.
static bool text_of(reading *r, const char *name, bool needed, size_t most, const char *allowed, const char **out) {
  const json_t *v = json_object_get(r->o, name);
  *out = json_string_value(v);
  if (!v && !needed) return true;
  return (*out && strlen(*out) <= most) || wrong(r, name, allowed);
}

static bool port(reading *r, const char *name, int *out) {
  json_int_t v = nwj_integer(r->o, name, 0);
  *out = v >= 1 && v <= 65535 ? (int)v : 0;
  return *out || wrong(r, name, "an integer, 1 to 65535");
}

static bool ports(reading *r) {
  const struct {
    const char *name;
    int *to;
  } rows[] = {{"shell_port", &r->out->shell},
              {"control_port", &r->out->control},
              {"iopub_port", &r->out->iopub},
              {"stdin_port", &r->out->input},
              {"hb_port", &r->out->heartbeat}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!port(r, rows[i].name, rows[i].to)) return false;
    for (size_t j = 0; j < i; j++)
      if (*rows[i].to == *rows[j].to)
        return refuse(r, "%s and %s are both %d: each socket needs a port of its own", rows[j].name, rows[i].name,
                      *rows[i].to);
  }
  return true;
}

// True if the text has only characters that occur in addresses. Other characters may have a meaning for ZeroMQ. For
// example, ZeroMQ would split "127.0.0.1;10.0.0.1" into two addresses.
static bool is_address(const char *ip) {
  return *ip && !ip[strspn(ip, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_[]*%")];
}

static bool place(reading *r) {
  static const char transports[] = "\"tcp\" or \"ipc\"";
  const char *transport, *ip;
  if (!text_of(r, "transport", false, 3, transports, &transport)) return false;
  r->out->ipc = transport && strcmp(transport, "ipc") == 0;
  if (transport && !r->out->ipc && strcmp(transport, "tcp") != 0) return wrong(r, "transport", transports);
  const char *allowed =
      r->out->ipc ? "the prefix of the sockets' paths" : "an address of this machine, such as \"127.0.0.1\"";
  if (!text_of(r, "ip", r->out->ipc, sizeof r->out->ip - 1, allowed, &ip)) return false;
  if (!ip) ip = "127.0.0.1";
  if (r->out->ipc ? !*ip || *ip == '@' : !is_address(ip)) return wrong(r, "ip", allowed);
  snprintf(r->out->ip, sizeof r->out->ip, "%s", ip);
  return true;
}

// ---- authentication

static bool is_loopback(const char *ip) {
  struct in_addr a;
  if (inet_pton(AF_INET, ip, &a) == 1) return ntohl(a.s_addr) >> 24 == 127;
  return strcmp(ip, "[::1]") == 0 || strcmp(ip, "::1") == 0;
}

// Without a key, everyone who can connect can run code. So a key is required, with two exceptions. At a loopback
// address, only users of this machine can connect. With ipc, the sockets are files that only their owner can open (see
// sockets.c).
static bool key(reading *r) {
  static const char keys[] = "a string of at most 4096 bytes; \"\" leaves messages unsigned";
  const char *text, *scheme;
  if (!text_of(r, "key", true, MOST_KEY, keys, &text)) return false;
  if (!text_of(r, "signature_scheme", false, 40, "\"hmac-sha256\"", &scheme)) return false;
  bool known = !scheme || strcmp(scheme, "hmac-sha256") == 0 || (!*text && !*scheme);
  if (!known) return wrong(r, "signature_scheme", "\"hmac-sha256\"");
  if (!*text && !r->out->ipc && !is_loopback(r->out->ip))
    return refuse(
        r,
        "key is \"\" and ip is \"%s\": anyone who reaches that address could run code; give a key, or listen at "
        "127.0.0.1",
        r->out->ip);
  r->out->key = nwj_key_of(text);
  return true;
}

static bool curve_key(reading *r, const char *name, char out[CURVE_KEY + 1]) {
  static const char allowed[] = "a CURVE key: 40 characters of Z85";
  unsigned char raw[32];
  const char *text;
  if (!text_of(r, name, true, CURVE_KEY, allowed, &text)) return false;
  if (strlen(text) != CURVE_KEY || !zmq_z85_decode(raw, text)) return wrong(r, name, allowed);
  memcpy(out, text, CURVE_KEY + 1);
  return true;
}

// curve_publickey and curve_secretkey are the keys of the kernel for encryption. Clients know the public key. If the
// file has these keys, all traffic is encrypted, and a client that has a wrong public key cannot finish the handshake.
static bool curve(reading *r) {
  char public[CURVE_KEY + 1], derived[CURVE_KEY + 1];
  const json_t *p = json_object_get(r->o, "curve_publickey"), *s = json_object_get(r->o, "curve_secretkey");
  if ((!p || json_is_null(p)) && (!s || json_is_null(s))) return true;
  if (!zmq_has("curve")) return refuse(r, "the file has CURVE keys, but this libzmq was built without CURVE");
  if (!curve_key(r, "curve_publickey", public) || !curve_key(r, "curve_secretkey", r->out->curve_secret)) return false;
  if (zmq_curve_public(derived, r->out->curve_secret) == 0 && strcmp(derived, public) == 0) return true;
  return refuse(r, "curve_publickey does not belong to curve_secretkey");
}

bool nwj_connection_read(const char *path, nwj_connection *out, char *why, size_t size) {
  reading r = {path, NULL, out, why, size};
  *out = (nwj_connection){0};
  bool ok = parse(&r) && place(&r) && ports(&r) && key(&r) && curve(&r);
  json_decref(r.o);
  return ok;
}
