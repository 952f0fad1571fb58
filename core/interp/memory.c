// Reads and writes the elements of buffers. An access outside its buffer is an error. A read of an element that was
// never written is also an error.
#include "interp/code.h"
#include "interp/values.h"

nwi_buffer *nwi_buffer_named(nwi_program *x, const char *name) {
  for (int i = 0; i < x->p->nbuffers; i++)
    if (!strcmp(x->buffer[i].name, name)) return &x->buffer[i];
  return NULL;
}

bool nwi_reserve(nwi_program *x, nwi_buffer *b, int64_t count) {
  if (count > b->cap) {
    nw_let_go(b->data), nw_let_go(b->written), nw_let_go(b->shadow);
    nw_let_go(b->arriving), nw_let_go(b->lent);
    b->data = NULL, b->written = NULL, b->shadow = NULL, b->cap = 0;
    b->arriving = NULL, b->lent = NULL;
    b->data = nw_ask(x->run.ctx, b->name, (uint64_t)count, (uint64_t)nw_dtype_bytes(b->dtype));
    b->written = b->data ? nw_ask(x->run.ctx, b->name, (uint64_t)count, 1) : NULL;
    if (!b->written) return !(x->run.failed = true);
    b->cap = count;
  } else if (count) {
    memset(b->written, 0, (size_t)count);
  }
  b->count = count;
  nwi_parts_reset(b);
  return true;
}

// ---- error messages

void nwi_where(const nwi_program *x, nw_str *out) {
  for (int i = 0; i < x->depth; i++)
    nw_str_fmt(out, "%s%s = %lld", i ? ", " : " at ", x->at[i]->name, (long long)x->run.slot[x->at[i]->slot]);
}

static void trap_index(nwi_program *x, const nwi_buffer *b, int n, const int64_t *index, const char *what) {
  nw_str s = {0};
  nw_str_fmt(&s, "%s[", b->name);
  for (int d = 0; d < n; d++) nw_str_fmt(&s, "%s%lld", d ? ", " : "", (long long)index[d]);
  nw_str_fmt(&s, "] is %s outside its ", what);
  if (x->exec) nw_str_fmt(&s, "%lld elements", (long long)b->count);
  for (int d = 0; d < b->n && !x->exec; d++)
    nw_str_fmt(&s, "%s%lld..%lld", d ? ", " : "box [", (long long)b->min[d], (long long)(b->min[d] + b->extent[d]));
  if (!x->exec) nw_str_add(&s, "]");
  nwi_where(x, &s);
  nwi_fail(&x->run, NW_ERANGE, "%s", s.s);
  nw_str_free(&s);
}

static void trap_unwritten(nwi_program *x, const nwi_buffer *b, int64_t at) {
  nw_str s = {0};
  nw_str_fmt(&s, "element %lld of %s is read before it is written", (long long)at, b->name);
  nwi_where(x, &s);
  nwi_fail(&x->run, NW_ERANGE, "%s", s.s);
  nw_str_free(&s);
}

// ---- observers of accesses

static bool lenient(const nwi_program *x) { return x->run.opts && x->run.opts->lenient; }

static void fill_access(const nwi_program *x, nw_access *a) {
  const nwi_code *c = x->block;
  a->lanes = a->lanes ? a->lanes : 1;
  a->block = c ? c->stmt : NULL;
  a->init = x->init;
  a->var = c && c->nvars ? &x->run.slot[c->var_slot[0]] : NULL;
}

static void tell(nwi_program *x, nw_access a) {
  const nw_interp_opts *o = x->run.opts;
  if (!o || !o->trace) return;
  fill_access(x, &a);
  o->trace(o->env, &a);
}

static long double as_number(nw_dtype t, const nwi_cell *v) {
  if (nw_dtype_is_float(t)) return (long double)nwi_number(t, v);
  return t == NW_U64 ? (long double)(uint64_t)v->i : (long double)v->i;
}

static int64_t home(const nwi_buffer *b, int64_t at) { return b->home && at >= 0 && at < b->count ? b->home[at] : at; }

// Describes the access to an element in a scheduled program, with indices as in the program's text.
static nw_access element_access(const nwi_buffer *b, int64_t at, bool write, int64_t *logical) {
  int64_t rest = at;
  for (int d = b->n - 1; d >= 0; d--) {
    logical[d] = b->min[d] + rest % b->extent[d];
    rest /= b->extent[d];
  }
  return (nw_access){.buffer = b->name, .index = at, .write = write, .n = b->n, .at = logical, .room = home(b, at)};
}

static void tell_read(nwi_program *x, const nwi_buffer *b, int64_t at, bool unwritten) {
  int64_t logical[NW_MAX_DEPTH];
  nwi_cell v = {0};
  if (!x->run.opts || !x->run.opts->trace) return;
  nw_access a = element_access(b, at, false, logical);
  a.unwritten = unwritten;
  if (!unwritten) nwi_read(b->dtype, b->data, home(b, at), &v);
  a.value = as_number(b->dtype, &v);
  tell(x, a);
}

// Reports the write to the observer. Returns true if the store must be skipped.
static bool tell_write(nwi_program *x, const nwi_buffer *b, int64_t at, const nwi_cell *value) {
  const nw_interp_opts *o = x->run.opts;
  int64_t logical[NW_MAX_DEPTH];
  if (!o || (!o->trace && !o->drop)) return false;
  nw_access a = element_access(b, at, true, logical);
  a.value = as_number(b->dtype, value);
  fill_access(x, &a);
  if (o->trace) o->trace(o->env, &a);
  return o->drop && o->drop(o->env, &a);
}

// ---- positions in buffers

