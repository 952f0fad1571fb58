// Checks asynchronous copies. Their stores arrive at some time after the copy was executed, and before a wait for its
// group ends. A wait is placed before each reader (lower/async.c). So an access that comes after a reader of the same group of
// copies comes after their arrival. All other accesses that may conflict with a copy in flight are refused: a write of
// the same element, or of the source.
//
// Threads of a GPU block run in any order between barriers, so a thread loop is not compared.
#include "ir/text/lines.h"
#include "poly/internal.h"

// ---- accesses while a copy is in flight

// In this section, a group is the set of executions of a copy in one iteration of the loops that contain other blocks,
// too. These executions are committed together.

typedef struct flight {
  const nw_model *m;
  nw_use *copy; // the write of the asynchronous block
  int around; // number of loops around the copy that contain other blocks, too
  const nw_use *from, *to; // the accesses in conflict: an access of the copy, and a later write
  isl_map *pairs; // their executions
} flight;

static bool is_block(void *env, nw_stmt *s) { return s->kind != NW_BLOCK || s == env; }

static int loops_around_group(const nw_site *s) {
  int n = s->nloops;
  while (n > 0 && nw_walk_from(s->loop[n - 1], is_block, (void *)s->block)) n--;
  return n;
}

static nw_answer add_pairs(void *env, const nw_stmt *loop, int level, isl_map *pairs) {
  (void)loop, (void)level;
  isl_map **all = env;
  *all = isl_map_union(*all, isl_map_copy(pairs));
  return NW_HOLDS;
}

// Returns all pairs in which b comes after a. Consumes pairs.
static isl_map *later(const nw_model *m, const nw_use *a, const nw_use *b, isl_map *pairs) {
  isl_map *all = isl_map_empty(isl_map_get_space(pairs));
  if (nw_each_class(m, a, b, pairs, add_pairs, &all) == NW_HOLDS) return all;
  isl_map_free(all);
  return NULL;
}

// Returns the map from the executions of s to the iterations of its first n loops, without thread loops.
static isl_map *iterations(const nw_model *m, const nw_site *s, int n) {
  isl_map *map = isl_map_identity(isl_space_map_from_set(nw_family_space(m->f, s->dim[s->nloops])));
  for (int i = s->nloops - 1; i >= 0; i--)
    if (i >= n || nw_is_thread_loop(s->loop[i]))
      map = isl_map_project_out(map, isl_dim_out, (unsigned)s->dim[i], (unsigned)(s->dim[i + 1] - s->dim[i]));
  return map;
}

// Returns the pairs (group of a, iteration of the first n loops of b). Consumes pairs.
static isl_map *by_group(const flight *x, const nw_use *a, const nw_use *b, int n, isl_map *pairs) {
  pairs = isl_map_apply_domain(pairs, iterations(x->m, a->site, x->around));
  return isl_map_apply_range(pairs, iterations(x->m, b->site, n));
}

// Returns the pairs (group, iteration of the first n loops of x->to) between which a thread waits for the group, because
// of this reader.
static isl_map *waited(const flight *x, nw_use *reader, int n) {
  isl_map *read = later(x->m, x->copy, reader, nw_copy_reads(x->m, x->copy, reader));
  if (!read) return NULL;
  isl_map *to = by_group(x, x->copy, reader, n, read);
  isl_space *order = isl_space_range(isl_map_get_space(to));
  bool same = reader->site->seq <= x->to->site->seq;
  return isl_map_apply_range(to, same ? isl_map_lex_le(order) : isl_map_lex_lt(order));
}

// Returns the pairs of x between which no wait for the copy is certain.
static isl_map *without_wait(const flight *x) {
  isl_map *bad = isl_map_copy(x->pairs);
  nw_uses u = nw_uses_of(x->m, x->copy->buffer);
  for (int i = 0; i < u.n && isl_map_is_empty(bad) == isl_bool_false; i++) {
    nw_use *r = u.at[i];
    if (r->write || !nw_may_meet(x->copy, r)) continue;
    int n = nw_common_loops(r->site, x->to->site);
    isl_map *good = waited(x, r, n), *left = by_group(x, x->from, x->to, n, isl_map_copy(bad));
    left = isl_map_subtract(left, nw_with_quotients(x->m->f->s, good));
    isl_map *in = iterations(x->m, x->from->site, x->around), *out = iterations(x->m, x->to->site, n);
    left = isl_map_apply_range(isl_map_apply_range(in, left), isl_map_reverse(out));
    bad = isl_map_intersect(bad, left);
  }
  return bad;
}

