// The signatures of received messages: a signed message is processed once, on any socket.
//
// Clients never sign two messages alike, since every header has a unique id. The set remembers at least the last 131,072 messages
// and at most twice as many: it has two generations, and the older is dropped when the younger is full. Moving a slider without a
// pause (ten messages a second) fills one in 3.6 hours; jupyter_client itself remembers 65,536. Only the first 8 bytes of a
// signature are kept. An accidental collision has a chance of 10^-14 per session, and a deliberate one needs the key. Memory: at
// most 4 MiB, of which only the used part is touched.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NWJ_REMEMBERED (1 << 17)

typedef struct nwj_seen nwj_seen;
nwj_seen *nwj_seen_new(void); // NULL: no memory
void nwj_seen_free(nwj_seen *s);
// True if the mark was added before; adds it. By any thread.
bool nwj_seen_before(nwj_seen *s, uint64_t mark);
