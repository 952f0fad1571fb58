// Checks names and chooses new names. A new name is the first of name, name_1, name_2, ... that is not in use.
#include "ir/program/program.h"
#include "ir/program/valid.h"
#include <ctype.h>
#include <stdlib.h>

// A name that was given to a loop, a block or a unit since the program was cloned, or that is kept for a loop.
struct nw_taken {
  struct nw_taken *next;
  const char *name;
  int space;
};
enum { LOOPS, BLOCKS, BUFFERS, UNITS };

// The set of the names `want`, `want_1`, ... that are in use. Bit i stands for `want_i`, and bit 0 for `want` itself.
typedef struct used {
  const char *want;
  size_t len;
  int space;
  int cap; // one of the suffixes below `cap` is free, since there are fewer names than `cap`
  unsigned char *bit;
} used;

// Returns i if the name is `want_i`, 0 if it is `want` itself, and -1 for any other name. `want_01` is another name
// than `want_1`.
static int suffix_of(const used *u, const char *name) {
  if (strncmp(name, u->want, u->len)) return -1;
  const char *s = name + u->len;
  if (!*s) return 0;
  if (*s++ != '_' || *s < '1' || *s > '9') return -1;
  char *end;
  long i = strtol(s, &end, 10);
  return *end || i >= u->cap ? -1 : (int)i;
}

static void use(used *u, const char *name) {
  int i = suffix_of(u, name);
  if (i >= 0 && i < u->cap) u->bit[i] = 1;
}

static bool use_stmt(void *env, nw_stmt *s) {
  used *u = env;
  if (u->space == LOOPS && s->kind == NW_LOOP) use(u, s->loop.var->name);
  if (u->space == BLOCKS && s->kind == NW_BLOCK) use(u, s->block.name);
  if (s->kind == NW_UNIT) use(u, s->unit.name);
  return true;
}

static bool count_stmt(void *env, nw_stmt *s) {
  (void)s;
  ++*(int *)env;
  return true;
}

static int count_names(const nw_program *p) {
  int n = p->nsizes + p->nbuffers + 2;
  for (const struct nw_taken *t = p->taken; t; t = t->next) n++;
  nw_walk_from(p->root, count_stmt, &n);
  return n;
}

static void use_program(used *u, const nw_program *p) {
  for (const struct nw_taken *t = p->taken; t; t = t->next)
    if (t->space == u->space || t->space == UNITS) use(u, t->name);
  if (u->space == LOOPS)
    for (int i = 0; i < p->nsizes; i++) use(u, p->size[i].name);
  if (u->space == BUFFERS)
    for (int i = 0; i < p->nbuffers; i++) use(u, p->buffer[i]->name);
  nw_walk_from(p->root, use_stmt, u);
}

static const char *hand_out(nw_program *p, int space, const char *name) {
  struct nw_taken *t = NW_NEW(p->arena, struct nw_taken);
  *t = (struct nw_taken){.next = p->taken, .name = nw_pool_name(p->pool, name), .space = space};
  p->taken = t;
  return t->name;
}

// Visits the existing names only once for each new name. If each possible suffix were compared with all names, choosing
// n names with the same stem would take cubic time.
static const char *unique(nw_program *p, const char *want, int space) {
  used u = {.want = want, .len = strlen(want), .space = space, .cap = count_names(p)};
  u.bit = nw_xcalloc((size_t)u.cap, 1);
  use_program(&u, p);
  int i = 0;
  while (i < u.cap && u.bit[i]) i++;
  free(u.bit);
  const char *name = i ? nw_arena_printf(p->arena, "%s_%d", want, i) : want;
  return space == BUFFERS ? nw_pool_name(p->pool, name) : hand_out(p, space, name);
}

// A loop does not get the name of a symbolic size, since both occur in the same expressions.
const char *nw_unique_loop_name(nw_program *p, const char *want) { return unique(p, want, LOOPS); }

void nw_keep_loop_name(nw_program *p, const char *name) { hand_out(p, LOOPS, name); }

const char *nw_unique_block_name(nw_program *p, const char *want) { return unique(p, want, BLOCKS); }

// Further calls return the same name until nw_add_buffer adds a buffer with this name.
const char *nw_unique_buffer_name(nw_program *p, const char *want) { return unique(p, want, BUFFERS); }

// A step takes the name of a unit where it takes the name of a loop or a stage, so these names differ.
const char *nw_unique_unit_name(nw_program *p, const char *want) {
  const char *name = unique(p, want, UNITS);
  while (nw_find_loop(p, name) || nw_find_block(p, name) || nw_find_buffer(p, name)) name = unique(p, want, UNITS);
  return name;
}

// ---- origins of blocks

typedef struct origins {
  const char *want;
  bool taken;
} origins;

static bool see_origin(void *env, nw_stmt *s) {
  origins *o = env;
  if (s->kind == NW_BLOCK && !strcmp(s->block.origin, o->want)) o->taken = true;
  return !o->taken;
}

const char *nw_unique_origin(nw_program *p, const char *want) {
  const char *name = want;
  for (int i = 1;; i++) {
    origins o = {.want = name};
    nw_walk_from(p->root, see_origin, &o);
    if (!o.taken) return nw_pool_name(p->pool, name);
    name = nw_arena_printf(p->arena, "%s_%d", want, i);
  }
}

// ---- valid names

static bool reserved(const char *s) {
  static const char *const words[] = {"and", "or", "not", "true", "false", "inf", "nan"};
  for (int i = 0; i < NW_COUNT(words); i++)
    if (!strcmp(s, words[i])) return true;
  return false;
}

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool nw_name_ok(const char *s) {
  if (!s || !(isalpha((unsigned char)*s) || *s == '_')) return false;
  for (const char *c = s; *c; c++) {
    if (word_char(*c)) continue;
    if (!strchr("./@", *c) || !word_char(c[1])) return false;
  }
  return !reserved(s);
}

bool nw_name_given(nw_ctx *c, const char *what, const char *name) {
  bool fits = strnlen(name, NW_NAME_MOST + 1) <= NW_NAME_MOST;
  if (fits && nw_name_ok(name) && !strchr(name, '@')) return true;
  nw_fail(c, NW_EINVAL,
          fits && reserved(name) ? "reserved words: and, or, not, true, false, inf, nan"
                                 : "a name has up to 200 letters, digits and _ and does not begin with a digit",
          "%s cannot be named '%.*s'%s", what, NW_NAME_MOST, name, fits ? "" : "..., which is too long");
  return false;
}
