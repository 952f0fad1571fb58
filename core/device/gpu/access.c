// Loads and stores of a warp.
#include "device/gpu/gpu.h"

static uint32_t lanes_of(const int64_t *v) {
  uint32_t m = 0;
  for (int l = 0; l < NWG_LANES; l++) m |= (uint32_t)(v[l] != 0) << l;
  return m;
}

// ---- where elements are

// Returns the address of element 0, for the current warp. In local memory, element i of lane l is at i*NWG_LANES + l.
static int64_t base_of(const nwg_worker *w, const nwg_buffer *b) {
  return b->space == NWG_LOCAL ? w->warp * b->count * NWG_LANES : 0;
}

static char *data_of(const nwg_worker *w, int buffer) {
  const nwg_buffer *b = &w->k->buffer[buffer];
  return w->mem[buffer].data + base_of(w, b) * b->bytes;
}

static int64_t slot(const nwg_buffer *b, int64_t at, int lane) {
  return b->space == NWG_LOCAL ? at * NWG_LANES + lane : at;
}

// ---- data

#define EACH for (uint32_t m = mask; m; m &= m - 1)
#define FETCH(type, room)                                                                                              \
  EACH {                                                                                                               \
    int l = __builtin_ctz(m);                                                                                          \
    ((room *)to)[l] = ((const type *)data)[slot(b, index[l], l)];                                                      \
  }
#define PUT(type, room)                                                                                                \
  EACH {                                                                                                               \
    int l = __builtin_ctz(m);                                                                                          \
    ((type *)data)[slot(b, index[l], l)] = (type)((const room *)from)[l];                                              \
  }

// True if a register has the bytes of the elements.
static bool is_plain(nw_dtype t) { return t == NW_F32 || t == NW_F64 || t == NW_I64; }

// True if the lanes of each part of the pattern have adjacent elements. In local memory, lanes are adjacent if they have
// the same index.
static bool is_adjacent(const nwg_buffer *b, const nwg_pattern *p) {
  bool local = b->space == NWG_LOCAL;
  for (int i = 0; p->nparts <= NWG_PARTS && i < p->nparts; i++)
    if ((p->part[i].step == 0) != local && p->part[i].n > 1) return false;
  return p->nparts <= NWG_PARTS;
}

// Copies n elements. The most frequent sizes are constants, so that no function is called.
static inline void copy(char *to, const char *from, int n, int bytes) {
  int all = n * bytes;
  if (all == 128)
    memcpy(to, from, 128);
  else if (all == 64)
    memcpy(to, from, 64);
  else
    memcpy(to, from, (size_t)all);
}

static inline void repeat(char *to, const char *from, int n, int bytes) {
  for (int l = 0; bytes == 4 && l < n; l++) memcpy(to + 4 * l, from, 4);
  for (int l = 0; bytes == 8 && l < n; l++) memcpy(to + 8 * l, from, 8);
}

static void fetch_parts(const nwg_buffer *b, const nwg_pattern *p, const char *data, int64_t first, char *to) {
  int bytes = b->bytes;
  for (int i = 0; i < p->nparts; i++) {
    const nwg_part *q = &p->part[i];
    const char *at = data + slot(b, first + q->off, q->lane) * bytes;
    if (q->step || b->space == NWG_LOCAL)
      copy(to + q->lane * bytes, at, q->n, bytes);
    else
      repeat(to + q->lane * bytes, at, q->n, bytes);
  }
}

static void fetch(const nwg_buffer *b, const nwg_pattern *p, const char *data, const int64_t *index, char *to) {
  nw_dtype t = b->dtype;
  uint32_t mask = p->mask;
  if (is_plain(t) && p->nparts <= NWG_PARTS && (b->space != NWG_LOCAL || is_adjacent(b, p)))
    return fetch_parts(b, p, data, index[__builtin_ctz(mask)], to);
  switch (t) {
  case NW_F32: FETCH(float, float) break;
  case NW_F64:
  case NW_I64:
  case NW_U64: FETCH(int64_t, int64_t) break;
  case NW_I32: FETCH(int32_t, int64_t) break;
  case NW_U8: FETCH(uint8_t, int64_t) break;
  default:
    EACH {
      int l = __builtin_ctz(m);
      nwi_cell v = {0};
      nwi_read(t, data, slot(b, index[l], l), &v);
      memcpy(to + l * b->room, &v, (size_t)b->room);
    }
  }
}

