// Parses and signs messages. The frames of a message are: <IDS|MSG>, signature, header, parent header, metadata,
// content. Only messages with a valid signature are parsed.
//
// The protocol is Jupyter messaging 5.4: jupyter-client.readthedocs.io/en/stable/messaging.html.
#pragma once
#include <jansson.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NWJ_MAX_IDS 8
#define NWJ_MAX_DEPTH 256 // largest nesting depth of JSON
#define NWJ_MAX_HEADER (1 << 20) // bytes; every answer contains a copy of the header
#define NWJ_MAX_BYTES (64 << 20) // largest number of bytes of one message

typedef struct nwj_frame {
  const void *data;
  size_t size;
} nwj_frame;

typedef struct nwj_key {
  size_t size; // 0: messages are unsigned
  // The state of the hash function after the key was processed. Storing this state saves a third of the work on a short
  // message.
  crypto_auth_hmacsha256_state begun;
} nwj_key;

typedef struct nwj_message {
  int nids; // number of identities of the sender, from a ROUTER socket
  char *id[NWJ_MAX_IDS];
  size_t idsize[NWJ_MAX_IDS];
  json_t *header, *parent, *metadata, *content; // objects
  const char *type; // msg_type of the header
  char *header_text; // the header as received; answers contain a copy
  size_t bytes; // total size of header, parent header, metadata and content
  uint64_t mark; // the first bytes of the message's signature; 0 without a key
  // NULL, or the reason why a part after the header cannot be read. The object of such a part is empty. The message is
  // still answered, because it is signed.
  char *problem;
} nwj_message;

nwj_key nwj_key_of(const char *text);
// Parses a message. Returns false, without allocating anything, if the frames are not a message or are not signed with
// the key.
bool nwj_parse(const nwj_key *key, const nwj_frame *frame, int n, nwj_message *out);
void nwj_message_free(nwj_message *m);
// Writes the signature, which has 64 hexadecimal characters and a NUL. Without a key, writes the empty string.
void nwj_sign(const nwj_key *key, const nwj_frame *part, int n, char out[65]);

__attribute__((format(printf, 1, 2))) char *nwj_printf(const char *fmt, ...); // heap
const char *nwj_string(const json_t *object, const char *name, const char *otherwise);
bool nwj_flag(const json_t *object, const char *name, bool otherwise);
json_int_t nwj_integer(const json_t *object, const char *name, json_int_t otherwise);
