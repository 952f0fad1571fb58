// Parses and signs messages. This file uses no sockets, so that a fuzzer can call its functions.
#include "wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 4 }; // header, parent header, metadata, content

static const char DELIMITER[] = "<IDS|MSG>";

// ---- signatures

nwj_key nwj_key_of(const char *text) {
  nwj_key key = {.size = strlen(text)};
  crypto_auth_hmacsha256_init(&key.begun, (const unsigned char *)text, key.size);
  return key;
}

typedef unsigned char mac_bytes[crypto_auth_hmacsha256_BYTES];

static void authenticate(const nwj_key *key, const nwj_frame *part, int n, mac_bytes out) {
  crypto_auth_hmacsha256_state state = key->begun;
  for (int i = 0; i < n; i++) crypto_auth_hmacsha256_update(&state, part[i].data, part[i].size);
  crypto_auth_hmacsha256_final(&state, out);
}

void nwj_sign(const nwj_key *key, const nwj_frame *part, int n, char out[65]) {
  mac_bytes mac;
  out[0] = '\0';
  if (!key->size) return;
  authenticate(key, part, n, mac);
  sodium_bin2hex(out, 65, mac, sizeof mac);
}

// Compares the signatures in constant time, so that the time does not reveal how many bytes are correct.
static bool is_signed(const nwj_key *key, nwj_frame signature, const nwj_frame *part, uint64_t *mark) {
  if (!key->size) return true;
  mac_bytes mac;
  char expected[65];
  authenticate(key, part, PARTS, mac);
  sodium_bin2hex(expected, sizeof expected, mac, sizeof mac);
  memcpy(mark, mac, sizeof *mark);
  return signature.size == 64 && sodium_memcmp(expected, signature.data, 64) == 0;
}

// ---- JSON

// True if the JSON text is not nested too deeply. This is checked before parsing, because the parser is recursive.
static bool is_shallow(nwj_frame f) {
  const char *s = f.data;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < f.size; i++) {
    if (quoted) {
      if (s[i] == '\\')
        i++;
      else if (s[i] == '"')
        quoted = false;
    } else if (s[i] == '"') {
      quoted = true;
    } else if (s[i] == '{' || s[i] == '[') {
      if (++depth > NWJ_MAX_DEPTH) return false;
    } else if (s[i] == '}' || s[i] == ']') {
      depth--;
    }
  }
  return true;
}

// Parses a JSON object. If the text is not a JSON object, returns NULL, and error->text gives the reason.
static json_t *object_of(nwj_frame f, json_error_t *error) {
  *error = (json_error_t){.text = "it is nested too deeply"};
  json_t *v = is_shallow(f) ? json_loadb(f.data, f.size, JSON_ALLOW_NUL, error) : NULL;
  if (json_is_object(v)) return v;
  if (v) strcpy(error->text, "it is an array");
  json_decref(v);
  return NULL;
}

// ---- messages

static int delimiter_at(const nwj_frame *frame, int n) {
  for (int i = 0; i < n; i++)
    if (frame[i].size == sizeof DELIMITER - 1 && memcmp(frame[i].data, DELIMITER, sizeof DELIMITER - 1) == 0) return i;
  return -1;
}

static size_t bytes_of(const nwj_frame *part, int n) {
  size_t bytes = 0;
  for (int i = 0; i < n; i++) bytes += part[i].size;
  return bytes;
}

static char *copy_of(nwj_frame f) {
  char *p = malloc(f.size + 1);
  if (p && f.size) memcpy(p, f.data, f.size);
  if (p) p[f.size] = '\0';
  return p;
}

// Parses the parts after the header. If a part is invalid, stores the reason in out->problem. The message is not
// dropped, because the front end waits for an answer.
static void parse_rest(const nwj_frame *part, nwj_message *out) {
  static const char *const name[] = {"parent header", "metadata", "content"};
  json_t **field[] = {&out->parent, &out->metadata, &out->content};
  bool large = out->bytes > NWJ_MAX_BYTES;
  if (large) out->problem = nwj_printf("the message has more than %d MB: send it in parts", NWJ_MAX_BYTES >> 20);
  for (int i = 0; i < PARTS - 1; i++) {
    json_error_t error;
    *field[i] = large ? NULL : object_of(part[i + 1], &error);
    if (!*field[i] && !out->problem) out->problem = nwj_printf("its %s is not a JSON object: %s", name[i], error.text);
    if (!*field[i]) *field[i] = json_object();
  }
}

static bool parse_header(nwj_frame text, nwj_message *out) {
  json_error_t error;
  if (text.size > NWJ_MAX_HEADER) return false;
  out->header = object_of(text, &error);
  const json_t *type = json_object_get(out->header, "msg_type");
  out->type = json_string_value(type);
  out->header_text = copy_of(text);
  return out->type && strlen(out->type) == json_string_length(type) && out->header_text;
}

bool nwj_parse(const nwj_key *key, const nwj_frame *frame, int n, nwj_message *out) {
  *out = (nwj_message){0};
  int at = delimiter_at(frame, n);
  if (at < 0 || at > NWJ_MAX_IDS || n - at < 2 + PARTS) return false;
  const nwj_frame *part = frame + at + 2;
  out->bytes = bytes_of(part, PARTS);
  if (!is_signed(key, frame[at + 1], part, &out->mark)) return false;
  if (!parse_header(part[0], out)) {
    nwj_message_free(out);
    return false;
  }
  parse_rest(part, out);
  for (; out->nids < at; out->nids++) {
    out->id[out->nids] = copy_of(frame[out->nids]);
    out->idsize[out->nids] = frame[out->nids].size;
  }
  return true;
}

void nwj_message_free(nwj_message *m) {
  for (int i = 0; i < m->nids; i++) free(m->id[i]);
  free(m->header_text);
  free(m->problem);
  json_decref(m->header);
  json_decref(m->parent);
  json_decref(m->metadata);
  json_decref(m->content);
  *m = (nwj_message){0};
}

// ---- texts and fields

char *nwj_printf(const char *fmt, ...) {
  char *out = NULL;
  va_list args;
  va_start(args, fmt);
  if (vasprintf(&out, fmt, args) < 0) out = NULL;
  va_end(args);
  return out;
}

const char *nwj_string(const json_t *object, const char *name, const char *otherwise) {
  const json_t *v = json_object_get(object, name);
  return json_is_string(v) ? json_string_value(v) : otherwise;
}

bool nwj_flag(const json_t *object, const char *name, bool otherwise) {
  const json_t *v = json_object_get(object, name);
  return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

json_int_t nwj_integer(const json_t *object, const char *name, json_int_t otherwise) {
  const json_t *v = json_object_get(object, name);
  return json_is_integer(v) ? json_integer_value(v) : otherwise;
}