static void put(const nwg_buffer *b, const nwg_pattern *p, char *data, const int64_t *index, const char *from) {
  nw_dtype t = b->dtype;
  uint32_t mask = p->mask;
  int64_t first = index[__builtin_ctz(mask)];
  if (is_plain(t) && is_adjacent(b, p)) {
    for (int i = 0; i < p->nparts; i++) {
      const nwg_part *q = &p->part[i];
      copy(data + slot(b, first + q->off, q->lane) * b->bytes, from + q->lane * b->bytes, q->n, b->bytes);
    }
    return;
  }
  switch (t) {
  case NW_F32: PUT(float, float) break;
  case NW_F64:
  case NW_I64:
  case NW_U64: PUT(int64_t, int64_t) break;
  case NW_I32: PUT(int32_t, int64_t) break;
  default:
    EACH {
      int l = __builtin_ctz(m);
      nwi_cell v = {0};
      memcpy(&v, from + l * b->room, (size_t)b->room);
      nwi_write(t, data, slot(b, index[l], l), &v);
    }
  }
}

// ---- elements that were not written

static bool is_written(const nwg_mem *m, bool local, uint64_t since, int64_t at) {
  return local ? m->write[at] >= since : m->written[at];
}

// True if it is easy to see that all elements were written.
static bool all_written(const nwg_mem *m, const nwg_pattern *p, int64_t first) {
  for (int i = 0; p->nparts <= NWG_PARTS && i < p->nparts; i++)
    if (memchr(m->written + first + p->part[i].off, 0, (size_t)(p->part[i].step ? p->part[i].n : 1))) return false;
  return p->nparts <= NWG_PARTS;
}

static void check_written(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index) {
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  const nwg_mem *m = &w->mem[s->buffer];
  bool local = b->space == NWG_LOCAL;
  if (!m->written && !local) return;
  if (!local && all_written(m, p, index[__builtin_ctz(p->mask)])) return;
  int64_t base = base_of(w, b);
  uint64_t since = local ? m->since[w->warp] : 0;
  for (uint32_t on = p->mask; on; on &= on - 1) {
    int l = __builtin_ctz(on);
    if (!is_written(m, local, since, base + slot(b, index[l], l)))
      nwg_found(w, NW_GPU_UNWRITTEN, site, index[l], w->warp * w->k->lanes + l, 0);
  }
}

static void note_written(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index) {
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  const nwg_mem *m = &w->mem[s->buffer];
  int64_t first = index[__builtin_ctz(p->mask)], base = base_of(w, b);
  if (b->space == NWG_LOCAL) {
    for (uint32_t on = p->mask; on; on &= on - 1) {
      int l = __builtin_ctz(on);
      m->write[base + slot(b, index[l], l)] = w->now;
    }
  } else if (m->written && p->nparts <= NWG_PARTS) {
    for (int i = 0; i < p->nparts; i++)
      memset(m->written + first + p->part[i].off, 1, (size_t)(p->part[i].step ? p->part[i].n : 1));
  } else if (m->written) {
    for (uint32_t on = p->mask; on; on &= on - 1) m->written[index[__builtin_ctz(on)]] = 1;
  }
}

// ---- one element of each lane

// Adds the beginning of the array of each lane's group to the index of a buffer of scope warp.
static uint32_t present_in_group(nwg_worker *w, int site, const int64_t **index, uint32_t mask, nwg_pattern **p,
                                 int64_t *room) {
  const nwg_buffer *b = &w->k->buffer[w->k->site[site].buffer];
  mask = nwg_inside(w, site, *index, mask);
  for (int l = 0; l < NWG_LANES; l++) room[l] = (*index)[l] + w->group[w->warp * NWG_LANES + l] * b->count;
  *index = room;
  if (mask) *p = nwg_pattern_of(w, site, room, mask);
  return mask;
}

// Returns the lanes whose element exists. Sets *p to the pattern of the addresses, and *indices to the positions in
// memory, which may be in `room`.
static uint32_t present(nwg_worker *w, int site, const int64_t **indices, uint32_t mask, nwg_pattern **p,
                        int64_t *room) {
  const nwg_buffer *b = &w->k->buffer[w->k->site[site].buffer];
  const int64_t *index = *indices;
  if (!mask) return 0;
  if (b->space == NWG_WARP) return present_in_group(w, site, indices, mask, p, room);
  *p = nwg_pattern_of(w, site, index, mask);
  int64_t first = index[__builtin_ctz(mask)];
  if (first + (*p)->lo >= 0 && first + (*p)->hi < b->count) return mask;
  mask = nwg_inside(w, site, index, mask);
  if (mask) *p = nwg_pattern_of(w, site, index, mask);
  return mask;
}

// `elements` is the number of elements that the request has for each lane; 0 if it was counted already.
static void load_one(nwg_worker *w, int site, const int64_t *index, uint32_t mask, char *to, int elements) {
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  nwg_mem *m = &w->mem[s->buffer];
  nwg_pattern *p = NULL;
  int64_t room[NWG_LANES];
  mask = present(w, site, &index, mask, &p, room);
  if (!mask) return;
  if (elements && !s->own && !s->held) nwg_count(w, site, b, p, index, elements);
  if (!s->own && m->write && b->space != NWG_LOCAL) nwg_read_shadow(w, site, p, index);
  check_written(w, site, p, index);
  if (m->data)
    fetch(b, p, data_of(w, s->buffer), index, to);
  else
    memset(to, 0, (size_t)(NWG_LANES * b->room)); // only counts are made
}

