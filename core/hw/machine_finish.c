// Completes a machine record with defaults, and checks that it is consistent.
#include "hw/machine_fields.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool said(const nw_field *f, const char *at) {
  switch (f->kind) {
  case NW_FIELD_REAL:
    for (int i = 0; i < f->count; i++)
      if (!isnan(((const double *)(const void *)at)[i])) return true;
    return false;
  case NW_FIELD_WHOLE: return *(const int64_t *)(const void *)at != NW_NO_WHOLE;
  case NW_FIELD_TEXT: return *at != 0;
  default: return *(const int *)(const void *)at != NW_NO_WORD;
  }
}

// Writes the part of a path before the name of the field, for example "caches[2].", to `buf`, and returns `buf`.
static const char *prefix_of(char *buf, size_t size, const nw_section *s, int element) {
  if (!s->stride || s->key)
    snprintf(buf, size, "%s%s", s->path, *s->path ? "." : "");
  else
    snprintf(buf, size, "%s[%d].", s->path, element + 1);
  return buf;
}

static bool missing(nw_ctx *c, const nw_section *s, int element, const nw_field *f) {
  char prefix[64];
  prefix_of(prefix, sizeof prefix, s, element);
  nw_fail(c, NW_EINVAL, nw_diag_printf(c, "%s", f->doc), "the machine's %s%s is missing: %s%s%s", prefix, f->name,
          nw_field_wants(f), *f->unit ? ", in " : "", f->unit);
  return false;
}

// ---- defaults

static const nw_field *sibling(const nw_section *s, const char *name) {
  for (int i = 0; i < s->nrows; i++)
    if (!strcmp(s->row[i].name, name)) return &s->row[i];
  return NULL;
}

static void fill_numbers(const nw_field *f, char *at, double v) {
  for (int i = 0; i < f->count; i++)
    if (isnan(((double *)(void *)at)[i])) ((double *)(void *)at)[i] = v;
}

// Sets a field, or the unset numbers of an array, to the field's default. If the default is the value of another field
// of the section, that field must be earlier in the table.
static void fill_field(const nw_section *s, const nw_field *f, char *base) {
  const nw_field *other = sibling(s, f->otherwise);
  char *at = base + f->offset;
  double v = other ? nw_field_get(other, base + other->offset, 0).number : strtod(f->otherwise, NULL);
  if (f->kind == NW_FIELD_REAL) fill_numbers(f, at, v);
  if (f->kind == NW_FIELD_WHOLE) *(int64_t *)(void *)at = (int64_t)v;
  if (f->kind == NW_FIELD_TEXT && !*at) snprintf(at, (size_t)f->count, "%s", f->otherwise);
  if (f->kind == NW_FIELD_FLAG) *(int *)(void *)at = !strcmp(f->otherwise, "true");
  if (f->kind == NW_FIELD_WORD) *(int *)(void *)at = nw_field_word(f, f->otherwise);
}

static bool fill_element(nw_ctx *c, nw_machine *m, const nw_section *s, int element) {
  char *base = (char *)m + s->offset + (size_t)element * s->stride;
  for (int i = 0; i < s->nrows; i++) {
    const nw_field *f = &s->row[i];
    bool is_said = said(f, base + f->offset);
    if (!is_said && !f->otherwise) return missing(c, s, element, f);
    if (f->otherwise && (!is_said || f->count > 1)) fill_field(s, f, base);
  }
  return true;
}

static bool fill_section(nw_ctx *c, nw_machine *m, const nw_section *s) {
  int n = nw_section_elements(m, s);
  if (n < s->least)
    return nw_fail(c, NW_EINVAL, "caches = {{bytes = 32768, ways = 8, latency = 4, bytes_per_cycle = 64}}",
                   "%s: a machine needs at least one entry", s->path),
           false;
  for (int i = 0; i < n; i++)
    if (!fill_element(c, m, s, i)) return false;
  return true;
}

// ---- operations

