// What comes out of a refused program: an output that is not what the definition says.
#include "check/replay.h"
#include <stdlib.h>

enum { MAX_WORK = 400000, CORNERS = 8 };

static bool run_whole(nw_case *x, nw_check_data *out) {
  nw_watch v;
  nw_watch_init(&v, x->r->after, x->w, out);
  nw_slice_init(&v.slice, x->r->after, x->sizes);
  v.slice.whole = true;
  if (x->w && x->w->loop) {
    bool updates = x->after[0].is && x->after[0].block->block.combiner != NW_PLAIN && x->w->source.write;
    v.lost = updates && x->w->sink.write;
    v.backwards = v.lost ? NULL : x->w->loop;
  }
  bool ran = nw_watch_run(&v);
  nw_watch_free(&v);
  return ran;
}

static void note_wrong(nw_case *x, int param, const nw_array *should, const nw_array *is, int64_t at) {
  free(x->element);
  x->element = nw_check_element(x->r->after->buffer[param]->name, should, at);
  x->should = nw_array_get(should, at);
  x->is = nw_array_get(is, at);
}

// The element of the witness, where it is an output and wrong; else the first that is.
static bool compare(nw_case *x, const nw_check_data *should, const nw_check_data *is) {
  nw_check_bound bound = nw_check_bound_of(nw_sched_version(x->s, 0));
  for (int i = nw_check_inputs(x->r->after); i < is->n; i++) {
    int64_t at = nw_check_differs(should->array[i], is->array[i], bound);
    if (at < 0) continue;
    if (!x->element) note_wrong(x, i, should->array[i], is->array[i], at);
    for (; x->w && at < should->array[i]->count; at++) {
      char *name = nw_check_element(x->r->after->buffer[i]->name, should->array[i], at);
      bool same = x->r->refusal.element && !strcmp(name, x->r->refusal.element);
      free(name);
      if (!same) continue;
      if (nw_check_value_differs(should->array[i]->dtype, nw_array_get(should->array[i], at),
                                 nw_array_get(is->array[i], at), bound))
        note_wrong(x, i, should->array[i], is->array[i], at);
      break;
    }
  }
  return x->element != NULL;
}

bool nw_case_wrong_output(nw_case *x) {
  nw_check_data should = {0}, is = {0};
  if (nw_check_work(nw_sched_version(x->s, 0), x->sizes) > MAX_WORK) return false;
  bool ok = nw_check_data_outputs(&should, x->r->after, &x->data) &&
            nw_check_data_outputs(&is, x->r->after, &x->data) &&
            nw_check_define(x->c, x->s, x->r->before, x->sizes, &should) && run_whole(x, &is);
  bool wrong = ok && compare(x, &should, &is);
  nw_check_data_free(&should);
  nw_check_data_free(&is);
  if (!ok && !x->c->interrupted) nw_clear(x->c);
  return wrong;
}
