// Checks which lane of a warp holds which element of the operands of an instruction of a warp.
//
// The instruction takes each element from a place of a lane. So the nest that it replaces must find the elements in these
// places (ir/expr/unify_warp.c). Outside of such nests, a lane may access only what it holds itself, because a register
// belongs to one lane.
#include "ir/program/intrinsic.h"
#include "poly/internal.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_POINTS = 1 << 14 }; // iterations in which an example is looked for

typedef struct check {
  const nw_model *m;
  nw_answer answer;
} check;

static bool refuse(check *c, const nw_stmt *loop, const char *message, const char *fmt, ...) NW_PRINTF(4, 5);
static bool refuse(check *c, const nw_stmt *loop, const char *message, const char *fmt, ...) {
  nw_str why = {0};
  va_list args;
  va_start(args, fmt);
  nw_str_vfmt(&why, fmt, args);
  va_end(args);
  c->answer = nw_tell(c->m, NW_REFUSE_STRUCTURE, loop, message, "%s", why.s);
  nw_refusal *r = nw_refusal_edit(c->m->p->ctx);
  if (r) r->detail = message != NULL;
  nw_str_free(&why);
  return false;
}

// ---- calls

static bool has_instruction(check *c, const nw_intrinsic *in) {
  const nw_machine *machine = &c->m->p->target->machine;
  const nw_instruction *k = in->instruction;
  bool gpu = machine->kind == NW_MACHINE_GPU;
  double rate = !gpu ? 0 : k->tf32 ? machine->gpu.tensor_tf32 : machine->gpu.tensor_f16;
  if (!gpu || (k->depth && !(rate > 0)))
    return refuse(c, NULL,
                  nw_arena_printf(c->m->arena, "%s has no tensor cores that execute %s", machine->name, k->name),
                  gpu ? "gpu.tensor_%s of its record is 0" : "it is not a GPU", k->tf32 ? "tf32" : "f16");
  if ((int)(machine->gpu.capability * 10 + 0.5) >= k->capability) return true;
  return refuse(c, NULL, nw_arena_printf(c->m->arena, "%s cannot execute %s", machine->name, k->name),
                "its compute capability is %.1f, and the instruction needs %.1f", machine->gpu.capability,
                k->capability / 10.0);
}

static bool has_warps(check *c, const nw_path *path, const nw_intrinsic *in) {
  nw_launch l;
  nw_path upto = *path;
  int at = nw_launch_on(c->m->p, path);
  if (at < 0)
    return refuse(c, NULL, NULL, "%s needs the lanes of a warp, and no loop is bound to threadIdx.x", in->name);
  upto.n = at + 1;
  if (nw_launch_extents(c->m->p, &upto, &l) && l.extent[3] && nw_is_const(l.extent[3], NW_FRAGMENT_LANES)) return true;
  return refuse(c, NULL, nw_arena_printf(c->m->arena, "%s needs one warp along threadIdx.x", in->name),
                "the kernel must have %d threads along threadIdx.x; bind the loops over warps to threadIdx.y",
                NW_FRAGMENT_LANES);
}

static bool check_call(check *c, const nw_path *path) {
  const nw_stmt *call = path->at[path->n - 1];
  const nw_intrinsic *in = call->kind == NW_CALL ? nw_intrinsic_find(c->m->p->ctx, call->call.intrinsic) : NULL;
  nw_match m;
  if (!in || !in->instruction) return true;
  if (NW_RULE(c->m->p->ctx, fragment_machine) && !(has_instruction(c, in) && has_warps(c, path, in))) return false;
  if (!NW_RULE(c->m->p->ctx, fragment_places) || nw_unify(c->m->p, call, in, &m)) return true;
  refuse(c, NULL, nw_arena_printf(c->m->arena, "the lanes do not hold the elements as %s needs them", in->name),
         "expected %s, found %s", m.expected, m.found);
  nw_match_free(&m);
  return false;
}

// ---- accesses outside of calls

typedef struct access {
  check *c;
  const nw_path *path; // to the block
  nw_ranges r;
  bool good;
} access;

static const nw_stmt *lanes_on(const nw_path *path) {
  for (int i = 0; i < path->n; i++)
    if (nw_grid_dim(path->at[i]) == 3) return path->at[i];
  return NULL;
}

// Returns the lane that holds the element at these indices, or NULL if the layout has no lane.
static const nw_expr *holder(const access *a, const nw_buffer *b, const nw_expr *const *index) {
  nw_pool *pool = a->c->m->p->pool;
  const char *dim[NW_MAX_DEPTH];
  if (b->nlayout < 2) return NULL;
  for (int d = 0; d < b->ndim; d++) dim[d] = nw_dim_name(pool, d);
  const nw_expr *lane = nw_subst_n(pool, b->layout[b->nlayout - 2], b->ndim, dim, index);
  return nw_settle(&a->r, nw_block_bound(a->c->m->p, a->path->at[a->path->n - 1], lane));
}

