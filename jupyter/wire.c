// Reading and signing messages. No sockets here, so that a fuzzer can drive it.
#include "wire.h"
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

void nwj_sign(const nwj_key *key, const nwj_frame *part, int n, char out[65]) {
  unsigned char mac[crypto_auth_hmacsha256_BYTES];
  out[0] = '\0';
  if (!key->size) return;
  crypto_auth_hmacsha256_state state = key->begun;
  for (int i = 0; i < n; i++) crypto_auth_hmacsha256_update(&state, part[i].data, part[i].size);
  crypto_auth_hmacsha256_final(&state, mac);
  sodium_bin2hex(out, 65, mac, sizeof mac);
}

static bool is_signed(const nwj_key *key, nwj_frame signature, const nwj_frame *part) {
  if (!key->size) return true;
  char expected[65];
  nwj_sign(key, part, PARTS, expected);
  return signature.size == 64 && sodium_memcmp(expected, signature.data, 64) == 0;
}

// ---- JSON

// Nesting is looked at before it is parsed, which recurses.
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

static json_t *object_of(nwj_frame f) {
  if (!is_shallow(f)) return NULL;
  json_t *v = json_loadb(f.data, f.size, JSON_ALLOW_NUL, NULL);
  if (json_is_object(v)) return v;
  json_decref(v);
  return NULL;
}

// ---- messages

static int delimiter_at(const nwj_frame *frame, int n) {
  for (int i = 0; i < n; i++)
    if (frame[i].size == sizeof DELIMITER - 1 && memcmp(frame[i].data, DELIMITER, sizeof DELIMITER - 1) == 0) return i;
  return -1;
}

static bool is_small(const nwj_frame *part) {
  size_t bytes = 0;
  for (int i = 0; i < PARTS; i++) bytes += part[i].size;
  return bytes <= NWJ_MAX_BYTES;
}

static char *copy_of(nwj_frame f) {
  char *p = malloc(f.size + 1);
  if (p && f.size) memcpy(p, f.data, f.size);
  if (p) p[f.size] = '\0';
  return p;
}

bool nwj_parse(const nwj_key *key, const nwj_frame *frame, int n, nwj_message *out) {
  *out = (nwj_message){0};
  int at = delimiter_at(frame, n);
  if (at < 0 || at > NWJ_MAX_IDS || n - at < 2 + PARTS) return false;
  const nwj_frame *part = frame + at + 2;
  if (!is_small(part) || !is_signed(key, frame[at + 1], part)) return false;
  json_t **field[] = {&out->header, &out->parent, &out->metadata, &out->content};
  bool ok = true;
  for (int i = 0; i < PARTS && ok; i++) ok = (*field[i] = object_of(part[i])) != NULL;
  out->type = ok ? nwj_string(out->header, "msg_type", NULL) : NULL;
  out->header_text = copy_of(part[0]);
  if (!out->type) {
    nwj_message_free(out);
    return false;
  }
  for (; out->nids < at; out->nids++) {
    out->id[out->nids] = copy_of(frame[out->nids]);
    out->idsize[out->nids] = frame[out->nids].size;
  }
  return true;
}

void nwj_message_free(nwj_message *m) {
  for (int i = 0; i < m->nids; i++) free(m->id[i]);
  free(m->header_text);
  json_decref(m->header);
  json_decref(m->parent);
  json_decref(m->metadata);
  json_decref(m->content);
  *m = (nwj_message){0};
}

// ---- fields

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
