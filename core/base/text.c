// Checks texts from the user that are printed later, such as labels, notes and names of branches.
#include "base/base.h"

// Returns the code point at the start of s, and stores its number of bytes in *bytes. s is not empty. Returns -1 if s
// does not start with valid UTF-8.
static int32_t code_point(const unsigned char *s, size_t n, int *bytes) {
  static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int more = *s < 0x80                 ? 0
             : *s >= 0xc2 && *s < 0xe0 ? 1
             : *s >= 0xe0 && *s < 0xf0 ? 2
             : *s >= 0xf0 && *s < 0xf5 ? 3
                                       : -1;
  *bytes = 1;
  if (more < 0 || (size_t)more >= n) return -1;
  int32_t c = more ? *s & (0x3f >> more) : *s;
  for (int i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80) return -1;
    c = c << 6 | (s[i] & 0x3f);
  }
  if (c < least[more + 1] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) return -1;
  *bytes = more + 1;
  return c;
}

// True if the character is shown as itself. False for control characters, separators of lines and paragraphs, and marks
// that change the direction of text.
static bool is_shown(int32_t c) {
  if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return false;
  return c != 0x2028 && c != 0x2029 && !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

bool nw_text_ok(nw_ctx *c, const char *what, const char *s, size_t n, bool lines) {
  int bytes;
  for (size_t at = 0; at < n; at += (size_t)bytes) {
    int32_t p = code_point((const unsigned char *)s + at, n - at, &bytes);
    if (p >= 0 && (is_shown(p) || (lines && (p == '\n' || p == '\t')))) continue;
    const char *kind = p < 0 ? "is not UTF-8" : "is a control character";
    nw_fail(c, NW_EINVAL,
            lines ? "use only printable characters and line breaks" : "use only printable characters, on one line",
            "%s: byte %zu, \\x%02x, %s", what, at + 1, (unsigned char)s[at], kind);
    return false;
  }
  return true;
}

char *nw_text_shown(const char *s, size_t n) {
  nw_str out = {0};
  int bytes;
  for (size_t at = 0; at < n; at += (size_t)bytes) {
    int32_t p = code_point((const unsigned char *)s + at, n - at, &bytes);
    if (p >= 0 && (is_shown(p) || p == '\n' || p == '\t'))
      nw_str_addn(&out, s + at, (size_t)bytes);
    else
      for (int i = 0; i < bytes; i++) nw_str_fmt(&out, "\\x%02x", (unsigned char)s[at + (size_t)i]);
  }
  return nw_str_take(&out);
}
