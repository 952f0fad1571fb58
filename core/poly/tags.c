// Checks that a step keeps the properties that users give to loops and stages, that each property is on a loop or stage
// to which it applies, and that no stage begins to ignore the tokens of an accelerator.
#include "ir/program/tags.h"
#include "poly/internal.h"

typedef struct said {
  const nw_program *before;
  const nw_model *after;
  nw_answer answer;
} said;

static const char *name_of(const nw_stmt *s) { return s->kind == NW_LOOP ? s->loop.var->name : s->block.name; }

// True if the loop or stage still exists, and has a property with the same key. The loop or stage is found by name or,
// if a step renamed it, by id.
static bool survives(const nw_program *p, const nw_stmt *s, const nw_tag *t) {
  nw_path path;
  const nw_stmt *named = s->kind == NW_LOOP ? nw_find_loop(p, name_of(s)) : nw_find_block(p, name_of(s));
  if (named && nw_tag_of(named, t->row->key)) return true;
  return nw_find(p, s->id, &path) && path.at[path.n - 1]->kind == s->kind &&
         nw_tag_of(path.at[path.n - 1], t->row->key);
}

static bool same_tag(const nw_tag *a, const nw_tag *b) {
  return a && b && a->number == b->number && (a->text == b->text || (a->text && b->text && !strcmp(a->text, b->text)));
}

static bool stands_in(const nw_path *path, const nw_stmt *loop) {
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->id == loop->id && path->at[i]->kind == NW_LOOP) return true;
  return false;
}

typedef struct carried {
  const said *x;
  const nw_stmt *loop;
  const nw_tag *tag;
  const char *origin;
  bool found, lost;
} carried;

static bool is_origin(void *env, nw_stmt *s) {
  return s->kind != NW_BLOCK || strcmp(s->block.origin, ((carried *)env)->origin);
}

static bool stood_in_loop(carried *c, const nw_stmt *block) {
  nw_path was;
  if (nw_find(c->x->before, block->id, &was)) return stands_in(&was, c->loop);
  c->origin = block->block.origin; // the block is new: the step made it as a copy
  return !nw_walk_from(c->loop, is_origin, c);
}

static bool look_at_block(void *env, const nw_path *path) {
  carried *c = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_BLOCK || !stood_in_loop(c, s)) return true;
  c->found = c->lost = true;
  for (int i = 0; i < path->n && c->lost; i++)
    c->lost = path->at[i]->kind != NW_LOOP || !same_tag(nw_tag_of(path->at[i], c->tag->row->key), c->tag);
  return !c->lost;
}

// True if the loop was split into pieces, and all its blocks are inside loops with the same property.
static bool is_carried(const said *x, const nw_stmt *loop, const nw_tag *t) {
  carried c = {.x = x, .loop = loop, .tag = t};
  nw_walk(x->after->seen, look_at_block, &c);
  return c.found && !c.lost;
}

// Checks that a statement's properties are kept. Notes are not checked, since a note may be lost with its loop or
// stage.
static bool is_kept(void *env, nw_stmt *s) {
  said *x = env;
  for (int i = 0; i < s->ntags; i++) {
    const nw_tag *t = &s->tag[i];
    if (!strcmp(t->row->key, "note") || survives(x->after->seen, s, t)) continue;
    if (s->kind == NW_LOOP && is_carried(x, s, t)) continue;
    x->answer = nw_tell(x->after, NW_REFUSE_STRUCTURE, NULL, NULL, "the property %s of %s would be lost", t->row->key,
                        name_of(s));
    return false;
  }
  return true;
}

static bool is_honoured(void *env, nw_stmt *s) {
  said *x = env;
  for (int i = 0; i < s->ntags; i++) {
    if (!s->tag[i].row->parallel || s->loop.mark == NW_PARALLEL) continue;
    x->answer = nw_tell(x->after, NW_REFUSE_STRUCTURE, s, NULL, "%s is for parallel loops, and %s is not parallel",
                        s->tag[i].row->key, name_of(s));
    return false;
  }
  return true;
}

// Returns false at a block of the stage `env` that ignores the same units. Steps that cut or copy a stage keep its origin.
static bool ignored_before(void *env, nw_stmt *s) {
  const nw_stmt *block = env;
  const nw_tag *t = s->kind == NW_BLOCK ? nw_tag_of(s, "ignores") : NULL;
  return !t || strcmp(s->block.origin, block->block.origin) || !same_tag(t, nw_tag_of(block, "ignores"));
}

static bool takes_tokens(void *env, nw_stmt *s) {
  said *x = env;
  if (s->kind != NW_BLOCK || !nw_tag_of(s, "ignores")) return true;
  if (!nw_walk_from(x->before->root, ignored_before, s)) return true;
  x->answer = nw_tell(x->after, NW_REFUSE_STRUCTURE, NULL, NULL,
                      "an accelerator has a token only where instructions would otherwise access the same bytes in any "
                      "order; s:unsafe can leave tokens out");
  return false;
}

nw_answer nw_check_tokens(const nw_model *before, const nw_model *after) {
  said x = {before->seen, after, NW_HOLDS};
  if (NW_RULE(after->p->ctx, tokens_taken)) nw_walk_from(after->seen->root, takes_tokens, &x);
  return x.answer;
}

nw_answer nw_check_tags(const nw_model *before, const nw_model *after, bool marks) {
  said x = {before->seen, after, NW_HOLDS};
  if (!marks && NW_RULE(after->p->ctx, tags_kept)) nw_walk_from(before->seen->root, is_kept, &x);
  if (x.answer == NW_HOLDS && NW_RULE(after->p->ctx, tags_honoured)) nw_walk_from(after->seen->root, is_honoured, &x);
  return x.answer;
}
