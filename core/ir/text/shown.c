// For tests: reverses each word of the texts for users, so that any code that parses these texts fails.
#include "ir/expr/expr.h"
#include <ctype.h>
#include <stdlib.h>

#ifdef NW_MUTANTS
static bool is_scrambled(void) {
  static _Atomic int on = -1; // -1: the environment is not read yet
  if (on < 0) on = getenv("NW_SCRAMBLE") != NULL;
  return on;
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

char *nw_as_shown(char *text) {
  for (char *at = text && is_scrambled() ? text : NULL; at && *at;) {
    char *end = at;
    while (in_word(*end)) end++;
    for (char *a = at, *b = end - 1; a < b; a++, b--) {
      char c = *a;
      *a = *b, *b = c;
    }
    at = end > at ? end : at + 1;
  }
  return text;
}
#else
char *nw_as_shown(char *text) { return text; }
#endif