static const char *why_of(const flight *x) {
  if (!x->from->write) return "{e} is copied at {s}, and overwritten at {t} while the copy may be in flight";
  if (nw_own_places(x->m, x->to->buffer) == NW_FAILS)
    return "{e} is copied at {s}, and {f} is written to the same location at {t} while the copy may be in flight";
  return "{e} is copied at {s}, and written again at {t} while the copy may be in flight";
}

// Checks a write `to` after an access `from` of the copy. If `alone` is false, other threads may make the write, and a wait
// does not hold them back. A barrier may do so, but nothing is proved about this.
static nw_answer check_write(flight *x, nw_use *from, nw_use *to, isl_map *pairs, bool alone) {
  x->from = from, x->to = to;
  x->pairs = later(x->m, from, to, pairs);
  isl_map *bad = x->pairs ? without_wait(x) : NULL;
  nw_story story = {.kind = from->write ? NW_REFUSE_WAW : NW_REFUSE_WAR, .source = from, .sink = to, .why = why_of(x)};
  if (!alone && isl_map_is_empty(bad) == isl_bool_true) {
    story.kind = NW_REFUSE_UNDECIDED;
    story.why = "{e} is copied at {s}, and overwritten at {t}, and a wait does not hold back other threads";
    isl_map_free(bad);
    bad = isl_map_copy(x->pairs);
  }
  isl_map_free(x->pairs);
  nw_answer answer = nw_answer_of(x->m->f->s, isl_map_is_empty(bad));
  if (answer == NW_FAILS) return nw_tell_pair(x->m, &story, bad);
  isl_map_free(bad);
  return answer;
}

// True if the access happens while the storage of the copy exists.
static bool in_storage(const flight *x, const nw_use *a) {
  nw_path path;
  if (x->copy->alloc == x->copy->buffer->alloc) return true;
  nw_find(x->m->p, a->site->block->id, &path);
  for (int i = 0; i < path.n; i++)
    if (path.at[i] == x->copy->alloc) return true;
  return false;
}

// Checks the writes of the source. After the storage of the copy has ended, no copy is in flight. A thread waits for its
// own copies only, so on a grid, a wait does not hold back another thread that writes the source.
static nw_answer check_source(flight *x, nw_use *read) {
  nw_answer answer = NW_HOLDS;
  nw_uses u = nw_uses_of(x->m, read->buffer);
  nw_path path;
  nw_find(x->m->p, read->site->block->id, &path);
  bool alone = nw_launch_on(x->m->p, &path) < 0;
  for (int i = 0; i < u.n && answer == NW_HOLDS; i++) {
    if (!u.at[i]->write || !nw_may_meet(read, u.at[i]) || !in_storage(x, u.at[i])) continue;
    isl_map *pairs = nw_collide(x->m, read, u.at[i]);
    for (int d = 0; d < x->copy->site->dim[x->copy->depth]; d++)
      pairs = isl_map_equate(pairs, isl_dim_in, d, isl_dim_out, d);
    answer = check_write(x, read, u.at[i], pairs, alone);
  }
  return answer;
}

static nw_answer check_copy(const nw_model *m, nw_site *s) {
  flight x = {.m = m, .copy = nw_write_of(s), .around = loops_around_group(s)};
  nw_answer answer = NW_HOLDS;
  nw_uses u = nw_uses_of(m, x.copy->buffer);
  for (int i = 0; i < u.n && answer == NW_HOLDS; i++)
    if (u.at[i]->write && nw_may_meet(x.copy, u.at[i]))
      answer = check_write(&x, x.copy, u.at[i], nw_collide(m, x.copy, u.at[i]), true);
  for (int i = 0; i < s->nuses && answer == NW_HOLDS; i++)
    if (!s->use[i].write) answer = check_source(&x, &s->use[i]);
  return answer;
}

// ---- blocks that may be asynchronous

typedef struct check {
  const nw_model *m;
  nw_answer answer;
} check;

static bool refuse(check *c, const nw_stmt *loop, const char *fmt, ...) NW_PRINTF(3, 4);
static bool refuse(check *c, const nw_stmt *loop, const char *fmt, ...) {
  nw_str why = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&why, fmt, args);
  va_end(args);
  c->answer = nw_tell(c->m, NW_REFUSE_STRUCTURE, loop, NULL, "%s", why.s);
  nw_str_free(&why);
  return false;
}

static bool reads_data(const nw_expr *load) {
  for (int d = 0; d < load->n; d++)
    if (nw_uses_load(load->arg[d], NULL)) return true;
  return false;
}

