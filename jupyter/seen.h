// The signatures of messages that came: a signed message counts once, on whichever socket it comes.
//
// No client signs two messages alike, as every header has an id of its own. The last 131,072 messages at least are known, at most
// twice as many: two generations of a set, of which the older is forgotten when the younger is full. A front end sends so many
// in hours of moving a slider without a pause (ten a second: 3.6 hours), and jupyter_client itself remembers 65,536. The
// first 8 bytes of a signature stand for it: that a new message meets an old one's by chance is one case in 10^14 while a session
// lives, and to look for one needs the key. Memory: 4 MiB at most, of which only what is used is touched.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NWJ_REMEMBERED (1 << 17)

typedef struct nwj_seen nwj_seen;
nwj_seen *nwj_seen_new(void); // NULL: no memory
void nwj_seen_free(nwj_seen *s);
// True if the mark was added before; adds it. By any thread.
bool nwj_seen_before(nwj_seen *s, uint64_t mark);
