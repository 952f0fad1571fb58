// Measures the peak bandwidth of this machine with the loops of the STREAM benchmark, over a given amount of memory.
//
// As in STREAM, only the bytes that the loop itself reads and writes are counted. The lines that a cache fetches before
// a write are not counted. Each thread has its own part of the memory, and is the first to touch it.
#include "run/calibrate/calibrate.h"
#include "run/guard.h"
#include "run/timing/series.h"
#include "run/session.h"
#include "hw/hw.h"
#include <stdlib.h>

#define SAMPLE_SECONDS 1e-2 // seconds of a sample: much longer than starting threads takes on a busy machine
#define SERIES_SECONDS 0.4 // desired seconds of all samples; at least three samples are taken
#define SAMPLES 12
#define MOST_PASSES ((int64_t)1 << 30)
#define STEP 512 // bytes of an array per iteration: eight of the widest vectors

typedef struct stretch { // the memory of a thread: up to three arrays of `bytes` bytes
  char *a, *b, *c;
  int64_t bytes;
} stretch;

typedef void (*stream_loop)(const stretch *s);

static const int arrays[] = {[NW_STREAM_READ] = 1, [NW_STREAM_COPY] = 2, [NW_STREAM_TRIAD] = 3, [NW_STREAM_WRITE] = 1};

#if defined __x86_64__

