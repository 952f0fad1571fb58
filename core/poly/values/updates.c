// Checks stages with updates in a step that is judged by value. An element of such a stage has several values, one
// after the other, so the index of a read does not determine which value is read. Between its definitions, which are
// the blocks that write the stage, the step must keep their instances and the order of all accesses to one element
// (order.c). All other blocks must read an element after its last write, in both programs. Then they get its last
// value, and this value is determined by the index of the element.
#include "poly/internal.h"

static nw_answer refuse(const nw_model *m, nw_refusal_kind kind, const nw_buffer *b, const char *fmt,
                        const char *block) {
  return nw_tell(m, kind, NULL, NULL, fmt, b->name, block);
}

// ---- the definitions

static int accesses_of(const nw_site *s, const char *buffer) {
  int n = 0;
  for (int i = 0; i < s->nuses; i++) n += !strcmp(s->use[i].buffer->name, buffer);
  return n;
}

// True if both sites have the same instances, and access the same elements of the buffer in each of them.
static bool same_work(const nw_site *a, const nw_site *b, const char *buffer) {
  if (a->init || b->init || !nw_same_instances(a, b)) return false;
  for (int i = 0; i < a->nuses; i++)
    if (!strcmp(a->use[i].buffer->name, buffer) && !nw_same_access(b, &a->use[i])) return false;
  return accesses_of(a, buffer) == accesses_of(b, buffer);
}

// Checks that each definition of `from` does the same work in `in`, and runs each instance once.
static nw_answer all_kept(const nw_model *from, const nw_model *in, const nw_buffer *b) {
  nw_uses u = nw_uses_of(from, nw_find_buffer(from->p, b->name));
  for (int i = 0; i < u.n; i++) {
    const nw_site *s = u.at[i]->site;
    bool once = false;
    if (!u.at[i]->write) continue;
    nw_sites like = nw_sites_like(in, s);
    if (!like.n || !same_work(like.at[0], s, b->name))
      return refuse(in, NW_REFUSE_VALUE, b,
                    "elements of %s change their value, and its definition %s would access other elements",
                    s->block->block.name);
    nw_answer full = nw_instances_full(from, s, &once);
    if (full == NW_ABORTED) return full;
    if (full == NW_FAILS || !once)
      return refuse(from, NW_REFUSE_VALUE, b,
                    "elements of %s change their value, and its definition %s would not run each of its instances once",
                    s->block->block.name);
  }
  return NW_HOLDS;
}

// ---- the readers

// Checks that every write of an element comes before it is read by a block that does not write the buffer.
static nw_answer read_last(const nw_model *m, const nw_buffer *b, const nw_model *shown) {
  nw_uses u = nw_uses_of(m, nw_find_buffer(m->p, b->name));
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < u.n && answer == NW_HOLDS; i++)
    for (int j = 0; j < u.n && answer == NW_HOLDS; j++) {
      nw_use *w = u.at[i], *r = u.at[j];
      isl_map *bad = NULL;
      if (!w->write || nw_site_writes(r->site, r->buffer) || !nw_may_meet(w, r)) continue;
      answer = nw_always_before(m, w, r, &bad);
      if (answer == NW_FAILS && m == shown)
        return nw_tell_pair(m,
                            &(nw_story){.kind = NW_REFUSE_RAW,
                                        .source = w,
                                        .sink = r,
                                        .why = "{e} is read at {t}, before it gets its last value at {s}"},
                            bad);
      isl_map_free(bad);
      if (answer == NW_FAILS)
        return refuse(shown, NW_REFUSE_UNDECIDED, b, "elements of %s are read by %s between their updates",
                      r->site->block->block.name);
    }
  return answer;
}

nw_answer nw_check_updates(const nw_model *before, const nw_model *after, const nw_buffer *b) {
  const nw_buffer *old = nw_find_buffer(before->p, b->name);
  if (!NW_RULE(after->p->ctx, value_updates)) return NW_HOLDS;
  if (!old || before->f != after->f || !nw_exists_once(before, old) || !nw_exists_once(after, b))
    return refuse(
        after, NW_REFUSE_VALUE, b,
        "an element of %s is written more than once with different values, so a read is not determined by its "
        "index alone%s",
        "");
  nw_answer answer = all_kept(before, after, b);
  if (answer == NW_HOLDS) answer = all_kept(after, before, b);
  if (answer == NW_HOLDS) answer = nw_check_definition_deps(before, after, b);
  if (answer == NW_HOLDS) answer = read_last(before, b, after);
  return answer == NW_HOLDS ? read_last(after, b, after) : answer;
}
