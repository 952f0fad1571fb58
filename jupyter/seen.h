// Remembers the signatures of received messages, so that a signed message is processed only once, even if it arrives on
// several sockets.
//
// Different messages have different signatures, since every header has a unique id. The set remembers at least the last
// 131,072 messages and at most twice as many: it has two generations, and drops the older one when the younger one is
// full. Moving a slider without a pause (ten messages a second) fills a generation in 3.6 hours; jupyter_client itself
// remembers 65,536 messages.
//
// The set keeps only the first 8 bytes of a signature, the mark. The probability that these agree by accident with
// those of a remembered message is at most 2^-46 for each message, about 10^-14. A deliberate collision needs the key.
// The set has at most 4 MiB, of which only the used part is touched.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NWJ_REMEMBERED (1 << 17)

typedef struct nwj_seen nwj_seen;
nwj_seen *nwj_seen_new(void); // NULL: no memory
void nwj_seen_free(nwj_seen *s);
// Adds the mark. Returns true if it was in the set before. May be called by any thread.
bool nwj_seen_before(nwj_seen *s, uint64_t mark);