static void store_one(nwg_worker *w, int site, const int64_t *index, uint32_t mask, const char *from, int elements) {
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  nwg_mem *m = &w->mem[s->buffer];
  nwg_pattern *p = NULL;
  int64_t room[NWG_LANES];
  mask = present(w, site, &index, mask, &p, room);
  if (!mask) return;
  if (elements && !s->held) nwg_count(w, site, b, p, index, elements);
  if (m->write && b->space != NWG_LOCAL) nwg_write_shadow(w, site, p, index);
  if (m->data) put(b, p, data_of(w, s->buffer), index, from);
  note_written(w, site, p, index);
  if (s->async) nwg_depart(w, site, index, mask);
}

// ---- requests
//
// If the elements of each lane are adjacent and aligned, they are one request of up to 16 bytes for each lane.

// Returns the number of elements of one request.
static int elements_of(const nwg_site *s, const nwg_buffer *b, const int64_t *index, uint32_t mask) {
  int most = 16 / b->bytes, n = 1;
  if (!s->whole) return 1;
  while (2 * n <= most && s->n % (2 * n) == 0) n *= 2;
  for (uint32_t m = mask; m; m &= m - 1)
    while (index[__builtin_ctz(m)] % n) n /= 2;
  return n;
}

void nwg_load(nwg_worker *w, const nwg_instr *in, uint32_t mask) {
  int site = (int)in->i, n = in->n;
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  const int64_t *index = NWG_I(w, in->a);
  int room = NWG_LANES * b->room, each = n > 1 ? elements_of(s, b, index, mask) : 1;
  for (int e = 0; e < n; e++) {
    uint32_t on = mask;
    char *to = w->reg + in->dst + (int64_t)e * room;
    if (in->b) on &= lanes_of(NWG_I(w, in->b) + e * NWG_LANES), memset(to, 0, (size_t)room);
    load_one(w, site, index + e * NWG_LANES, on, to, e % each ? 0 : each);
  }
}

static void store_all(nwg_worker *w, const nwg_stmt *st, uint32_t mask) {
  const nwg_site *s = &w->k->site[st->site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  const int64_t *index = NWG_I(w, st->index);
  int room = NWG_LANES * b->room, each = s->n > 1 ? elements_of(s, b, index, mask) : 1;
  for (int e = 0; e < s->n; e++) {
    uint32_t on = mask;
    if (st->mask) on &= lanes_of(NWG_I(w, st->mask) + e * NWG_LANES);
    store_one(w, st->site, index + e * NWG_LANES, on, w->reg + st->value.reg + (int64_t)e * room, e % each ? 0 : each);
  }
}

// Returns some lanes of `mask` that update different elements. For each element, the first of the lanes that update it is
// among them.
static uint32_t distinct(const int64_t *index, uint32_t mask) {
  uint32_t out = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    bool twice = false;
    for (uint32_t o = out; o && !twice; o &= o - 1) twice = index[__builtin_ctz(o)] == index[l];
    if (!twice) out |= 1u << l;
  }
  return out;
}

// Counts an atomic update as one request of all lanes.
static void count_update(nwg_worker *w, const nwg_stmt *st, uint32_t mask) {
  const nwg_buffer *b = &w->k->buffer[w->k->site[st->site].buffer];
  const int64_t *index = NWG_I(w, st->index);
  nwg_count(w, st->site, b, nwg_pattern_of(w, st->site, index, mask), index, 1);
}

// Atomic updates of one element by several lanes happen one after another, in the order of the lanes.
static void update(nwg_worker *w, const nwg_stmt *st, uint32_t mask) {
  const int64_t *index = NWG_I(w, st->index);
  uint32_t on = distinct(index, mask);
  bool counting = w->counting;
  count_update(w, st, mask);
  w->counting = false;
  store_all(w, st, on);
  while ((mask &= ~on) && !w->failed) {
    int64_t *times = w->times;
    w->times = w->ignored;
    w->f.execute(w, st->value, mask);
    w->times = times;
    on = distinct(index, mask);
    store_all(w, st, on);
  }
  w->counting = counting;
}

void nwg_store(nwg_worker *w, const nwg_stmt *st, uint32_t mask) {
  w->issued++;
  w->active += mask == UINT32_MAX ? NWG_LANES : __builtin_popcount(mask);
  w->f.execute(w, st->value, mask);
  if (w->k->site[st->site].atomic)
    update(w, st, mask);
  else
    store_all(w, st, mask);
}
