// A sequence of frames must either be dropped, or parsed as a message with four objects. With an empty key, every
// sequence reaches the parser, because no signature is checked. In the input, a byte before each frame gives its
// length. The byte 255 stands for the delimiter <IDS|MSG>. The byte 254 means that the frame is all of the remaining
// input.
#include "jupyter/wire.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 32 };

static int frames_of(const uint8_t *data, size_t size, nwj_frame *out) {
  int n = 0;
  for (size_t at = 0; at < size && n < MOST; n++) {
    size_t want = data[at++];
    if (want == 255) {
      out[n] = (nwj_frame){"<IDS|MSG>", 9};
      continue;
    }
    if (want == 254 || want > size - at) want = size - at;
    out[n] = (nwj_frame){data + at, want};
    at += want;
  }
  return n;
}

static void try_key(const char *key, const nwj_frame *frame, int n) {
  nwj_key k = nwj_key_of(key);
  nwj_message m;
  if (!nwj_parse(&k, frame, n, &m)) return;
  // No message of the fuzzer has a valid signature, so none may be accepted if there is a key.
  if (!m.type || !json_is_object(m.header) || !json_is_object(m.content) || k.size) abort();
  nwj_message_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nwj_frame frame[MOST];
  int n = frames_of(data, size, frame);
  try_key("", frame, n);
  try_key("a key", frame, n);
  return 0;
}