// An iteration handles eight vectors. As in peak.c, the text names the registers, so that the compiler cannot change
// the loop.
#define EACH(text) ".irp r, 0,1,2,3,4,5,6,7\n\t" text "\n\t.endr\n\t"
#define LOOP(name, features, begin, text, step, end)                                                                   \
  __attribute__((target(features))) static void name(const stretch *s) {                                               \
    int64_t at = 0;                                                                                                    \
    __asm__ volatile(begin "1:\n\t" text "add $" step ", %0\n\tcmp %4, %0\n\tjb 1b\n\t" end                            \
                     : "+r"(at)                                                                                        \
                     : "r"(s->a), "r"(s->b), "r"(s->c), "r"(s->bytes)                                                  \
                     : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm15");       \
  }
// Defines four loops: read a; a = b; a = x*c + b; a = 0. The text `add` multiplies register r, which holds c, by
// register 15, which is x = 0, and adds b.
#define LOOPS(cpu, features, width, step, move, reg, begin, add, end)                                                  \
  LOOP(read_##cpu, features, begin, EACH(move " \\r*" width "(%1,%0), %%" reg "\\r"), step, end)                       \
  LOOP(copy_##cpu, features, begin,                                                                                    \
       EACH(move " \\r*" width "(%2,%0), %%" reg "\\r") EACH(move " %%" reg "\\r, \\r*" width "(%1,%0)"), step, end)   \
  LOOP(triad_##cpu, features, begin,                                                                                   \
       EACH(move " \\r*" width "(%3,%0), %%" reg "\\r") EACH(add) EACH(move " %%" reg "\\r, \\r*" width "(%1,%0)"),    \
       step, end)                                                                                                      \
  LOOP(write_##cpu, features, begin, EACH(move " %%" reg "15, \\r*" width "(%1,%0)"), step, end)                       \
  static const stream_loop loops_##cpu[] = {read_##cpu, copy_##cpu, triad_##cpu, write_##cpu};

LOOPS(avx512, "avx512f", "64", "512", "vmovaps", "zmm", "vxorps %%ymm15, %%ymm15, %%ymm15\n\t",
      "vfmadd213ps \\r*64(%2,%0), %%zmm15, %%zmm\\r", "vzeroupper")
LOOPS(avx2, "avx2,fma", "32", "256", "vmovaps", "ymm", "vxorps %%ymm15, %%ymm15, %%ymm15\n\t",
      "vfmadd213ps \\r*32(%2,%0), %%ymm15, %%ymm\\r", "vzeroupper")
LOOPS(sse, "sse2", "16", "128", "movaps", "xmm", "xorps %%xmm15, %%xmm15\n\t",
      "mulps %%xmm15, %%xmm\\r\n\taddps \\r*16(%2,%0), %%xmm\\r", "")

static stream_loop widest(nw_stream loop) {
  const nw_machine_info *m = nw_host();
  return (m->vector_bytes == 64                                          ? loops_avx512
          : m->vector_bytes >= 32 && nw_has(m->features, NW_FEATURE_FMA) ? loops_avx2
                                                                         : loops_sse)[loop];
}

#else

static stream_loop widest(nw_stream loop) { return (void)loop, NULL; }

#endif

void nw_stream_pass(nw_stream loop, char *data, int64_t bytes) {
  stretch s = {data, data, data, bytes};
  widest(loop)(&s);
}

typedef struct job {
  nw_frame frame; // must be the first field, because run_stretch gets its address as the address of the job
  stream_loop loop;
  stretch of[NW_MAX_TEAM];
  int64_t passes;
  bool touch; // true if the job only writes all of the memory once
} job;

static void touch(const stretch *s) {
  memset(s->a, 0, (size_t)s->bytes);
  if (s->b != s->a) memset(s->b, 0, (size_t)s->bytes);
  if (s->c != s->a) memset(s->c, 0, (size_t)s->bytes);
}

static void run_stretch(nw_frame *f, void *env, int64_t begin, int64_t end, int64_t thread) {
  (void)f, (void)thread;
  job *j = env;
  for (int64_t t = begin; t < end; t++) {
    const stretch *s = &j->of[t];
    if (j->touch) touch(s);
    for (int64_t i = 0; i < j->passes && !j->touch; i++) j->loop(s);
  }
}

static void run_all(nw_frame *f) { nw_parallel_for(f, run_stretch, f, f->threads, 0); }

// Returns the seconds of n passes, or a negative number if interrupted.
static double passes(nw_ctx *c, job *j, int64_t n) {
  j->passes = n;
  double start = nw_now();
  return nw_guarded_call(c, run_all, &j->frame) ? nw_now() - start : -1;
}

// Returns the number of passes in a sample, which is computed from the time that one thread needs for its part. Returns
// 0 if interrupted.
static int64_t calibrate(nw_ctx *c, job *j) {
  int threads = j->frame.threads;
  double t = 0;
  int64_t n = 1;
  for (j->frame.threads = 1; (t = passes(c, j, n)) >= 0 && t < SAMPLE_SECONDS && n < MOST_PASSES;) n *= 2;
  j->frame.threads = threads;
  return t < 0 ? 0 : n;
}

typedef struct stream {
  nw_ctx *c;
  job *j;
  int64_t passes; // number of passes in a sample
  double bytes; // number of bytes that a pass reads and writes
} stream;

static double rate(void *env) {
  stream *s = env;
  double t = passes(s->c, s->j, s->passes);
  return t > 0 ? s->bytes * (double)s->passes / t : -1;
}

static bool take_rates(stream *s, nw_rates *out) {
  s->passes = calibrate(s->c, s->j);
  double first = s->passes ? rate(s) : -1;
  if (!(first > 0)) return false;
  double seconds = s->bytes * (double)s->passes / first, fit = SERIES_SECONDS / seconds;
  int count = fit < 3 ? 3 : fit < SAMPLES ? (int)fit : SAMPLES;
  return nw_rates_of(s->c, &(nw_subject){s->j->frame.threads, rate, s, NULL}, count, out);
}

// Gives each thread a part of the memory at `data`, and divides this part into `narrays` adjacent arrays. Returns the
// number of bytes that one pass reads and writes.
static double divide(job *j, char *data, int64_t bytes, int narrays) {
  int64_t each = bytes / j->frame.threads / narrays / STEP * STEP;
  if (each < STEP) each = STEP;
  for (int t = 0; t < j->frame.threads; t++, data += each * narrays)
    j->of[t] = (stretch){data, narrays > 1 ? data + each : data, narrays > 2 ? data + 2 * each : data, each};
  return (double)each * narrays * j->frame.threads;
}

bool nw_bandwidth(nw_ctx *c, nw_stream loop, int64_t bytes, int threads, nw_rates *out) {
  *out = (nw_rates){0};
  if (!widest(loop)) return nw_fail(c, NW_ELIMIT, NULL, "bandwidths are measured on x86-64 only");
  if (threads <= 0) threads = nw_host()->cores;
  if (threads > NW_MAX_TEAM) threads = NW_MAX_TEAM;
  int64_t least = (int64_t)threads * arrays[loop] * STEP;
  if (bytes < least) bytes = least;
  char *data = bytes < nw_memory_left() ? nw_mem_get(&nw_session_of(c)->mem, (size_t)bytes, false) : NULL;
  if (!data) return nw_fail(c, NW_ELIMIT, NULL, "not enough memory for a loop over %lld bytes", (long long)bytes);
  job *j = nw_xcalloc(1, sizeof *j);
  j->frame = (nw_frame){.threads = threads, .name = "the bandwidth loop"};
  j->loop = widest(loop);
  stream s = {.c = c, .j = j, .bytes = divide(j, data, bytes, arrays[loop])};
  j->touch = true;
  bool good = passes(c, j, 1) >= 0;
  j->touch = false;
  good = good && take_rates(&s, out);
  nw_mem_put(&nw_session_of(c)->mem, data);
  free(j);
  return good;
}
