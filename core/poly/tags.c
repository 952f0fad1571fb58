// What a person said of a loop or a stage stays said, and is said where something honours it.
#include "ir/tags.h"
#include "poly/internal.h"

typedef struct said {
  const nw_model *after;
  nw_answer answer;
} said;

static const char *name_of(const nw_stmt *s) { return s->kind == NW_LOOP ? s->loop.var->name : s->block.name; }

// By its name, or, where a step renamed it, by its id: with what was said of it.
static bool survives(const nw_program *p, const nw_stmt *s, const nw_tag *t) {
  nw_path path;
  const nw_stmt *named = s->kind == NW_LOOP ? nw_find_loop(p, name_of(s)) : nw_find_block(p, name_of(s));
  if (named && nw_tag_of(named, t->row->key)) return true;
  return nw_find(p, s->id, &path) && path.at[path.n - 1]->kind == s->kind &&
         nw_tag_of(path.at[path.n - 1], t->row->key);
}

// A remark may go with what it was about.
static bool is_kept(void *env, nw_stmt *s) {
  said *x = env;
  for (int i = 0; i < s->ntags; i++) {
    const nw_tag *t = &s->tag[i];
    if (!strcmp(t->row->key, "note") || survives(x->after->p, s, t)) continue;
    x->answer = nw_tell(x->after, NW_REFUSE_STRUCTURE, NULL, NULL, "the %s that was said of %s would be lost with it",
                        t->row->key, name_of(s));
    return false;
  }
  return true;
}

static bool is_honoured(void *env, nw_stmt *s) {
  said *x = env;
  for (int i = 0; i < s->ntags; i++) {
    if (!s->tag[i].row->parallel || s->loop.mark == NW_PARALLEL) continue;
    x->answer = nw_tell(x->after, NW_REFUSE_STRUCTURE, s, NULL, "%s says how threads share %s, which is not parallel",
                        s->tag[i].row->key, name_of(s));
    return false;
  }
  return true;
}

nw_answer nw_check_tags(const nw_model *before, const nw_model *after, bool marks) {
  said x = {after, NW_HOLDS};
  if (!marks && NW_RULE(after->p->ctx, tags_kept)) nw_walk_from(before->p->root, is_kept, &x);
  if (x.answer == NW_HOLDS && NW_RULE(after->p->ctx, tags_honoured)) nw_walk_from(after->p->root, is_honoured, &x);
  return x.answer;
}
