// Checks that every read of a buffer gets the right value, if each element has only one value. An element must be
// written before it is read. A reduction must be initialized, and must then get every contribution exactly once, before
// it is read. Outputs must be complete.
#include "poly/internal.h"

// True if the buffer is allocated in one place, outside every loop.
bool nw_exists_once(const nw_model *m, const nw_buffer *b) {
  nw_uses u = nw_uses_of(m, b);
  for (int i = 0; i < u.n; i++)
    if (u.at[i]->depth || u.at[i]->alloc != u.at[0]->alloc) return false;
  return true;
}

static nw_fate gather(const nw_model *m, const nw_buffer *b, bool by_value) {
  nw_fate f = {.m = m, .buffer = b, .by_value = by_value, .nested = !nw_exists_once(m, b)};
  nw_uses u = nw_uses_of(m, b);
  f.write = NW_NEW_N(m->arena, nw_use *, u.n + 1);
  f.read = NW_NEW_N(m->arena, nw_use *, u.n + 1);
  for (int i = 0; i < u.n; i++)
    if (u.at[i]->write)
      f.write[f.nwrites++] = u.at[i];
    else
      f.read[f.nreads++] = u.at[i];
  return f;
}

// Makes the refusal for pairs that are in a wrong order. Pairs of declared instances come first. If there are none, the
// executions that are no declared instances are the error: no program before this one has had an order for them.
static nw_answer tell_order(const nw_model *m, const nw_story *story, isl_map *bad) {
  const nw_site *source = story->source->site, *sink = story->sink->site;
  isl_set *beyond = NULL, *beside = NULL;
  isl_map *declared = isl_map_copy(bad);
  if (nw_in_domain(m, source, &beyond) == NW_FAILS) declared = isl_map_subtract_domain(declared, beyond);
  if (nw_in_domain(m, sink, &beside) == NW_FAILS) declared = isl_map_subtract_range(declared, beside);
  isl_bool none = isl_map_is_empty(declared);
  nw_answer answer = NW_HOLDS;
  if (none == isl_bool_true) answer = nw_check_domain(m, source);
  if (none == isl_bool_true && answer == NW_HOLDS) answer = nw_check_domain(m, sink);
  if (answer == NW_HOLDS) answer = nw_tell_pair(m, story, isl_map_copy(none == isl_bool_true ? bad : declared));
  isl_map_free(declared);
  isl_map_free(bad);
  return answer;
}

static bool is_init(const nw_use *w) { return w->site->init || w->site->block->block.init_part; }

// ---- order

static nw_answer init_before(const nw_fate *f, nw_use *init, nw_use *update) {
  isl_map *bad = NULL;
  nw_ctx *c = f->m->p->ctx;
  if (f->by_value ? !NW_RULE(c, value_init) : !NW_RULE(c, order_init_first)) return NW_HOLDS;
  nw_answer answer = nw_always_before(f->m, init, update, &bad);
  if (answer == NW_FAILS) answer = nw_whole_epochs(f);
  if (answer != NW_FAILS) {
    isl_map_free(bad);
    return answer;
  }
  return tell_order(f->m,
                    &(nw_story){.kind = NW_REFUSE_REDUCTION,
                                .source = init,
                                .sink = update,
                                .why = "{e} is initialized at {s}, but gets a contribution before that, at {t}"},
                    bad);
}

// Returns the events of the read r that access an element before any write to the element. (An event is an execution
// together with one element that it reads; see internal.h.) If several writes write the element, they write the same
// value, so one earlier write is sufficient.
static isl_set *not_served(const nw_fate *f, nw_use *r) {
  isl_set *left = isl_map_domain(nw_events(f->m, r));
  for (int i = 0; i < f->nwrites; i++) {
    if (!nw_may_meet(f->write[i], r)) continue;
    isl_map *before = nw_before(nw_meet_events(f->m, f->write[i], nw_events(f->m, r)), f->write[i], r);
    left = isl_set_subtract(left, nw_set_with_quotients(f->m->f->s, isl_map_range(before)));
  }
  return left;
}

