// Declares tags, which are pragmas of loops and annotations of stages. A tag has a key and a value. Each key is a row
// of a table. The runtime, a pass or the printer uses the value.
#pragma once
#include "ir/text/lines.h"

typedef struct nw_tag_row {
  const char *key;
  bool loop, stage; // `loop`: the key applies to loops; `stage`: the key applies to stages
  const char *choices; // the words that are allowed, "static|dynamic"; NULL: any line of text, or a number
  int64_t most; // the largest number that is allowed (the least is 1); 0 if the value is a word or a text
  bool parallel; // only for parallel loops
  const char *doc; // its meaning, and what uses it
} nw_tag_row;

int nw_tag_count(void);
const nw_tag_row *nw_tag_row_at(int i);
const nw_tag_row *nw_tag_row_find(const char *key);
const char *nw_tag_wants(const nw_tag_row *row); // "a whole number of at least 1", "static|dynamic", ...
bool nw_tag_fits(const nw_tag_row *row, const nw_tag *t); // true if the value is valid for the key

const nw_tag *nw_tag_of(const nw_stmt *s, const char *key); // NULL if s has no tag with this key
bool nw_tag_is(const nw_stmt *s, const char *key, const char *text);
bool nw_tag_has(const nw_stmt *s, const char *key, const char *word); // word: one of those in the text of the tag
void nw_tag_set(nw_program *p, nw_stmt *s, nw_tag t); // replaces a tag with the same key
bool nw_tag_drop(nw_stmt *s, const char *key); // removes a tag; false if s has no tag with this key
// Returns a number n that tells how a parallel loop gives iterations to threads. If n = 0, each thread gets one part of
// fixed size. If n > 0, the threads get chunks of n iterations in turn. If n < 0, each free thread gets the next chunk
// of -n iterations.
NW_API int64_t nw_chunk_of(const nw_stmt *loop);
bool nw_same_tags(const nw_stmt *a, const nw_stmt *b);
