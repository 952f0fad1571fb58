// Records what single warps do: the addresses of their requests, and the nests that they execute between barriers.
#include "device/gpu/gpu.h"
#include <stdlib.h>

// ---- requests

static bool is_watched(const nwg_worker *w, int site) {
  const nw_gpu_watch *watch = w->record->watch;
  const nwg_site *s = &w->k->site[site];
  return watch->buffer && w->nblocks == 1 && w->warp == watch->warp && s->write == watch->write &&
         !strcmp(w->k->buffer[s->buffer].name, watch->buffer);
}

void nwg_record_request(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index, int each, int sectors) {
  nwg_record *to = w->record;
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  if (!is_watched(w, site) || to->seen++ < to->watch->skip || to->nrequests >= to->watch->requests) return;
  if (to->nrequests == to->caprequests) {
    to->caprequests = to->caprequests ? 2 * to->caprequests : 16;
    to->request = nw_xrealloc(to->request, sizeof *to->request * (size_t)to->caprequests);
  }
  nw_warp_request *r = &to->request[to->nrequests++];
  *r = (nw_warp_request){.id = s->stmt->id,
                         .step = s->stmt->step,
                         .scope = nwg_scope_name(b),
                         .bytes = each,
                         .lanes = p->mask,
                         .sectors = sectors};
  int64_t first = index[__builtin_ctz(p->mask)];
  for (uint32_t m = p->mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    r->address[l] = (first + p->off[l]) * b->bytes;
  }
  if (b->space != NWG_SHARED || b->device) return;
  r->words = each < 4 ? 1 : each / 4;
  r->wavefronts = nwg_wavefronts(w, p, first, b->bytes, each, r->wavefront);
}

// ---- spans

static const nwg_stmt *last_store(const nwg_stmt *s) {
  if (s->kind == NW_STORE) return s;
  for (int i = s->nkids - 1; i >= 0; i--) {
    const nwg_stmt *found = last_store(s->kid[i]);
    if (found) return found;
  }
  return NULL;
}

void nwg_record_span(nwg_worker *w, const nwg_stmt *s, int64_t statements) {
  nwg_record *to = w->record;
  if (!statements || to->nspans >= to->watch->spans) return;
  if (to->nspans == to->capspans) {
    to->capspans = to->capspans ? 2 * to->capspans : 64;
    to->span = nw_xrealloc(to->span, sizeof *to->span * (size_t)to->capspans);
  }
  nw_warp_span *span = &to->span[to->nspans++];
  *span = (nw_warp_span){.warp = w->warp, .part = w->barriers, .statements = statements};
  memcpy(span->block, w->block, sizeof span->block);
  const nwg_stmt *store = last_store(s);
  if (store) {
    span->buffer = w->k->buffer[w->k->site[store->site].buffer].name;
    span->id = store->stmt->id, span->step = store->stmt->step;
  }
  for (int i = 0; i < w->nwide && i < NW_GPU_SPAN_LOOPS; i++) {
    const nwg_stmt *loop = w->wide[i];
    int64_t begin = w->wide_begin[((int64_t)loop->loop * w->k->warps + w->warp) * NWG_LANES];
    span->loop[span->nloops++] = (nw_warp_span_loop){loop->stmt->loop.var->name, begin + w->wide_at[i]};
  }
}