typedef struct points { // the iterations of the loops around a block
  int n;
  const char *name[NW_MAX_DEPTH];
  int64_t value[NW_MAX_DEPTH], begin[NW_MAX_DEPTH], extent[NW_MAX_DEPTH];
} points;

// Lists the loops around the block. Of a loop whose bounds are not constant, only the value 0 is used.
static points points_of(const access *a) {
  points p = {0};
  for (int i = 0; i < a->path->n; i++) {
    const nw_stmt *s = a->path->at[i];
    if (s->kind != NW_LOOP) continue;
    p.name[p.n] = s->loop.var->name;
    p.extent[p.n] = 1;
    if (nw_is_int(s->loop.begin, &p.begin[p.n])) nw_is_int(s->loop.extent, &p.extent[p.n]);
    p.n++;
  }
  return p;
}

// Writes the element that a lane accesses although another lane holds it. Returns false if there is no example.
static bool example(const access *a, const nw_buffer *b, const nw_expr *const *index, const nw_expr *held, char *out,
                    size_t room) {
  points p = points_of(a);
  const nw_stmt *loop = lanes_on(a->path), *block = a->path->at[a->path->n - 1];
  for (int64_t k = 0; k < MOST_POINTS; k++) {
    int64_t rest = k, own = 0, other = 0, at;
    for (int i = p.n - 1; i >= 0; i--) {
      int64_t n = p.extent[i] > 0 ? p.extent[i] : 1;
      p.value[i] = p.begin[i] + rest % n;
      rest /= n;
    }
    if (rest) return false;
    nw_point point = {p.n, p.name, p.value};
    if (loop && !nw_eval_int(loop->loop.var, &point, &own)) return false;
    if (!nw_eval_int(held, &point, &other) || own == other) continue;
    nw_str element = {0};
    for (int d = 0; d < b->ndim; d++) {
      bool known = nw_eval_int(nw_block_bound(a->c->m->p, block, index[d]), &point, &at);
      if (d) nw_str_add(&element, ", ");
      if (known)
        nw_str_fmt(&element, "%lld", (long long)at);
      else
        nw_str_add(&element, "?");
    }
    snprintf(out, room, "lane %lld accesses %s[%s], and its layout puts this element in lane %lld", (long long)own,
             b->name, element.s, (long long)other);
    nw_str_free(&element);
    return true;
  }
  return false;
}

static bool check_access(access *a, const char *buffer, const nw_expr *const *index) {
  const nw_program *p = a->c->m->p;
  const nw_buffer *b = nw_find_buffer(p, buffer);
  const nw_stmt *loop = lanes_on(a->path);
  char why[256];
  if (!b || b->scope != NW_WARP || !nw_is_fragment(p, buffer)) return true;
  const nw_expr *held = holder(a, b, index), *own = loop ? loop->loop.var : nw_index(p->pool, 0);
  if (held && nw_prove(&a->r, nw_eq(p->pool, held, own))) return true;
  if (!held || !example(a, b, index, held, why, sizeof why))
    snprintf(why, sizeof why, "it is not proven that each lane accesses only what it holds");
  return refuse(
      a->c, loop,
      nw_arena_printf(a->c->m->arena, "%s is a fragment: a lane can access only the elements that it holds", buffer),
      "%s", why);
}

static bool see_load(void *env, const nw_expr *e) {
  access *a = env;
  if (e->op == NW_OP_LOAD) a->good = a->good && check_access(a, e->name, e->arg);
  return a->good;
}

static bool check_block(check *c, const nw_path *path) {
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_BLOCK || !NW_RULE(c->m->p->ctx, fragment_lanes)) return true;
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_CALL) return true;
  access a = {.c = c, .path = path, .good = true};
  nw_ranges_of(&a.r, c->m->p, path);
  for (int t = 0; t < s->block.ntargets && a.good; t++) {
    const nw_block_target *g = &s->block.target[t];
    a.good = check_access(&a, g->buffer, g->index);
    nw_visit(g->value, see_load, &a);
    if (g->init) nw_visit(g->init, see_load, &a);
  }
  nw_ranges_free(&a.r);
  return a.good;
}

// ---- all statements

static bool check_stmt(void *env, const nw_path *path) {
  check *c = env;
  return check_call(c, path) && check_block(c, path);
}

static bool has_call(const nw_program *p, const nw_stmt *s) {
  const nw_intrinsic *in = s->kind == NW_CALL ? nw_intrinsic_find(p->ctx, s->call.intrinsic) : NULL;
  bool any = in && in->instruction;
  for (int i = 0; i < s->nkids && !any; i++) any = has_call(p, s->kid[i]);
  return any;
}

nw_answer nw_check_fragments(const nw_model *m) {
  check c = {m, NW_HOLDS};
  if (has_call(m->p, m->p->root)) nw_walk(m->p, check_stmt, &c);
  return c.answer;
}
