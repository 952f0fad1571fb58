// Finds the nearest word, for hints such as "did you mean 'x'?".
#include "base/base.h"

// Returns the edit distance between two words of up to 31 letters. A swap of two neighbouring letters counts as one
// edit. If one of the words is longer, returns a large number.
static int distance(const char *a, const char *b) {
  int n = (int)strlen(a), m = (int)strlen(b);
  if (n > 31 || m > 31) return 99;
  int d[32][32];
  for (int i = 0; i <= n; i++) d[i][0] = i;
  for (int j = 0; j <= m; j++) d[0][j] = j;
  for (int i = 1; i <= n; i++) {
    for (int j = 1; j <= m; j++) {
      int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && d[i - 2][j - 2] + 1 < best) best = d[i - 2][j - 2] + 1;
      d[i][j] = best;
    }
  }
  return d[n][m];
}

const char *nw_nearest(const char *word, int n, const char *const *words) {
  int letters = (int)strlen(word), limit = letters < 2 ? 0 : letters <= 3 ? 1 : letters / 3 + 1, best = limit + 1;
  const char *found = NULL;
  for (int i = 0; i < n; i++) {
    int d = distance(word, words[i]);
    if (d < best || (d == best && found && strcmp(words[i], found) < 0)) {
      best = d;
      found = words[i];
    }
  }
  return found;
}
