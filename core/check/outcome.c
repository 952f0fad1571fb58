// Finds an output of a refused program that differs from the definition.
#include "check/replay.h"
#include <stdlib.h>

enum { MAX_WORK = 400000 };

// Prepares a run in which iterations of the loop that carries the conflict are interleaved as x->race says.
static void race_watch(nw_replay_case *x, nw_watch *v, nw_check_data *out) {
  nw_watch_init(v, x->r->after, x->w, out);
  nw_slice_init(&v->slice, x->r->after, x->sizes);
  v->race = x->race;
}

static bool run_whole(nw_replay_case *x, nw_check_data *out) {
  nw_watch v;
  race_watch(x, &v, out);
  v.slice.whole = true;
  bool ran = nw_watch_run(&v);
  nw_watch_free(&v);
  return ran;
}

static long double number_at(const nw_array *a, int64_t at) {
  int64_t whole = nw_array_get_int(a, at);
  if (!nw_dtype_is_int(a->dtype)) return (long double)nw_array_get(a, at);
  return a->dtype == NW_U64 ? (long double)(uint64_t)whole : (long double)whole;
}

static void note_wrong(nw_replay_case *x, int param, const nw_array *should, const nw_array *is, int64_t at) {
  free(x->element);
  x->element = nw_check_element(x->r->after->buffer[param]->name, should, at);
  x->should = number_at(should, at);
  x->is = number_at(is, at);
}

// Finds a wrong output. This is the element of the witness if its value is wrong, otherwise the first wrong element.
static bool compare(nw_replay_case *x, const nw_check_data *should, const nw_check_data *is) {
  nw_check_bound bound = nw_check_bound_of_sched(x->s);
  for (int i = nw_check_inputs(x->r->after); i < is->n; i++) {
    int64_t at = nw_check_differs(should->array[i], is->array[i], bound);
    if (at < 0) continue;
    if (!x->element) note_wrong(x, i, should->array[i], is->array[i], at);
    for (; x->w && at < should->array[i]->count; at++) {
      char *name = nw_check_element(x->r->after->buffer[i]->name, should->array[i], at);
      bool same = x->name && !strcmp(name, x->name);
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

// ---- large programs: only some elements are computed, with everything on which they depend

static bool define_point(nw_replay_case *x, int output, const int64_t *index, double *value) {
  const nw_program *p = x->r->after;
  const char **names = nw_check_size_names(p);
  nw_view *v = nw_check_views(&x->data);
  bool ok = nw_naive_point(x->c, x->s->output[output], names, x->sizes, p->nsizes, nw_check_inputs(p), v, index, value);
  free(v);
  free(names);
  return ok;
}

// Checks one element, and sets *wrong. Returns false if this takes too long.
static bool wrong_point(nw_replay_case *x, int output, const int64_t *index, bool *wrong) {
  int param = nw_check_inputs(x->r->after) + output;
  const nw_array *a = x->data.array[param];
  nw_watch v;
  race_watch(x, &v, &x->data);
  v.needs = true;
  nw_slice_focus(&v.slice, x->r->after->buffer[param]->name, a->ndim, index);
  double should = 0;
  bool ok = nw_watch_run(&v) && define_point(x, output, index, &should);
  nw_watch_free(&v);
  double is = ok ? nw_array_get(a, nw_check_flat(a, index)) : 0;
  *wrong = ok && nw_check_value_differs(a->dtype, should, is, nw_check_bound_of_sched(x->s));
  if (!*wrong) return ok;
  x->element = nw_check_element(x->r->after->buffer[param]->name, a, nw_check_flat(a, index));
  x->should = should;
  x->is = is;
  return true;
}

// Checks the elements at the corners of the outputs. Stops when an element is wrong or its check takes too long.
static bool wrong_somewhere(nw_replay_case *x) {
  bool wrong = false, ran = true;
  for (int o = 0; o < x->s->noutputs && ran && !wrong; o++) {
    int64_t index[NW_MAX_DEPTH];
    const nw_array *a = x->data.array[nw_check_inputs(x->r->after) + o];
    int corners = nw_array_count(a) ? 1 << (a->ndim < 3 ? a->ndim : 3) : 0;
    for (int corner = 0; corner < corners && ran && !wrong; corner++) {
      for (int d = 0; d < a->ndim; d++) index[d] = (corner >> d % 3) & 1 ? a->shape[d] - 1 : 0;
      ran = wrong_point(x, o, index, &wrong);
    }
  }
  return wrong;
}

static bool wrong_in_whole(nw_replay_case *x) {
  nw_check_data should = {0}, is = {0};
  bool ok = nw_check_data_outputs(&should, x->r->after, &x->data) &&
            nw_check_data_outputs(&is, x->r->after, &x->data) &&
            nw_check_define(x->c, x->s, x->r->before, x->sizes, &should) && run_whole(x, &is);
  bool wrong = ok && compare(x, &should, &is);
  nw_check_data_free(&should);
  nw_check_data_free(&is);
  return wrong;
}

// Searches for a wrong output. A large computation is searched only if there is no witness, since a witness already
// shows the error.
bool nw_case_wrong_output(nw_replay_case *x) {
  bool small = nw_check_work(nw_sched_version(x->s, 0), x->sizes) <= MAX_WORK;
  bool wrong = small ? wrong_in_whole(x) : !x->w && wrong_somewhere(x);
  if (!x->c->interrupted) nw_clear(x->c);
  return wrong;
}