static const char *class_otherwise(int k) {
  static const char *const otherwise[] = {
#define NW_CLASS(id, name, other, doc) other,
      NW_CLASSES(NW_CLASS)
#undef NW_CLASS
  };
  return otherwise[k];
}

static nw_op_cost cost_of_text(const char *text) {
  nw_op_cost o;
  char *latency;
  double rate = strtod(text, &latency);
  for (int w = 0; w < NW_WIDTHS; w++) o.per_cycle[w] = rate;
  o.latency = strtod(*text == '-' ? text + 1 : latency, NULL);
  return o;
}

static bool no_rate(const nw_op_cost *o) {
  bool none = true;
  for (int w = 0; w < NW_WIDTHS; w++) none = none && isnan(o->per_cycle[w]);
  return none;
}

// Sets the rate to 0 for each width that has no rate, and for vectors that are wider than the machine's vectors.
static void clip_widths(nw_op_cost *o, int64_t vector_bytes) {
  for (int w = 0; w < NW_WIDTHS; w++)
    if (isnan(o->per_cycle[w]) || (w && 8 << w > vector_bytes)) o->per_cycle[w] = 0;
}

static bool fill_class(nw_ctx *c, nw_machine *m, int k) {
  const char *otherwise = class_otherwise(k);
  nw_op_cost like, *o = &m->op[k];
  int other = 0;
  while (other < k && strcmp(nw_class_name((nw_class)other), otherwise)) other++;
  like = other < k ? m->op[other] : cost_of_text(otherwise);
  if (no_rate(o) && *otherwise == '-')
    return nw_fail(c, NW_EINVAL,
                   "for one number, and for vectors of 16, 32 and 64 bytes: ops = {fma = {per_cycle = {2, 2, 2, 0}}}",
                   "ops.%s.per_cycle is missing: a number, or a list of numbers, in instructions per cycle",
                   nw_class_name((nw_class)k)),
           false;
  if (no_rate(o)) memcpy(o->per_cycle, like.per_cycle, sizeof o->per_cycle);
  if (isnan(o->latency)) o->latency = like.latency;
  clip_widths(o, m->vector_bytes);
  return true;
}

static bool check_class(nw_ctx *c, const nw_machine *m, int k) {
  const nw_op_cost *o = &m->op[k];
  bool wide = k == NW_CLASS_FMA || k == NW_CLASS_ADD || k == NW_CLASS_MUL || k == NW_CLASS_LOAD || k == NW_CLASS_STORE;
  int width = nw_width_of(m->vector_bytes), bad = !(o->per_cycle[0] > 0)               ? 0
                                                  : wide && !(o->per_cycle[width] > 0) ? width
                                                                                       : -1;
  if (bad < 0) return true;
  nw_fail(c, NW_EINVAL, NULL, "ops.%s.per_cycle[%d] is 0: a CPU with vectors of %d bytes must have a rate above 0",
          nw_class_name((nw_class)k), bad + 1, (int)m->vector_bytes);
  return false;
}

static bool fill_ops(nw_ctx *c, nw_machine *m) {
  for (int k = 0; k < NW_CLASS_COUNT; k++)
    if (!fill_class(c, m, k) || !check_class(c, m, k)) return false;
  return true;
}

// ---- consistency

static bool is_power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

static bool check_level(nw_ctx *c, const nw_machine *m, int i) {
  const nw_machine_level *l = &m->level[i];
  long long bytes = l->bytes, ways = l->ways, line = l->line;
  if (!is_power_of_two(line))
    return nw_fail(c, NW_EINVAL, NULL, "caches[%d].line: %lld bytes is not a power of two", i + 1, line), false;
  if (line != m->level[0].line)
    return nw_fail(c, NW_EINVAL, NULL,
                   "caches[%d].line: %lld bytes, but %d in the first level; different line sizes are not modelled",
                   i + 1, line, (int)m->level[0].line),
           false;
  if (bytes % line || bytes / line % ways)
    return nw_fail(c, NW_EINVAL, "bytes = sets * ways * line; the number of sets need not be a power of two",
                   "caches[%d].bytes: %lld bytes are not a whole number of sets of %lld lines of %lld bytes", i + 1,
                   bytes, ways, line),
           false;
  if (!l->write_allocate)
    return nw_fail(c, NW_EINVAL, NULL,
                   "caches[%d].write_allocate: false is not modelled; a written line is always fetched", i + 1),
           false;
  if (l->effective_bytes > l->bytes)
    return nw_fail(c, NW_EINVAL, NULL, "caches[%d].effective_bytes: more than the cache's %lld bytes", i + 1, bytes),
           false;
  return true;
}