int64_t nwi_place(nwi_program *x, const nwi_buffer *b, int n, nwi_node *const *index, bool write) {
  int64_t at = 0, logical[NW_MAX_DEPTH];
  bool inside = true;
  for (int d = 0; d < n; d++) {
    int64_t i = nwi_int(&x->run, index[d]), o = i - b->min[d];
    if (d < NW_MAX_DEPTH) logical[d] = i;
    inside &= o >= 0 && o < b->extent[d];
    at = at * b->extent[d] + o;
  }
  if (inside) return at;
  tell(x, (nw_access){.buffer = b->name, .index = -1, .write = write, .n = n, .at = logical, .outside = true});
  if (!lenient(x)) trap_index(x, b, n, logical, write ? "written" : "read");
  return -1;
}

static void trace(nwi_program *x, const nwi_buffer *b, int64_t at, int lanes, bool write) {
  tell(x, (nw_access){.buffer = b->name, .index = at, .lanes = lanes, .write = write});
}

static bool readable(nwi_program *x, nwi_buffer *b, int64_t at) {
  if (at < 0 || at >= b->count) return trap_index(x, b, 1, &at, "read"), false;
  int64_t room = nwi_room(x, b, home(b, at));
  nwi_touch(x, b, room, false);
  if (x->run.failed || !nwi_landed(x, b, at, false)) return false;
  if (b->written && !b->written[room]) return trap_unwritten(x, b, at), false;
  return true;
}

// ---- reads

static void load_logical(nwi_run *r, nwi_node *n) {
  nwi_program *x = r->host;
  nwi_buffer *b = n->buffer;
  int64_t at = nwi_place(x, b, n->nargs, n->arg, false);
  n->v->i = 0;
  if (at < 0) return;
  bool unwritten = b->written && !b->written[home(b, at)];
  tell_read(x, b, at, unwritten);
  if (unwritten && lenient(x)) return;
  if (readable(x, b, at)) nwi_read(b->dtype, b->data, home(b, at), n->v);
}

// True if every lane is enabled and accesses the element after the element of the previous lane. The lanes are then
// reported as one access.
static bool consecutive(const nwi_cell *at, const nwi_cell *mask, int lanes) {
  for (int l = 0; l < lanes; l++)
    if ((mask && !mask[l].i) || at[l].i != at[0].i + l) return false;
  return true;
}

static void trace_lanes(nwi_program *x, const nwi_buffer *b, const nwi_cell *at, const nwi_cell *mask, int lanes,
                        bool write) {
  if (!x->run.opts || !x->run.opts->trace) return;
  if (consecutive(at, mask, lanes)) return trace(x, b, at->i, lanes, write);
  for (int l = 0; l < lanes; l++)
    if (!mask || mask[l].i) trace(x, b, at[l].i, 1, write);
}

static void load_linear(nwi_run *r, nwi_node *n) {
  nwi_program *x = r->host;
  nwi_buffer *b = n->buffer;
  const nwi_cell *at = nwi_get(r, n->arg[0]), *mask = n->nargs > 1 ? nwi_get(r, n->arg[1]) : NULL;
  for (int l = 0; l < n->lanes; l++) {
    n->v[l].i = 0;
    if (mask && !mask[l].i) continue;
    if (!readable(x, b, at[l].i)) return;
    if (x->leaving) nwi_lend(x, b, at[l].i);
    nwi_read(b->dtype, b->data, nwi_room(x, b, at[l].i), &n->v[l]);
  }
  trace_lanes(x, b, at, mask, n->lanes, false);
}

bool nwi_load_setup(nwi_scope *s, nwi_node *n) {
  nwi_program *x = s->host;
  nwi_buffer *b = n->buffer = nwi_buffer_named(x, n->expr->name);
  if (!b) return nw_fail(s->ctx, NW_EINVAL, NULL, "there is no buffer named %s", n->expr->name);
  if (!x->exec && n->nargs != b->n)
    return nw_fail(s->ctx, NW_EINVAL, NULL, "%s has %d dimensions, but is read with %d indices", b->name, b->n,
                   n->nargs);
  n->eval = x->exec ? load_linear : load_logical;
  return true;
}

// ---- writes

// Stores the values of the lanes at the given indices. If `index` is NULL, stores a single value at the position t->at.
void nwi_store(nwi_program *x, nwi_target *t, const nwi_cell *value, const nwi_cell *mask, int lanes,
               const nwi_cell *index) {
  nwi_buffer *b = t->buffer;
  nwi_cell one = {.i = t->at};
  const nwi_cell *at = index ? index : &one;
  for (int l = 0; l < lanes; l++) {
    if (mask && !mask[l].i) continue;
    if (!index && at->i < 0 && lenient(x)) return;
    if (at[l].i < 0 || at[l].i >= b->count) return trap_index(x, b, 1, &at[l].i, "written");
    if (!b->written) return nwi_fail(&x->run, NW_ERANGE, "the input %s is written", b->name);
    if (!index && tell_write(x, b, at->i, value)) return;
    int64_t element = index ? at[l].i : home(b, at[l].i), room = nwi_room(x, b, element);
    nwi_touch(x, b, room, true);
    if (!nwi_landed(x, b, element, true)) return;
    nwi_write(b->dtype, b->data, room, &value[l]);
    b->written[room] = 1;
  }
  if (index) trace_lanes(x, b, at, mask, lanes, true);
}

void nwi_tell_store(nwi_program *x, nwi_target *t) {
  const nwi_cell *mask = t->mask ? nwi_get(&x->run, t->mask) : NULL;
  trace_lanes(x, t->buffer, nwi_get(&x->run, t->index[0]), mask, t->value->lanes, true);
}
