// A *summary* describes the effect of a part of the accesses on an LRU cache, for any content of the cache before this
// part. A *stack* builds a summary. Private to the model.
//
// Let a set have W ways. The first W different lines that a part requests in the set are its *first lines*. The outcome
// of the first request for each of them depends on the previous content. The part itself determines all other outcomes.
// The last W different lines that the part requests in the set are its *last lines*. At the end of the part, they are
// in the set, in LRU order.
//
// Summaries can be concatenated, because nw_stack_apply appends a summary to the content of a stack. The cost depends
// on the number of lines, not on the number of accesses.
#pragma once
#include "cache/exact/model_spare.h"
#include "cache/exact/model_tally.h"

// The writer of a line is a site or one of these values. NW_CLEAN means no writer. NW_AS_BEFORE means the writer that
// the line had before the part.
enum { NW_CLEAN = -1, NW_AS_BEFORE = -2 };

// Says what happened to a line after its first request.
typedef enum nw_stay {
  NW_STAYS, // it is still in its set
  NW_LEFT_DIRTY, // it was evicted and written back
  NW_LEFT // it was evicted, and was not written in the part; if it was dirty before the part, it was written back
} nw_stay;

typedef struct nw_stack_first {
  int64_t line;
  int site;
  int writer; // for a line that stays: its last writer, as in nw_stack_last
  uint16_t region;
  uint8_t write, stay;
  uint32_t
      turns; // number of lines that are requested a second time after this line, to restore the order (model_stacked.c)
} nw_stack_first;

typedef struct nw_stack_last {
  int64_t line;
  int writer; // the site, or NW_CLEAN or NW_AS_BEFORE
  int first; // index among the first lines; -1 if the line is not a first line, or if this is unknown
  uint16_t region;
  bool stayed; // true if the line has been in its set since its first request
  bool opens; // true if this is the first item of its set in nw_stacked.last
  bool whole; // true if `opens` is true, the set is full, and `stayed` is false for all lines of the set
} nw_stack_last;

typedef struct nw_stacked { // a summary; lines are relative to the origin of their region
  int nfirst, nlast, nturns, nleft, nlate;
  nw_stack_first *first; // in the order of their first requests
  nw_stack_last *last; // set by set; in each set, from the least recent line to the most recent
  int *turn; // indices of the first lines that take another turn, in the order of the turns
  int *left; // indices of first lines that were evicted from sets that are not whole
  int *late; // indices of last lines that are late (model_stacked.c)
} nw_stacked;
int64_t nw_stacked_weight(const nw_stacked *s); // returns the number of lines to process when s is applied
// Sets the fields `turn`, `left` and `late`. of_whole[i] is true if the set of first line i is whole. `of_whole` is
// NULL if this is unknown.
void nw_stacked_order(nw_spares *spares, nw_stacked *s, const bool *of_whole);
void nw_stacked_free(nw_spares *spares, nw_stacked *s);
// Returns a copy in which the last lines of each region r are moved by `by[r]` lines.
nw_stacked nw_stacked_moved(nw_spares *spares, const nw_stacked *s, const int64_t *by);

typedef struct nw_stack nw_stack;
// The known outcomes of a request. Any other value means that the outcome is unknown. The value is then the index of
// the requested first line.
enum { NW_STACK_HIT = -2, NW_STACK_MISS = -1 };

typedef struct nw_stack_counts { // where a stack counts: the cells of a site
  nw_counting *to; // NULL if nothing is counted
  int cells; // number of cells per site
  int read, write, back; // the cells for read misses, write misses and write-backs
} nw_stack_counts;

nw_stack *nw_stack_new(nw_spares *spares, int64_t sets, int64_t ways, nw_stack_counts counts);
void nw_stack_free(nw_stack *k);
void nw_stack_clear(nw_stack *k);
int nw_stack_ask(nw_stack *k, int64_t line, int region, int site, bool write);
// Appends summary s to the content of k. If `what` is not NULL, sets what[i] to the outcome of first line i of s.
void nw_stack_apply(nw_stack *k, const nw_stacked *s, const int64_t *origin, int *what);
void nw_stack_end(const nw_stack *k, const int64_t *origin, nw_stacked *out);
int nw_stack_nfirst(const nw_stack *k);
const nw_stack_first *nw_stack_first_at(const nw_stack *k, int i);
int64_t nw_stack_size(const nw_stack *k); // returns the number of lines that the summary of k has

// ---- queries about steps
//
// A *step* consists of some iterations of a loop. Together, they move each region r by `by[r]` lines.

bool nw_stack_full(const nw_stack *k);
// True if no line of a moving region has stayed since its first request.
bool nw_stack_settled(const nw_stack *k, const int64_t *by);
void nw_stack_stamp(nw_stack *k, uint32_t now); // lines that are entered later get the stamp `now`
// True if all lines of moving regions have the stamp `since` or a later stamp.
bool nw_stack_renewed(const nw_stack *k, const int64_t *by, uint32_t since);
void nw_stack_dirty(const nw_stack *k, int64_t *lines); // adds to lines[s] the number of lines that site s wrote last
// The first summary that was applied to k must be s, at `origin`. Returns true if k now has the content that it had
// after this summary, with the lines of each region r moved by `by[r]`.
bool nw_stack_moved(nw_stack *k, const nw_stacked *s, const int64_t *origin, const int64_t *by);
