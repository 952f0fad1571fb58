// Keeps the names of pieces of loops that were proven empty, and makes the results of steps on these pieces.
#include "sched/empty.h"
#include "sched/history.h"
#include "sched/primitives/pieces.h"
#include "sched/tree.h"

// ---- search by name and by id among the versions from the naive program to the current one

typedef struct wanted {
  const char *name; // NULL to search by id
  int id;
  bool stage;
} wanted;

static bool is_wanted(const wanted *w, int id, const char *name) {
  return (id == 0) == w->stage && (w->name ? !strcmp(w->name, name) : w->id == id);
}

static const char *find(const nw_sched *s, const wanted *w, int *id) {
  for (const nw_node *node = nw_sched_head(s); node->parent >= 0; node = nw_sched_node(s, node->parent))
    for (int i = 0; i < node->nempty; i++) {
      *id = node->empty[i];
      if (is_wanted(w, *id, node->empty_name[i])) return node->empty_name[i];
    }
  *id = 0;
  return NULL;
}

int nw_empty_loop(const nw_sched *s, const char *name) {
  int id;
  find(s, &(wanted){.name = name}, &id);
  return id;
}

const char *nw_empty_name(const nw_sched *s, int id) {
  int found;
  return find(s, &(wanted){.id = id}, &found);
}

bool nw_empty_stage(const nw_sched *s, const char *name) {
  int id;
  return find(s, &(wanted){.name = name, .stage = true}, &id) != NULL;
}

// ---- new names

static void add(nw_step *st, int id, const char *name) {
  nw_vec_push(&st->empty, (void *)(intptr_t)id);
  nw_vec_push(&st->empty_name, (void *)name);
}

static int add_loop(nw_step *st, const char *name) {
  int id = st->p ? st->p->next_id++ : st->sched->next_id++;
  add(st, id, name);
  return id;
}

// Adds the names that nw_copy_stmt_as gives to the copies of the loops and blocks in s.
static void add_tree(nw_step *st, const char *piece, const nw_stmt *cut, const nw_stmt *s) {
  if (s->kind == NW_LOOP && s != cut)
    add_loop(st, nw_arena_printf(st->scratch, "%s/%s", piece, nw_name_below(piece, s->loop.var->name)));
  const char *dot = strrchr(piece, '.');
  if (s->kind == NW_BLOCK && dot) add(st, 0, nw_arena_printf(st->scratch, "%s%s", s->block.name, dot));
  if (s->kind == NW_UNIT)
    add(st, 0, nw_arena_printf(st->scratch, dot ? "%2$s%1$s" : "%1$s/%2$s", dot ? dot : piece, s->unit.name));
  if (s->kind == NW_BLOCK && !dot) add(st, 0, nw_arena_printf(st->scratch, "%s/%s", piece, s->block.name));
  for (int i = 0; i < s->nkids; i++) add_tree(st, piece, cut, s->kid[i]);
}

int nw_empty_piece(nw_step *st, const nw_stmt *loop, const nw_stmt *whole, const char *suffix) {
  const char *piece = nw_arena_printf(st->scratch, "%s.%s", loop->loop.var->name, suffix);
  int id = add_loop(st, piece);
  add_tree(st, piece, loop, whole);
  return id;
}

int nw_empty_version(nw_step *st, const nw_stmt *whole, const char *path) {
  int first = st->p->next_id;
  add_tree(st, path, NULL, whole);
  return first;
}

int nw_empty_named(nw_step *st, int id, const char *name) {
  if (!id) return add_loop(st, name);
  add(st, id, name);
  return id;
}

// ---- results of steps on empty pieces: the same names as the step makes for other loops

static void give_loop(nw_step *st, const char *name) { st->out.loop[st->out.n++] = add_loop(st, name); }

// Makes the results of a split of an empty piece. For a loop i, the names are i_o and i_i, or i_0, i_1, ... if there
// are more than two loops.
static void give_split(nw_step *st) {
  const char *name = st->resolved[0].name;
  int n = 2;
  for (int i = 1; i < NW_MAX_PARAMS; i++)
    if (st->resolved[i].kind == NW_ARG_LIST) n = st->resolved[i].n + 1;
  for (int i = 0; i < n; i++)
    give_loop(st, n > 2 ? nw_arena_printf(st->scratch, "%s_%d", name, i)
                        : nw_arena_printf(st->scratch, "%s%s", name, i ? "_i" : "_o"));
}

