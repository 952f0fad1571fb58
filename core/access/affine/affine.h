// Represents loop nests with affine bounds, guards and references. These nests are the input of the cache model.
//
// A nest is made from a lowered program or from the text of a nest file. The caller owns the arena of the nest.
// The children of a node execute in order, and so do the references of a statement.
#pragma once
#include "access/address.h"

typedef enum nw_affine_kind { NW_AFFINE_SEQ, NW_AFFINE_LOOP, NW_AFFINE_GUARD, NW_AFFINE_STMT } nw_affine_kind;

typedef struct nw_affine_array {
  const char *name;
  int elem; // bytes of an element
  uint64_t address; // address of the first byte
  int64_t bytes;
} nw_affine_array;

typedef struct nw_affine_bound { // the quotient form / div, rounded up for a lower bound and down for an upper bound
  nw_form form;
  int64_t div; // > 0
} nw_affine_bound;

typedef struct nw_affine_ref {
  int array; // number in the nest
  nw_form at; // byte offset from the start of the array
  int bytes; // number of bytes accessed from that offset on
  bool write;
  int site; // number of the load or store in the program; all lanes of a gather have the same number
} nw_affine_ref;

typedef struct nw_affine_node nw_affine_node;
struct nw_affine_node {
  nw_affine_kind kind;
  int nkids;
  nw_affine_node **kid; // for all kinds but STMT
  // LOOP: the variable in `slot` has the values first, first + step, ... that are <= last. Here, first is the maximum
  // of the bounds `begin`, and last is the minimum of the bounds `end`.
  const char *name;
  int slot;
  int64_t step; // > 0
  int nbegin, nend;
  nw_affine_bound *begin, *end;
  bool parallel; // true for an outermost parallel loop, whose iterations are distributed among threads
  int chunk; // the result of nw_chunk_of (tags.h), which says how the iterations are distributed
  // GUARD: the children run if all forms in `cond` are >= 0
  int nconds;
  nw_form *cond;
  // STMT
  int nrefs;
  nw_affine_ref *ref;
};

typedef struct nw_affine_site {
  const char *loop; // the innermost enclosing loop, or NULL
  int array;
  bool write;
} nw_affine_site;

typedef struct nw_affine_nest {
  int narrays;
  nw_affine_array *array; // disjoint, sorted by address
  int nslots; // number of slots, which hold the values of the loop variables
  int nsites;
  nw_affine_site *site;
  nw_affine_node *root;
} nw_affine_nest;
