// Says in a sentence what the simulation has found.
#include "device/gpu/gpu.h"

static void add_done(nw_str *s, const nw_gpu_place *p, const char *verb) {
  nw_str_fmt(s, "%s thread (%lld, %lld, %lld) of block (%lld, %lld, %lld)", verb, (long long)p->thread[0],
             (long long)p->thread[1], (long long)p->thread[2], (long long)p->block[0], (long long)p->block[1],
             (long long)p->block[2]);
}

static const char *access_verb(const nw_gpu_place *p) { return p->write ? "written by" : "read by"; }

// Returns what makes the order of two accesses undefined.
static const char *order(nw_gpu_fault f) {
  switch (f) {
  case NW_GPU_RACE_BLOCKS: return "; the order of blocks is undefined";
  case NW_GPU_RACE_COPY: return ", while an asynchronous copy into it is in flight";
  default: return ", with no barrier in between";
  }
}

static void add_race(nw_str *s, const nw_gpu_finding *f) {
  nw_str_fmt(s, "race: element %lld of %s is ", (long long)f->element, f->buffer);
  if (f->has_first) {
    add_done(s, &f->first, access_verb(&f->first));
    nw_str_add(s, ", and ");
  }
  add_done(s, &f->second, access_verb(&f->second));
  nw_str_add(s, order(f->fault));
}

char *nw_gpu_finding_text(const nw_gpu_finding *f) {
  nw_str s = {0};
  switch (f->fault) {
  case NW_GPU_DIVERGED:
    add_done(&s, &f->second, "a barrier is reached by");
    add_done(&s, &f->first, ", but not by");
    break;
  case NW_GPU_DIVIDED: add_done(&s, &f->second, "an integer is divided by zero by"); break;
  case NW_GPU_UNWRITTEN:
    nw_str_fmt(&s, "element %lld of %s is ", (long long)f->element, f->buffer);
    add_done(&s, &f->second, "read by");
    nw_str_add(&s, ", but was not written");
    break;
  case NW_GPU_OUTSIDE:
    nw_str_fmt(&s, "element %lld of %s, which does not exist, is ", (long long)f->element, f->buffer);
    add_done(&s, &f->second, access_verb(&f->second));
    break;
  default: add_race(&s, f); break;
  }
  return nw_str_take(&s);
}