static bool check_teams(nw_ctx *c, const nw_machine *m) {
  for (int i = 1; i < m->nteams; i++)
    if (m->team[i].threads <= m->team[i - 1].threads)
      return nw_fail(c, NW_EINVAL, NULL, "teams[%d].threads: teams must be in ascending order of threads", i + 1),
             false;
  return true;
}

static bool check_cpu(nw_ctx *c, nw_machine *m) {
  nw_op_cost *load = &m->op[NW_CLASS_LOAD];
  if (load->latency == 0) load->latency = m->level[0].latency;
  if (!(m->memory.latency > 0)) return nw_fail(c, NW_EINVAL, NULL, "memory.latency is missing: a number, in ns"), false;
  if (!is_power_of_two(m->vector_bytes))
    return nw_fail(c, NW_EINVAL, NULL, "vector_bytes: %d bytes is not a power of two", (int)m->vector_bytes), false;
  for (int i = 0; i < m->nlevels; i++)
    if (!check_level(c, m, i)) return false;
  return check_teams(c, m);
}

// Checks that a field does not exceed another field of the same machine.
static bool no_more(nw_ctx *c, const char *field, int64_t v, const char *limit, int64_t most) {
  if (v <= most) return true;
  nw_fail(c, NW_EINVAL, NULL, "gpu.%s: %lld is more than gpu.%s allows: %lld", field, (long long)v, limit,
          (long long)most);
  return false;
}

static bool check_gpu(nw_ctx *c, const nw_machine *m) {
  const nw_machine_gpu *g = &m->gpu;
  if (!is_power_of_two(g->limit.warp))
    return nw_fail(c, NW_EINVAL, NULL, "gpu.warp: %d is not a power of two", (int)g->limit.warp), false;
  if (g->line % g->sector)
    return nw_fail(c, NW_EINVAL, NULL, "gpu.sector: a line of %d bytes is not a whole number of sectors of %d",
                   (int)g->line, (int)g->sector),
           false;
  return no_more(c, "shared_block", g->limit.shared_bytes, "shared", g->shared) &&
         no_more(c, "shared", g->shared, "l1_bytes", g->l1_bytes) &&
         no_more(c, "threads", g->limit.threads, "warps", g->warps * g->limit.warp) &&
         no_more(c, "registers_thread", g->limit.registers, "registers", g->registers);
}

static bool check_name(nw_ctx *c, const nw_machine *m) {
  for (const char *s = m->name; *s; s++)
    if (!isalnum((unsigned char)*s) && !strchr("_-", *s))
      return nw_fail(c, NW_EINVAL, NULL, "name: '%s' may contain only letters, digits, _ and -", m->name), false;
  return true;
}

// ---- complete records

static const char *kind_name(int kind) {
  static const char *const names[] = {"a cpu", "a GPU", "an accelerator"};
  return names[kind];
}

// Checks that all fields of a section are unset, and sets them to 0. Called for a section that this kind of machine
// does not have.
static bool drop_section(nw_ctx *c, nw_machine *m, const nw_section *s) {
  char prefix[64];
  for (int e = 0; e < s->most; e++)
    for (int i = 0; i < s->nrows; i++) {
      char *at = (char *)m + s->offset + (size_t)e * s->stride + s->row[i].offset;
      if (said(&s->row[i], at))
        return nw_fail(c, NW_EINVAL, NULL, "%s%s: %s has no such field", prefix_of(prefix, sizeof prefix, s, e),
                       s->row[i].name, kind_name(m->kind)),
               false;
      size_t bytes = s->row[i].kind == NW_FIELD_TEXT ? 1 : s->row[i].kind >= NW_FIELD_FLAG ? sizeof(int) : 8;
      memset(at, 0, s->row[i].kind == NW_FIELD_REAL ? bytes * (size_t)s->row[i].count : bytes);
    }
  return true;
}