static void give_tile(nw_step *st) {
  for (int inner = 0; inner < 2; inner++)
    for (int i = 0; i < st->resolved[0].n; i++)
      give_loop(st, nw_arena_printf(st->scratch, "%s%s", st->resolved[0].item[i].name, inner ? "_i" : "_o"));
}

static void give_stage(nw_step *st, const char *suffix) {
  const char *name = nw_arena_printf(st->scratch, "%s_%s", st->resolved[0].name, suffix);
  add(st, 0, name);
  st->out.stage[st->out.n++] = nw_pool_name(st->sched->pool, name);
}

static void give_unit(nw_step *st) {
  const char *name = st->resolved[1].name;
  if (!name) name = nw_arena_printf(st->scratch, "%s_o", st->resolved[0].name);
  add(st, 0, name);
  st->out.stage[st->out.n++] = nw_pool_name(st->sched->pool, name);
}

// Adds the names of a piece `to` of the empty piece `from`. For example, i.tail/j gives the name i.tail.head/j.
static void give_piece(nw_step *st, const char *from, const char *to) {
  size_t n = strlen(from);
  give_loop(st, to);
  for (const nw_node *node = nw_sched_head(st->sched); node->parent >= 0; node = nw_sched_node(st->sched, node->parent))
    for (int i = 0; i < node->nempty; i++)
      if (node->empty[i] && !strncmp(node->empty_name[i], from, n) && node->empty_name[i][n] == '/')
        add_loop(st, nw_arena_printf(st->scratch, "%s%s", to, node->empty_name[i] + n));
}

static void give_parts(nw_step *st) {
  static const char *const parts[] = {"pre", "main", "post"};
  const char *loop = st->resolved[0].name;
  bool cut = !strcmp(st->primitive->name, "cut");
  int n = cut ? st->resolved[1].n + 1 : NW_COUNT(parts);
  for (int i = 0; i < n; i++) {
    const char *part = cut ? nw_piece_suffix(st, i, n) : parts[i];
    give_piece(st, loop, nw_arena_printf(st->scratch, "%s.%s", loop, part));
  }
}

static void give_versions(nw_step *st) {
  const char *loop = st->resolved[1].name;
  if (!loop) return;
  give_piece(st, loop, nw_arena_printf(st->scratch, "then/%s", loop));
  give_piece(st, loop, nw_arena_printf(st->scratch, "else/%s", loop));
}

static void give_joined(nw_step *st) {
  const char *first = st->resolved[0].name, *dot = strrchr(first, '.');
  give_piece(st, first, dot ? nw_arena_strndup(st->scratch, first, (size_t)(dot - first)) : first);
}

void nw_empty_results(nw_step *st) {
  const char *what = st->primitive->name;
  bool unrolled = !strcmp(what, "unroll") && st->resolved[1].kind == NW_ARG_INT;
  if (!strcmp(what, "split") || unrolled) give_split(st);
  if (!strcmp(what, "tile")) give_tile(st);
  if (!strcmp(what, "add_unit_loop")) give_loop(st, "u");
  if (!strcmp(what, "merge") || !strcmp(what, "fission")) st->out.loop[st->out.n++] = (int)st->resolved[0].i;
  if (!strcmp(what, "fission")) give_loop(st, nw_arena_printf(st->scratch, "%s.after", st->resolved[0].name));
  if (!strcmp(what, "create_fused_loop")) give_loop(st, "fused");
  if (!strcmp(what, "fuse"))
    give_loop(st, nw_arena_printf(st->scratch, "%s_%s", st->resolved[0].name, st->resolved[1].name));
  if (!strcmp(what, "blockize")) give_unit(st);
  if (!strcmp(what, "reindex")) give_stage(st, "reindex");
  if (!strcmp(what, "cache_index")) give_stage(st, "index");
  if (!strcmp(what, "cache_read") || !strcmp(what, "cache_write")) give_stage(st, st->resolved[1].name);
  if (!strcmp(what, "decompose_reduction")) give_stage(st, "init");
  if (!strcmp(what, "decompose_padding")) give_stage(st, "fill");
  if (!strcmp(what, "cut") || !strcmp(what, "partition")) give_parts(st);
  if (!strcmp(what, "specialize")) give_versions(st);
  if (!strcmp(what, "join")) give_joined(st);
  nw_step_note(st, "%s is empty: the step has no effect", st->idle);
}
