// tensorize: replaces a nest by a call of an intrinsic. The program still contains the nest, inside the call, so that
// everything proven about the nest still holds.
#include "sched/primitives/tensorize.h"
#include "ir/program/intrinsic.h"
#include "sched/primitives.h"
#include "sched/advice/suggest.h"
#include "sched/tree.h"
#include <stdlib.h>

// ---- conditions

static bool unknown(nw_step *st, const char *name) {
  nw_str known = {0};
  size_t n = strcspn(name, ":");
  for (int i = 0; i < nw_intrinsic_count(st->ctx); i++)
    nw_str_fmt(&known, "%s%s", known.n ? ", " : "registered intrinsics: ", nw_intrinsic_at(st->ctx, i)->id);
  nw_str_fmt(&known, "%suse nw.intrinsic{...} to register one", known.n ? "; " : "");
  const nw_intrinsic *other = NULL;
  for (int i = 0; name[n] && i < nw_intrinsic_count(st->ctx); i++)
    if (!strncmp(nw_intrinsic_at(st->ctx, i)->name, name, n) && !nw_intrinsic_at(st->ctx, i)->name[n])
      other = nw_intrinsic_at(st->ctx, i);
  if (other)
    nw_fail(st->ctx, NW_EINVAL, known.s, "tensorize: the registered intrinsic %.*s is not %s: the definitions differ",
            (int)n, name, name);
  else
    nw_fail(st->ctx, NW_EINVAL, known.s, "tensorize: no intrinsic is named %s", name);
  nw_str_free(&known);
  return false;
}

// Draws the nest, with a remark about the expected code at the statement that differs.
static void draw(nw_step *st, const nw_stmt *nest, const nw_match *m) {
  nw_str remark = {0};
  nw_str_fmt(&remark, "expected %s", m->expected);
  const nw_stmt *at = m->at && m->at->id ? m->at : nest;
  nw_path path;
  int mark[NW_MAX_DEPTH + 1], n = 0;
  const char *text[NW_MAX_DEPTH + 1];
  nw_find(st->p, at->id, &path);
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP || path.at[i] == at)
      text[n] = path.at[i] == at ? remark.s : "", mark[n++] = path.at[i]->id;
  nw_blocks b = nw_blocks_below(st->scratch, at);
  for (int i = 0; i < b.n && n < NW_MAX_DEPTH; i++)
    if (b.at[i] != at) text[n] = "", mark[n++] = b.at[i]->id;
  nw_show_opts o = {.nmarks = n, .mark = mark, .remark = text, .only_marked = true};
  char *picture = nw_program_show(st->p, &o);
  nw_refusal *r = nw_refusal_edit(st->ctx);
  if (r && picture) r->picture = nw_diag_printf(st->ctx, "%s", picture);
  free(picture);
  nw_str_free(&remark);
}

static bool differs(nw_step *st, const nw_stmt *nest, const nw_intrinsic *in, nw_match *m, const char *message) {
  const char *why = nw_arena_printf(st->scratch, "expected %s, found %s", m->expected, m->found);
  nw_step_refuse(st, why, nest, message, in->name);
  draw(st, nest, m);
  nw_match_free(m);
  return false;
}

static const nw_stmt *lanes_around(const nw_path *path) {
  for (int i = 0; i < path->n - 1; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind == NW_LOOP && (nw_is_vector_loop(s) || s->loop.mark >= NW_BLOCK_X)) return s;
  }
  return NULL;
}

// An instruction of a warp is for threads of a GPU. Its nest contains the loop over the lanes.
static bool in_lanes(nw_step *st, const nw_path *path, const nw_intrinsic *in) {
  const nw_stmt *loop = lanes_around(path);
  if (!loop) return false;
  bool own = in && (in->instruction || (in->chip && nw_is_vthread_loop(loop)));
  if (own && !nw_is_vector_loop(loop)) return false;
  nw_step_refuse(st, "only a CPU thread can call an intrinsic, not a vector lane or a GPU thread", loop,
                 "the call would be inside %s, a %s loop", loop->loop.var->name, nw_loop_kind_name(loop->loop.mark));
  return true;
}

static bool sums_floats(const nw_program *p, const nw_stmt *block) {
  nw_combiner k = block->block.combiner;
  const nw_buffer *b = nw_find_buffer(p, block->block.target[0].buffer);
  return (k == NW_SUM || k == NW_PROD) && nw_dtype_is_float(b->dtype);
}

// An accelerator executes its own instructions only, and no other machine does. Checks also that the operands are in the
// memories that the instruction accesses.
static bool on_machine(nw_step *st, const nw_intrinsic *in, nw_match *m) {
  if (in->chip) return nw_chip_row(st->p, in, m->block, m) != NULL;
  if (st->p->target->machine.kind != NW_MACHINE_ACCELERATOR) return true;
  m->expected = nw_xstrdup(nw_arena_printf(st->scratch, "an instruction of %s", st->p->target->machine.name));
  m->found = nw_xstrdup("a function for a CPU");
  m->at = m->block;
  return false;
}

