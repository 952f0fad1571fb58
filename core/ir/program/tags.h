// Pragmas of loops and annotations of stages. Each key is a row, and there are only keys that something honours.
#pragma once
#include "ir/text/lines.h"

typedef struct nw_tag_row {
  const char *key;
  bool loop, stage; // what it is said of
  const char *choices; // of a word, "static|dynamic"; NULL: any line of text, or a number
  int64_t most; // of a number, from 1; 0: a word or text
  bool parallel; // only of a loop that runs in parallel
  const char *doc; // what it means and who honours it
} nw_tag_row;

int nw_tag_count(void);
const nw_tag_row *nw_tag_row_at(int i);
const nw_tag_row *nw_tag_row_find(const char *key);
const char *nw_tag_wants(const nw_tag_row *row); // "a whole number from 1", "static or dynamic", ...
bool nw_tag_fits(const nw_tag_row *row, const nw_tag *t); // is the value one of the key's?

const nw_tag *nw_tag_of(const nw_stmt *s, const char *key); // NULL: not said
bool nw_tag_is(const nw_stmt *s, const char *key, const char *text);
void nw_tag_set(nw_program *p, nw_stmt *s, nw_tag t); // in the place of one with its key
bool nw_tag_drop(nw_stmt *s, const char *key);
// Rounds a parallel loop hands out at a time: 0 each thread its own part, positive in turn, negative to whoever is free.
NW_API int64_t nw_chunk_of(const nw_stmt *loop);
bool nw_same_tags(const nw_stmt *a, const nw_stmt *b);
