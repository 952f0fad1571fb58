// A summary describes the effect of a part of a run on an LRU cache with any previous content. A stack builds a
// summary.
//
// Let a set have W ways. Only the first requests of the first W different lines that a part requests in the set (its
// *first lines*) have outcomes that depend on the previous content. At the end, the last W different lines (its *last
// lines*) are in the set, in LRU order. All other outcomes are determined by the part itself. Summaries can be
// concatenated: apply() appends one to the contents of a stack. Its cost depends on the number of lines, not on the
// number of accesses. Private to the model.
#pragma once
#include "cache/exact/model_spare.h"
#include "cache/exact/model_tally.h"

// Values of a writer that are not sites. NW_CLEAN: no writer. NW_AS_BEFORE: the writer that the line had before the
// part.
enum { NW_CLEAN = -1, NW_AS_BEFORE = -2 };

// What happened to a line after its first request.
typedef enum nw_stay {
  NW_STAYS, // it is still there
  NW_LEFT_DIRTY, // evicted, and written back
  NW_LEFT // evicted, not written by the part: it is written back only if it was dirty before
} nw_stay;

typedef struct nw_stack_first {
  int64_t line;
  int site;
  int writer; // for a line that stays: its last writer, as in nw_stack_last
  uint16_t region;
  uint8_t write, stay;
  uint32_t turns; // the number of earlier first lines that stay and are more recent
} nw_stack_first;

typedef struct nw_stack_last {
  int64_t line;
  int writer; // the site, or NW_CLEAN or NW_AS_BEFORE
  int first; // index among the first lines; -1 if the line is not one of them, or if this is unknown
  uint16_t region;
  bool stayed; // it stayed since its first request
  bool opens; // it is the first line of its set
  bool whole; // it is the first line of its set, and the set is full of lines that did not stay
} nw_stack_last;

typedef struct nw_stacked { // a summary; lines are relative to the origin of their region
  int nfirst, nlast, nturns, nleft, nlate;
  nw_stack_first *first; // in order
  nw_stack_last *last; // by set; in a set, the least recent is first
  int *turn; // indices of first lines with turns > 0
  int *left; // indices of first lines that were evicted from sets that are not whole
  int *late; // indices of last lines that were requested after all first lines
} nw_stacked;
int64_t nw_stacked_weight(const nw_stacked *s); // lines to process when it is applied
// Sets the fields turn, left and late. of_whole: by first line, true if its set is whole; NULL if this is unknown.
void nw_stacked_order(nw_spares *spares, nw_stacked *s, const bool *of_whole);
void nw_stacked_free(nw_spares *spares, nw_stacked *s);
// Returns a copy in which the lines that remain in the cache are moved.
nw_stacked nw_stacked_moved(nw_spares *spares, const nw_stacked *s, const int64_t *by);

typedef struct nw_stack nw_stack;
// The outcome of a request. Other values are the index of a first line, whose outcome is unknown.
enum { NW_STACK_HIT = -2, NW_STACK_MISS = -1 };

typedef struct nw_stack_counts { // cells of a counting, by site
  nw_counting *to; // NULL if nothing is counted
  int cells; // number of cells per site
  int read, write, back; // the cells for read misses, write misses and write-backs
} nw_stack_counts;

nw_stack *nw_stack_new(nw_spares *spares, int64_t sets, int64_t ways, nw_stack_counts counts);
void nw_stack_free(nw_stack *k);
void nw_stack_clear(nw_stack *k);
int nw_stack_ask(nw_stack *k, int64_t line, int region, int site, bool write);
// what (may be NULL): the outcome of each first line.
void nw_stack_apply(nw_stack *k, const nw_stacked *s, const int64_t *origin, int *what);
void nw_stack_end(const nw_stack *k, const int64_t *origin, nw_stacked *out);
int nw_stack_nfirst(const nw_stack *k);
const nw_stack_first *nw_stack_first_at(const nw_stack *k, int i);
int64_t nw_stack_size(const nw_stack *k); // lines of the summary that it would build
// For stacks whose regions move by `by` in each step:
bool nw_stack_full(const nw_stack *k);
// True if no line of a moving region has stayed since its first request.
bool nw_stack_settled(const nw_stack *k, const int64_t *by);
void nw_stack_stamp(nw_stack *k, uint32_t now); // sets the stamp of lines that are entered from now on
// True if all lines of moving regions were entered after that stamp.
bool nw_stack_renewed(const nw_stack *k, const int64_t *by, uint32_t since);
void nw_stack_dirty(const nw_stack *k, int64_t *lines); // adds, for each site, the number of lines that it wrote last
// k began with s at `origin`. True if its contents equal those of `s`, with the remaining lines of each region moved by
// `by`.
bool nw_stack_moved(nw_stack *k, const nw_stacked *s, const int64_t *origin, const int64_t *by);
