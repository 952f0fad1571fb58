// pragma and annotate: set properties of a loop or a stage. The file ir/program/tags.h has the keys of these
// properties.
#include "ir/program/tags.h"
#include "sched/primitives.h"
#include "sched/tree.h"

enum { WHAT, KEY, VALUE };

static bool unfit(nw_step *st, const nw_tag_row *row) {
  return nw_fail(st->ctx, NW_EINVAL, row->doc, "%s: %s takes %s", st->primitive->name, row->key, nw_tag_wants(row));
}

static bool is_unit(const nw_machine_accelerator *a, const char *name, size_t n) {
  for (int u = 0; u < a->nunits; u++)
    if (strlen(a->unit[u].name) == n && !strncmp(a->unit[u].name, name, n)) return true;
  return false;
}

static bool no_units(nw_step *st, const char *text) {
  const nw_machine *m = &st->p->target->machine;
  nw_str all = {0};
  for (int u = 0; u < m->accelerator.nunits; u++)
    nw_str_fmt(&all, "%s%s", u ? ", " : "its units are ", m->accelerator.unit[u].name);
  nw_fail(st->ctx, NW_EINVAL, all.s, "annotate: ignores: '%s' does not name units of %s", text, m->name);
  nw_str_free(&all);
  return false;
}

// Returns true if each word of the text is the name of a unit of the target.
static bool names_units(nw_step *st, const char *text) {
  const nw_machine *m = &st->p->target->machine;
  if (m->kind != NW_MACHINE_ACCELERATOR || !m->accelerator.nunits)
    return nw_fail(st->ctx, NW_EINVAL, "nw.schedule(C, {target = \"vdla\"}) makes a schedule for an accelerator",
                   "annotate: ignores: %s has no units that wait for tokens", m->name);
  int words = 0;
  for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " "), words++) {
    size_t n = strcspn(at, " ");
    if (!is_unit(&m->accelerator, at, n)) return no_units(st, text);
    at += n;
  }
  return words > 0 || no_units(st, text);
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
  if (!strcmp(row->key, "ignores") && !names_units(st, t.text)) return false;
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
