// What a part of a run does to the lines that LRU keeps, whatever was there before: a summary, and a stack that makes one.
//
// Of each set the first so many different lines that it asks for, as many as there are ways, are the only ones whose fate depends
// on what was there; the last so many stay behind, in the order of their last time. Whatever else happens is decided inside.
// Summaries follow one another: apply() puts one behind what a stack has seen. Its cost goes by the lines, not the accesses.
// Private to the model.
#pragma once
#include "cache/exact/model_spare.h"
#include "cache/exact/model_tally.h"

enum { NW_CLEAN = -1, NW_AS_BEFORE = -2 }; // writers that are no site: nobody; whoever it was before

// What became of a line that was there from the first time it was asked for.
typedef enum nw_stay {
  NW_STAYS, // it is there still
  NW_LEFT_DIRTY, // it went, and was written back
  NW_LEFT // it went unchanged: dirty only if it was so before
} nw_stay;

typedef struct nw_stack_first {
  int64_t line;
  int site;
  int writer; // of one that stays: who wrote it last, as below
  uint16_t region;
  uint8_t write, stay;
  uint32_t turns; // so many first lines that stay are more recent than it, though they came before it
} nw_stack_first;

typedef struct nw_stack_last {
  int64_t line;
  int writer; // the site, or NW_CLEAN or NW_AS_BEFORE
  int first; // its number among the first lines, or -1: not there, or not known
  uint16_t region;
  bool stayed; // since it was asked for then
  bool opens; // the first one of its set
  bool whole; // that, and the set is filled with lines none of which stayed
} nw_stack_last;

typedef struct nw_stacked { // a summary; lines count from the origin of their region
  int nfirst, nlast, nturns, nleft, nlate;
  nw_stack_first *first; // in their order
  nw_stack_last *last; // of each set the least recent first
  int *turn; // first lines, whose turn comes again behind others: see there
  int *left; // first lines that went, of sets that are not whole
  int *late; // last lines that come behind all first ones
} nw_stacked;
int64_t nw_stacked_weight(const nw_stacked *s); // lines to look at where it is put behind something
// Fills in turns, and what left and is late. of_whole: first lines whose sets are whole; NULL: not known.
void nw_stacked_order(nw_spares *spares, nw_stacked *s, const bool *of_whole);
void nw_stacked_free(nw_spares *spares, nw_stacked *s);
nw_stacked nw_stacked_moved(nw_spares *spares, const nw_stacked *s, const int64_t *by); // a copy, with what stays moved

typedef struct nw_stack nw_stack;
enum { NW_STACK_HIT = -2, NW_STACK_MISS = -1 }; // else: the number of a first line, where nobody can know

typedef struct nw_stack_counts { // cells of a counting, by site
  nw_counting *to; // NULL: not counted
  int cells; // a site
  int read, write, back; // misses, and written back
} nw_stack_counts;

nw_stack *nw_stack_new(nw_spares *spares, int64_t sets, int64_t ways, nw_stack_counts counts);
void nw_stack_free(nw_stack *k);
void nw_stack_clear(nw_stack *k);
int nw_stack_ask(nw_stack *k, int64_t line, int region, int site, bool write);
// what (may be NULL): for each first line what came of it.
void nw_stack_apply(nw_stack *k, const nw_stacked *s, const int64_t *origin, int *what);
void nw_stack_end(const nw_stack *k, const int64_t *origin, nw_stacked *out);
int nw_stack_nfirst(const nw_stack *k);
const nw_stack_first *nw_stack_first_at(const nw_stack *k, int i);
int64_t nw_stack_size(const nw_stack *k); // lines of the summary it would end in
// Is it what `s` was, with lines that stay moved by so much each region? k began with s at `origin`.
// Of stacks whose regions move by so much a step:
bool nw_stack_full(const nw_stack *k);
bool nw_stack_settled(const nw_stack *k,
                      const int64_t *by); // no line of a region that moves is there since it was first asked for
void nw_stack_stamp(nw_stack *k, uint32_t now); // lines that come from here on
bool nw_stack_renewed(const nw_stack *k, const int64_t *by,
                      uint32_t since); // all lines of regions that move came since that stamp
void nw_stack_dirty(const nw_stack *k, int64_t *lines); // adds, by site, the lines it wrote last
bool nw_stack_moved(nw_stack *k, const nw_stacked *s, const int64_t *origin, const int64_t *by);
