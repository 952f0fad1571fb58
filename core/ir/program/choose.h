// Selects one of several versions of a kernel with a decision tree over the values of sizes.
//
// Each version has facts, which are conditions on the sizes. The first version whose facts all hold is selected. If
// there is no such version, the last version is selected. A chain of conditions would take time linear in the number of
// versions. The tree first finds the interval of each size by bisection. Then it finds the residues of the sizes. At
// the end it tests all remaining facts of a version at once.
#pragma once
#include "ir/expr/expr.h"

typedef enum nw_choice_kind {
  NW_CHOSEN, // leaf: the selected version
  NW_BELOW, // node: tests whether the size is less than the number
  NW_RESIDUE, // node: has a child for each value of size % number
  NW_HOLDING, // node: tests whether the fact holds
} nw_choice_kind;

typedef struct nw_choice {
  nw_choice_kind kind;
  int size; // index of the size
  int64_t number;
  const nw_expr *fact;
  // NW_CHOSEN: index of the version. Otherwise: index in nw_choices.next of the first child. A node has two children,
  // for yes and no, or one child for each residue.
  int next;
} nw_choice;

typedef struct nw_choices {
  int n, cap, nnext, capnext;
  nw_choice *at; // at[0] is the root
  int *next;
} nw_choices;

typedef struct nw_version_facts {
  int nfacts;
  const nw_expr *const *fact;
} nw_version_facts;

// Makes the tree. Facts use only sizes; the facts of the last version are ignored.
void nw_choices_make(nw_choices *t, nw_pool *pool, int nsizes, const char *const *size, int n,
                     const nw_version_facts *version);
void nw_choices_free(nw_choices *t);
int nw_choices_depth(const nw_choices *t); // maximal number of nodes on a path
char *nw_choices_show(const nw_choices *t, const char *const *size); // heap
