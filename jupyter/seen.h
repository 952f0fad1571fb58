// Declares a set of the signatures of received messages. With this set, a signed message is processed only once, even
// if it arrives on several sockets.
//
// Different messages have different signatures, because every header has a unique id. The set has two generations of up
// to 131,072 messages, and drops the older generation when the younger one is full. A slider that is moved without a
// pause (ten messages a second) fills a generation in 3.6 hours. For comparison, jupyter_client remembers 65,536
// messages.
//
// The set stores only the first 8 bytes of a signature, called its mark. The probability that a new mark equals a
// remembered mark by accident is at most 2^18 / 2^64 = 2^-46, about 10^-14. Only a sender who has the key can cause a
// collision on purpose. The tables take 4 MiB of address space, but occupy only the pages that have been written.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NWJ_REMEMBERED (1 << 17)

typedef struct nwj_seen nwj_seen;
nwj_seen *nwj_seen_new(void); // NULL if memory is lacking
void nwj_seen_free(nwj_seen *s);
// Adds the mark. Returns true if it was in the set before. Any thread may call this function.
bool nwj_seen_before(nwj_seen *s, uint64_t mark);
