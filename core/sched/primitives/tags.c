// pragma and annotate: set properties of a loop or a stage. The file ir/program/tags.h has the keys of these
// properties.
#include "ir/program/tags.h"
#include "sched/primitives.h"
#include "sched/tree.h"

enum { WHAT, KEY, VALUE };

static bool unfit(nw_step *st, const nw_tag_row *row) {
  return nw_fail(st->ctx, NW_EINVAL, row->doc, "%s: %s takes %s", st->primitive->name, row->key, nw_tag_wants(row));
}

// Sets the tag of statement s whose key is the argument KEY. If the step has no value, removes the tag.
static bool say(nw_step *st, nw_stmt *s) {
  const nw_tag_row *row = nw_tag_row_find(nw_step_str(st, KEY, NULL));
  const nw_arg *value = &st->resolved[VALUE];
  s->step = st->p->step;
  if (!nw_step_given(st, VALUE))
    return nw_tag_drop(s, row->key) ||
           nw_step_refuse(st, "without a value, the step removes the property", NULL, "the property is not set");
  if (value->name && !nw_text_ok(st->ctx, row->key, value->name, strlen(value->name), false)) return false;
  nw_tag t = {.row = row, .text = value->name ? nw_pool_name(st->p->pool, value->name) : NULL, .number = value->i};
  if (!nw_tag_fits(row, &t)) return unfit(st, row);
  nw_tag_set(st->p, s, t);
  return true;
}

bool nw_apply_pragma(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, WHAT, NULL);
  return loop && say(st, loop);
}

bool nw_apply_annotate(void *step) {
  nw_step *st = step;
  nw_stmt *block = nw_step_block(st, WHAT, NULL);
  if (!block || !say(st, block)) return false;
  if (nw_tag_is(block, "minmax", "fast"))
    nw_step_rounds(st, "results may change: where an operand of min or max is NaN, and in the sign of 0");
  return true;
}

void nw_suggest_pragma(void *step) {
  nw_step *st = step;
  nw_arg note[] = {
      st->resolved[WHAT], {.kind = NW_ARG_STR, .name = "partition"}, {.kind = NW_ARG_VALUE, .name = "never"}};
  nw_step_suggest(st, "parallel", &st->resolved[WHAT], 1);
  nw_step_suggest(st, "pragma", note, NW_COUNT(note));
}

void nw_suggest_annotate(void *step) {
  nw_step *st = step;
  nw_arg fma[] = {st->resolved[WHAT], {.kind = NW_ARG_STR, .name = "fma"}, {.kind = NW_ARG_VALUE, .name = "never"}};
  nw_step_suggest(st, "annotate", fma, NW_COUNT(fma));
}