bool nw_apply_tensorize(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_match m;
  nw_stmt *loop = nw_step_loop(st, 0, &path);
  const char *name = nw_step_str(st, 1, "");
  const nw_intrinsic *in = loop ? nw_intrinsic_find(st->ctx, name) : NULL;
  if (!loop) return false;
  if (!in) return unknown(st, name);
  st->resolved[1].name = in->id;
  if (in_lanes(st, &path, in)) return false;
  if (!nw_unify(st->p, loop, in, &m) || !on_machine(st, in, &m))
    return differs(st, loop, in, &m, "its nest does not match %s");
  nw_stmt *call = nw_new_stmt(st->p, NW_CALL);
  call->call.intrinsic = nw_pool_name(st->p->pool, in->id);
  nw_kids_set(st->p, call, 1, &loop);
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], call);
  if (sums_floats(st->p, m.block))
    nw_step_rounds(st, "rounding may change: %s %s", in->name,
                   in->instruction ? NW_INSTRUCTION_ROUNDING : "sums in its own order");
  return true;
}

// ---- checks of calls after every step

typedef struct holding {
  nw_step *st;
  bool ok;
} holding;

static bool holds(void *env, const nw_path *path) {
  holding *h = env;
  const nw_stmt *call = path->at[path->n - 1];
  nw_match m;
  if (call->kind != NW_CALL) return true;
  const nw_intrinsic *in = nw_intrinsic_find(h->st->ctx, call->call.intrinsic);
  if (in && in->instruction) return true; // the judge compares what the lanes hold (poly/grid/fragments.c)
  if (in_lanes(h->st, path, in))
    h->ok = false;
  else if (in && (!nw_unify(h->st->p, call, in, &m) || !on_machine(h->st, in, &m)))
    h->ok = differs(h->st, call, in, &m, "the nest of the call would no longer match %s");
  return h->ok;
}

bool nw_calls_hold(nw_step *st) {
  holding h = {st, true};
  nw_walk(st->p, holds, &h);
  return h.ok;
}

const nw_stmt *nw_call_around(const nw_path *path) {
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_CALL) return path->at[i];
  return NULL;
}

// ---- suggestions

enum { OFFERED = 4 }; // number of intrinsics to suggest

// Returns the loop before which the init must run: the outermost loop that is a reduction loop of the block or belongs
// to the nest.
static const nw_stmt *init_before(nw_step *st, const nw_stmt *block, int n, nw_stmt *const *nest) {
  int at = 0;
  while (at + 1 < n && nest[at]->id != st->resolved[0].i && !nw_loop_binds(block, nest[at], true)) at++;
  return nest[at];
}

// Suggests steps that remove differences between the nest and the intrinsic: an init in the nest, and conditions on
// enclosing loops.
static void make_way(nw_step *st, const nw_intrinsic *in, const nw_stmt *block, int n, nw_stmt *const *nest) {
  nw_candidate *then = nw_step_again(st);
  if (block->block.has_init && !in->init) {
    const nw_stmt *loop = init_before(st, block, n, nest);
    nw_arg stage = stage_arg(block->block.name);
    first2(st, "decompose_reduction", stage, loop_arg(loop));
    nw_candidate *part = nw_step_candidate(st, "decompose_reduction", (nw_arg[]){stage, same_loop(loop)}, 2);
    part->then = then;
    then = part;
  }
  int around = 0;
  while (around < n && nest[around]->id != st->resolved[0].i) around++;
  nw_suggest_unguarded(st, block, around, nest, then);
}

// First suggests steps that make the refused step possible. Then suggests other intrinsics for the nest, the last
// registered intrinsic first, and other nests for the intrinsic.
void nw_suggest_tensorize(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *nest[NW_MAX_DEPTH];
  const nw_arg *loop = &st->resolved[0], *name = &st->resolved[1];
  if (!nw_find(st->before, (int)loop->i, &path)) return;
  nw_blocks b = nw_blocks_below(st->scratch, path.at[path.n - 1]);
  if (b.n) nw_find(st->before, b.at[0]->id, &path);
  int n = nw_path_loops(&path, nest);
  const nw_intrinsic *in = nw_intrinsic_find(st->ctx, name->name);
  if (b.n && in) make_way(st, in, b.at[b.n - 1], n, nest);
  for (int i = nw_intrinsic_count(st->ctx) - 1, k = 0; i >= 0 && k < OFFERED; i--, k++) {
    nw_arg other = {.kind = NW_ARG_INTRINSIC, .name = nw_intrinsic_at(st->ctx, i)->id};
    offer2(st, "tensorize", *loop, other);
  }
  for (int i = n - 1; i >= 0; i--) offer2(st, "tensorize", loop_arg(nest[i]), *name);
}