bool nw_machine_finish(nw_ctx *c, nw_machine *m) {
  int n;
  const nw_section *s = nw_machine_sections(&n);
  if (m->kind == NW_NO_WORD) m->kind = NW_MACHINE_CPU;
  for (int i = 0; i < n; i++) {
    bool has = s[i].kinds >> m->kind & 1,
         ops = has && s[i].row[0].offset == offsetof(nw_op_cost, per_cycle) && s[i].key;
    if (ops ? !fill_ops(c, m) : has ? !fill_section(c, m, &s[i]) : !drop_section(c, m, &s[i])) return false;
  }
  if (!check_name(c, m)) return false;
  return m->kind == NW_MACHINE_CPU   ? check_cpu(c, m)
         : m->kind == NW_MACHINE_GPU ? check_gpu(c, m)
                                     : nw_machine_check_chip(c, &m->accelerator);
}

// ---- queries

void nw_machine_limits(nw_machine *m) {
  int n;
  const nw_section *all = nw_machine_sections(&n);
  memset(m, 0, sizeof *m);
  for (int i = 0; i < all->nrows; i++)
    if (all->row[i].kind == NW_FIELD_WHOLE) fill_field(all, &all->row[i], (char *)m);
}

nw_launch_limit nw_machine_launch_limit(const nw_machine *m) {
  if (m->kind == NW_MACHINE_GPU) return m->gpu.limit;
  nw_machine any = {.gpu = m->gpu};
  size_t begin = offsetof(nw_machine_gpu, limit), end = begin + sizeof any.gpu.limit;
  int n;
  const nw_section *s = nw_machine_sections(&n);
  while (s->offset != offsetof(nw_machine, gpu)) s++;
  for (int i = 0; i < s->nrows; i++)
    if (s->row[i].offset >= begin && s->row[i].offset < end) fill_field(s, &s->row[i], (char *)&any.gpu);
  return any.gpu.limit;
}

bool nw_machine_is_host(const nw_machine *m) { return m->kind == NW_MACHINE_CPU && !strcmp(m->cpu, "host"); }

nw_features nw_machine_features(const nw_machine *m) {
  if (m->kind != NW_MACHINE_CPU) return 0;
  nw_features all = nw_features_of((nw_isa)m->isa, m->vector_bytes);
  return nw_machine_is_host(m) ? all & nw_host()->features : all;
}

int nw_width_of(int64_t bytes) { return bytes <= 8 ? 0 : bytes <= 16 ? 1 : bytes <= 32 ? 2 : 3; }

int64_t nw_machine_effective_ways(const nw_machine_level *l) {
  int64_t way = l->bytes / l->ways, ways = l->effective_bytes / way;
  return ways > 0 ? ways : 1;
}

static nw_machine_team between(const nw_machine_team *a, const nw_machine_team *b, int threads) {
  double part = (double)(threads - a->threads) / (double)(b->threads - a->threads);
  return (nw_machine_team){threads, a->spawn + part * (b->spawn - a->spawn),
                           a->barrier + part * (b->barrier - a->barrier)};
}

static nw_machine_team team_of(const nw_machine *m, int threads) {
  int i = 0;
  if (threads < 2 || m->nteams == 0) return (nw_machine_team){threads, 0, 0};
  while (i < m->nteams - 1 && m->team[i].threads < threads) i++;
  return i == 0 || m->team[i].threads <= threads ? m->team[i] : between(&m->team[i - 1], &m->team[i], threads);
}

double nw_machine_team_us(const nw_machine *m, int threads, double *spawn, double *barrier) {
  nw_machine_team t = team_of(m, threads);
  if (spawn) *spawn = t.spawn;
  if (barrier) *barrier = t.barrier;
  return t.spawn + t.barrier;
}
