// Makes texts for front ends valid UTF-8. A message with invalid UTF-8 would be invalid JSON, and would be lost.
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

// Returns the number of bytes of the character at s. Returns 0 if it is invalid, and -1 if it may continue after the n
// bytes.
static int utf8_length(const unsigned char *s, size_t n) {
  int want = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
  for (int i = 1; i < want; i++) {
    if ((size_t)i >= n) return -1;
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1 && s[0] == 0xE0) low = 0xA0;
    if (i == 1 && s[0] == 0xED) high = 0x9F;
    if (i == 1 && s[0] == 0xF0) low = 0x90;
    if (i == 1 && s[0] == 0xF4) high = 0x8F;
    if (s[i] < low || s[i] > high) return 0;
  }
  return want;
}

char *nwj_repaired(const char *text, size_t n, bool last, size_t *used, size_t *size) {
  char *out = malloc(3 * n + 1);
  size_t i = 0, k = 0;
  while (i < n) {
    int want = utf8_length((const unsigned char *)text + i, n - i);
    if (want < 0 && !last) break;
    if (want > 0) {
      memcpy(out + k, text + i, (size_t)want);
      k += (size_t)want;
      i += (size_t)want;
    } else {
      memcpy(out + k, "\xEF\xBF\xBD", 3);
      k += 3;
      i++;
    }
  }
  *used = i;
  *size = k;
  return out;
}

json_t *nwj_text(const char *text) {
  size_t used, size;
  char *good = nwj_repaired(text ? text : "", text ? strlen(text) : 0, true, &used, &size);
  json_t *out = json_stringn(good, size);
  free(good);
  return out;
}