// Checks that the block copies elements of global memory into a temporary that is not in registers.
static bool is_possible(check *c, const nw_path *path) {
  const nw_program *p = c->m->seen;
  const nw_stmt *s = path->at[path->n - 1];
  const char *name = s->block.name;
  bool stored = false; // true if the index of the store is data
  for (int d = 0; s->block.ntargets && d < s->block.target[0].n; d++)
    stored = stored || nw_uses_load(s->block.target[0].index[d], NULL);
  if (!nw_is_copy(s) || stored || reads_data(s->block.target[0].value))
    return refuse(c, NULL, "%s does not only copy elements: it computes its values", name);
  const nw_buffer *to = nw_find_buffer(p, s->block.target[0].buffer);
  const nw_buffer *from = nw_find_buffer(p, s->block.target[0].value->name);
  if (to->role != NW_TEMP) return refuse(c, NULL, "%s writes %s, which is not a temporary", name, to->name);
  if (from->scope != NW_GLOBAL)
    return refuse(c, NULL, "%s copies from %s, whose scope is %s; asynchronous copies read global memory", name,
                  from->name, nw_scope_name(from));
  if (to->scope == NW_LOCAL || to->scope == NW_WARP)
    return refuse(c, NULL, "%s has scope %s: it is in registers, and asynchronous copies write memory", to->name,
                  nw_scope_name(to));
  if (nw_launch_on(p, path) >= 0 && to->scope != NW_SHARED)
    return refuse(c, NULL, "%s has scope %s; on a grid, asynchronous copies write shared memory", to->name,
                  nw_scope_name(to));
  return true;
}

// Checks that a commit and waits can be placed after the copy. Only the thread that copies can wait.
static bool can_wait(check *c, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1];
  const char *name = s->block.name, *buffer = s->block.target[0].buffer;
  const char *from = s->block.target[0].value->name;
  bool stored = nw_find_buffer(c->m->seen, buffer)->alloc;
  for (int i = 0; i < path->n - 1; i++) {
    const nw_stmt *at = path->at[i];
    if (stored && at->kind == NW_ALLOC && !strcmp(at->alloc.buffer, from))
      return refuse(c, NULL, "%s is stored inside the storage of %s, and may end while it is copied", from, buffer);
    stored |= at->kind == NW_ALLOC && !strcmp(at->alloc.buffer, buffer);
    if (at->kind == NW_CALL) return refuse(c, NULL, "an intrinsic computes %s", name);
    if (nw_is_vector_loop(at) && !nw_walk_from(at, is_block, (void *)s))
      return refuse(c, at, "%s is around other stages, too, and one lane cannot wait for another's copies",
                    at->loop.var->name);
    if (stored && at->kind == NW_LOOP && (at->loop.mark == NW_PARALLEL || nw_is_block_loop(at)))
      return refuse(c, at, "threads of %s copy into %s, which they share, and a thread waits only for its own copies",
                    at->loop.var->name, buffer);
  }
  return true;
}

static bool look(void *env, const nw_path *path) {
  check *c = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_BLOCK || !s->block.async) return true;
  if (NW_RULE(c->m->p->ctx, async_copy) && !is_possible(c, path)) return false;
  return !NW_RULE(c->m->p->ctx, async_wait) || can_wait(c, path);
}

typedef struct kept {
  const char *origin;
  bool found, all;
} kept;

static bool is_still(void *env, nw_stmt *s) {
  kept *k = env;
  if (s->kind != NW_BLOCK || strcmp(s->block.origin, k->origin)) return true;
  k->found = true;
  return k->all = s->block.async;
}

static bool is_kept(void *env, nw_stmt *s) {
  check *c = env;
  kept k = {.all = true};
  if (s->kind != NW_BLOCK || !s->block.async) return true;
  k.origin = s->block.origin;
  nw_walk_from(c->m->seen->root, is_still, &k);
  return (k.found && k.all) || refuse(c, NULL, "%s would no longer be an asynchronous copy", s->block.name);
}

nw_answer nw_check_async_structure(const nw_program *before, const nw_model *m) {
  check c = {m, NW_HOLDS};
  if (before && NW_RULE(m->p->ctx, async_kept)) nw_walk_from(before->root, is_kept, &c);
  if (c.answer == NW_HOLDS) nw_walk(m->seen, look, &c);
  return c.answer;
}

nw_answer nw_check_async(const nw_program *before, const nw_model *m) {
  nw_answer answer = nw_check_async_structure(before, m);
  if (!NW_RULE(m->p->ctx, async_flight)) return answer;
  for (int i = 0; i < m->nsites && answer == NW_HOLDS; i++)
    if (m->site[i]->block->block.async) answer = check_copy(m, m->site[i]);
  return answer;
}