// Returns NW_HOLDS if some write comes before every event of r that reads an element of w. Otherwise sets *bad to the
// pairs of executions of w and r in which r runs before w, and no write has written the element before r.
static nw_answer none_served(const nw_fate *f, nw_use *w, nw_use *r, isl_map **bad) {
  isl_set *left = not_served(f, r);
  isl_map *late = nw_not_before(nw_meet_events(f->m, w, nw_events(f->m, r)), w, r);
  unsigned at = (unsigned)r->site->view.ndims, n = (unsigned)isl_map_dim(late, isl_dim_out) - at;
  isl_map_free(*bad);
  *bad = isl_map_project_out(isl_map_intersect_range(late, left), isl_dim_out, at, n);
  return nw_answer_of(f->m->f->s, isl_map_is_empty(*bad));
}

// True if an element may be written several times with different values: by a reduction, or by a fill and a copy. An
// init is sufficient evidence, since the other writes may be missing by mistake.
static bool has_updates(const nw_fate *f) {
  for (int i = 0; i < f->nwrites; i++)
    if (f->write[i]->update || is_init(f->write[i])) return true;
  return false;
}

static nw_answer read_after(const nw_fate *f, nw_use *w, nw_use *r) {
  isl_map *bad = NULL;
  nw_ctx *c = f->m->p->ctx;
  if (f->by_value ? !NW_RULE(c, value_order) : !NW_RULE(c, order_strict)) return NW_HOLDS;
  if (!nw_may_meet(w, r)) return NW_HOLDS;
  nw_answer answer = nw_always_before(f->m, w, r, &bad);
  if (answer == NW_FAILS && !has_updates(f) && f->by_value) answer = none_served(f, w, r, &bad);
  if (answer != NW_FAILS) {
    isl_map_free(bad);
    return answer;
  }
  const char *why = w->update ? "{e} is read at {t}, before it gets the contribution of {s}"
                              : "{e} is read at {t}, before it is written at {s}";
  return tell_order(f->m, &(nw_story){.kind = NW_REFUSE_RAW, .source = w, .sink = r, .why = why}, bad);
}

static nw_answer check_order(const nw_fate *f) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++) {
    nw_use *w = f->write[i];
    for (int j = 0; is_init(w) && j < f->nwrites && answer == NW_HOLDS; j++) {
      nw_use *u = f->write[j];
      if (u->update && nw_may_meet(w, u)) answer = init_before(f, w, u);
      if (answer == NW_HOLDS && nw_is_copy_of(w, u)) answer = nw_filled_before(f, w, u);
    }
    for (int j = 0; j < f->nreads && answer == NW_HOLDS; j++) answer = read_after(f, w, f->read[j]);
  }
  return answer;
}

static nw_answer check_cover(const nw_fate *f, nw_use *r, nw_write_class of, bool rule, const char *why) {
  isl_set *bad = NULL;
  if (!rule) return NW_HOLDS;
  nw_answer answer = nw_covered(f, r, of, &bad);
  if (answer != NW_FAILS) return answer;
  return nw_tell_one(f->m, &(nw_story){.kind = NW_REFUSE_VALUE, .sink = r, .site = r->site, .why = why}, bad);
}

static bool any_write(const nw_use *w) { return w != NULL; }
static bool not_update(const nw_use *w) { return !w->update; }

// Checks that the element read at r is written and, if it is the result of a reduction, that the reduction is
// initialized and complete.
static nw_answer check_read(const nw_fate *f, nw_use *r) {
  nw_ctx *c = f->m->p->ctx;
  bool updates = has_updates(f);
  nw_answer answer =
      check_cover(f, r, any_write, NW_RULE(c, value_uninitialised), "{e} is read at {t}, but is never written before");
  if (answer == NW_HOLDS && updates)
    answer = check_cover(f, r, not_update, NW_RULE(c, value_init), "{e} is read at {t}, but its reduction has no init");
  if (answer == NW_HOLDS && updates) answer = nw_contributions(f, r);
  return answer;
}

