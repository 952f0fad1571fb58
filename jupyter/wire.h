// Messages as frames: <IDS|MSG>, signature, header, parent header, metadata, content. Only what is signed is looked at.
//
// Jupyter messaging protocol 5.4, jupyter-client.readthedocs.io/en/stable/messaging.html.
#pragma once
#include <jansson.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NWJ_MAX_IDS 8
#define NWJ_MAX_DEPTH 256 // of JSON
#define NWJ_MAX_HEADER (1 << 20) // bytes: every answer repeats it
#define NWJ_MAX_BYTES (64 << 20) // of one message

typedef struct nwj_frame {
  const void *data;
  size_t size;
} nwj_frame;

typedef struct nwj_key {
  size_t size; // 0: nothing is signed
  crypto_auth_hmacsha256_state begun; // with the key: a third of the work on a short message
} nwj_key;

typedef struct nwj_message {
  int nids; // who sent it, as a ROUTER socket has it
  char *id[NWJ_MAX_IDS];
  size_t idsize[NWJ_MAX_IDS];
  json_t *header, *parent, *metadata, *content; // objects
  const char *type; // of the header
  char *header_text; // as it came: answers repeat it
  size_t bytes; // of its four parts
  uint64_t mark; // the beginning of its signature; 0 without a key
  char *
      problem; // NULL, or why what follows the header cannot be read: it is signed, so it can be answered. Its objects are empty
} nwj_message;

nwj_key nwj_key_of(const char *text);
// False for what is no message, or not signed with the key; nothing is allocated then.
bool nwj_parse(const nwj_key *key, const nwj_frame *frame, int n, nwj_message *out);
void nwj_message_free(nwj_message *m);
// Hex, 64 characters and a zero; the empty string without a key.
void nwj_sign(const nwj_key *key, const nwj_frame *part, int n, char out[65]);

__attribute__((format(printf, 1, 2))) char *nwj_printf(const char *fmt, ...); // heap
const char *nwj_string(const json_t *object, const char *name, const char *otherwise);
bool nwj_flag(const json_t *object, const char *name, bool otherwise);
json_int_t nwj_integer(const json_t *object, const char *name, json_int_t otherwise);
