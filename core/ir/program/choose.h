// Which of several versions runs: a tree over the values of sizes.
//
// Each version has facts, and the first whose facts all hold is meant; the last where none does. A chain of conditions takes
// as long as it is. The tree asks by halves in which interval a size is, then for a residue, and then for what is left of a
// version's facts at once.
#pragma once
#include "ir/expr/expr.h"

typedef enum nw_choice_kind {
  NW_CHOSEN, // the answer
  NW_BELOW, // is the size less than the number?
  NW_RESIDUE, // the size modulo the number
  NW_HOLDING, // does the fact hold?
} nw_choice_kind;

typedef struct nw_choice {
  nw_choice_kind kind;
  int size; // which, of those that are asked about
  int64_t number;
  const nw_expr *fact;
  int next; // NW_CHOSEN: the version. Else where its answers begin in `next`: yes and no, or one for each residue
} nw_choice;

typedef struct nw_choices {
  int n, cap, nnext, capnext;
  nw_choice *at; // at[0] is asked first
  int *next;
} nw_choices;

typedef struct nw_version_facts {
  int nfacts;
  const nw_expr *const *fact;
} nw_version_facts;

// Facts are in sizes alone. Those of the last case count for nothing.
void nw_choices_make(nw_choices *t, nw_pool *pool, int nsizes, const char *const *size, int n,
                     const nw_version_facts *version);
void nw_choices_free(nw_choices *t);
int nw_choices_depth(const nw_choices *t); // questions at most
char *nw_choices_show(const nw_choices *t, const char *const *size); // heap
