// Checks and updates the shadow of adjacent elements that consecutive lanes access. lanes.c includes this file once for
// each kind of CPU. shadow.c says what is checked. All stamps are less than 2^63.

#define LOAD(p) (*(const nwg_v4i *)(p))
#define EVERY(i, n) for (int i = 0; i + 4 <= (n); i += 4)

// True where an access with the stamp x and one by the thread t have no defined order.
#define UNORDERED(x, t)                                                                                                \
  (((x) >= (int64_t)a->from) &                                                                                         \
   (((x) < (int64_t)a->begin) | (((x) >= (int64_t)a->barrier) & (((x) & (int64_t)NWG_THREAD) != (t)))))

static bool NWG_READ_RUN(const nwg_area *a, int64_t at, int n, uint64_t thread) {
  const int64_t *write = (const int64_t *)a->write + at;
  int64_t *read = (int64_t *)a->read + at, *other = (int64_t *)a->other + at;
  nwg_v4i first = {0, 1, 2, 3}, t = first + (int64_t)thread, bad = {0};
  EVERY(i, n) bad |= (LOAD(write + i) < (int64_t)a->since) | UNORDERED(LOAD(write + i), t + i);
  if (bad[0] | bad[1] | bad[2] | bad[3]) return false;
  if (!a->read) return true;
  EVERY(i, n) {
    nwg_v4i last = LOAD(read + i), old = LOAD(other + i), now = t + i, here = last >= (int64_t)a->begin;
    nwg_v4i far = (old >= (int64_t)a->from) & (old < (int64_t)a->begin) & here;
    nwg_v4i keep = (((last & (int64_t)NWG_THREAD) == now) & here) | far;
    *(nwg_v4i *)(other + i) = (old & keep) | (last & ~keep);
    *(nwg_v4i *)(read + i) = now | (int64_t)a->stamp;
  }
  return true;
}

static bool NWG_WRITE_RUN(const nwg_area *a, int64_t at, int n, uint64_t thread) {
  int64_t *write = (int64_t *)a->write + at;
  const int64_t *read = (const int64_t *)a->read + at, *other = (const int64_t *)a->other + at;
  nwg_v4i first = {0, 1, 2, 3}, t = first + (int64_t)thread, bad = {0};
  EVERY(i, n) bad |= UNORDERED(LOAD(write + i), t + i);
  if (a->read) EVERY(i, n) bad |= UNORDERED(LOAD(read + i), t + i) | UNORDERED(LOAD(other + i), t + i);
  if (bad[0] | bad[1] | bad[2] | bad[3]) return false;
  EVERY(i, n) * (nwg_v4i *)(write + i) = (t + i) | (int64_t)a->stamp;
  return true;
}

static bool NWG_MATCHES(const nwg_pattern *p, const int64_t *index, int64_t first) {
  nwg_v4i other = {0};
  EVERY(i, NWG_LANES) other |= (LOAD(index + i) - first - LOAD(p->off + i)) & LOAD(p->live + i);
  return !(other[0] | other[1] | other[2] | other[3]);
}

#undef LOAD
#undef EVERY
#undef UNORDERED