// Checks that updates have an init. This is necessary even if nothing reads the result, since an update itself reads
// its element.
static nw_answer check_starts(const nw_fate *f) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < f->nwrites && answer == NW_HOLDS; i++)
    if (f->write[i]->update)
      answer = check_cover(f, f->write[i], not_update, NW_RULE(f->m->p->ctx, value_init),
                           "{e} gets a contribution at {t}, but its reduction has no init");
  return answer;
}

static nw_answer check_output(const nw_fate *f) {
  nw_ctx *c = f->m->p->ctx;
  bool updates = has_updates(f);
  nw_answer answer = nw_output_covered(f, any_write, NW_RULE(c, output_written), "{e} is never written");
  if (answer == NW_HOLDS && updates)
    answer = nw_output_covered(f, not_update, NW_RULE(c, value_init),
                               "{e} gets contributions, but its reduction has no init");
  if (answer == NW_HOLDS && updates) answer = nw_contributions(f, NULL);
  return answer;
}

static nw_answer many_values(const nw_fate *f) {
  nw_str why = {0};
  nw_str_fmt(&why,
             "an element of %s is written more than once with different values, so a read is not determined by its "
             "index alone",
             f->buffer->name);
  nw_answer answer = nw_tell(f->m, NW_REFUSE_VALUE, NULL, NULL, "%s", why.s);
  nw_str_free(&why);
  return answer;
}

// Which write was the last one before a read is known only for elements that do not share their positions.
static nw_answer shared_places(const nw_fate *f) {
  return nw_tell(f->m, NW_REFUSE_UNDECIDED, NULL, NULL,
                 "elements of %s change their value, and share their positions in memory with other elements",
                 f->buffer->name);
}

// Checks that the elements that are read are written and complete, and that the outputs are complete.
static nw_answer check_values(const nw_fate *f) {
  nw_answer answer = check_starts(f);
  if (answer == NW_HOLDS && has_updates(f)) answer = nw_contributed_once(f);
  for (int i = 0; i < f->nreads && answer == NW_HOLDS; i++) answer = check_read(f, f->read[i]);
  if (answer == NW_HOLDS && f->buffer->role == NW_OUTPUT) answer = check_output(f);
  return answer;
}

// True if an element of the buffer may have several values in this program, or in the program before the step.
static nw_answer changes(const nw_fate *f, const nw_model *before) {
  nw_answer single = nw_single_valued(f->m, f->buffer);
  const nw_buffer *old = before && single == NW_HOLDS ? nw_find_buffer(before->p, f->buffer->name) : NULL;
  if (old && old->role != NW_INPUT) single = nw_single_valued(before, old);
  return single == NW_ABORTED ? single : single == NW_HOLDS ? NW_FAILS : NW_HOLDS;
}

static nw_answer check_buffer(nw_fate *f, const nw_model *before, bool first) {
  nw_answer several = changes(f, before), answer = NW_HOLDS;
  if (several == NW_ABORTED) return several;
  if (several == NW_HOLDS && f->by_value && !first)
    answer = before ? nw_check_updates(before, f->m, f->buffer) : many_values(f);
  if (answer == NW_HOLDS && several == NW_HOLDS && nw_own_places(f->m, f->buffer) == NW_FAILS) return shared_places(f);
  if (several == NW_FAILS) answer = check_order(f);
  if (answer == NW_HOLDS && (f->by_value || f->nested)) answer = check_values(f);
  if (answer == NW_HOLDS) answer = nw_check_fold(f);
  return answer;
}

// In the first program of a computation, an element may have several values, one after the other.
nw_answer nw_check_buffers(const nw_model *m, const nw_model *before, bool first) {
  nw_answer answer = NW_HOLDS;
  for (int i = 0; i < m->p->nbuffers && answer == NW_HOLDS; i++) {
    if (m->p->buffer[i]->role == NW_INPUT) continue;
    nw_fate f = gather(m, m->p->buffer[i], before || first);
    answer = check_buffer(&f, before, first);
  }
  return answer;
}

nw_answer nw_check_buffer_values(const nw_model *m, const nw_buffer *b) {
  nw_fate f = gather(m, b, true);
  return check_buffer(&f, NULL, false);
}
