// Simulates the caches that a program accesses, and makes data for pictures of the accesses.
#pragma once
#include "nestwright/access.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NW_MAX_LEVELS 4

typedef struct nw_sim_level {
  int64_t bytes; // a multiple of line * ways
  int ways; // 0 for a fully associative cache
} nw_sim_level;

typedef enum nw_outcome { NW_HIT, NW_COLD, NW_CAPACITY, NW_CONFLICT, NW_OUTCOMES } nw_outcome;

typedef struct nw_sim_opts {
  int nlevels;
  nw_sim_level level[NW_MAX_LEVELS]; // nearest to the core first
  int line; // bytes of a line, a power of two; the same for all levels
  bool misses; // true: each level sees only the misses of the previous level; false: each level sees all accesses
  // true: distinguish conflict from capacity misses, by a second, fully associative simulation of each level
  bool conflicts;
  // to sample: simulate only one of every `part` lines, and divide the sizes of fully associative caches by `part`; 0:
  // simulate all lines
  int part;
} nw_sim_opts;

typedef struct nw_sim_counts {
  int64_t asked; // number of lines that were requested, with repetitions
  int64_t outcome[NW_OUTCOMES];
  int64_t read_misses, write_misses;
  int64_t written_back; // number of evicted dirty lines; lines that are still dirty at the end are not counted
} nw_sim_counts;
typedef struct nw_touched { // an access
  const char *tensor;
  int64_t index; // linear index of the first element
  int lanes; // number of adjacent elements
  bool write;
  uint64_t address;
  uint8_t outcome[NW_MAX_LEVELS]; // for each level: the greatest nw_outcome of the lines of the access
} nw_touched;
typedef struct nw_iteration { // an iteration of a loop
  const char *loop;
  int depth; // number of enclosing loops
  int64_t index; // number of the iteration, counted from 0
  int64_t from, to; // from: number of the first access of the iteration; to: number of the first access after it
} nw_iteration;
typedef struct nw_trace nw_trace;
// Computes the accesses of the lowered program, in order, without running the program. Returns NULL if the accesses
// depend on data, or if there are more than `most` accesses (error code NW_ELIMIT). `o` describes the caches to
// simulate; if `o` is NULL, no caches are simulated.
NW_API nw_trace *nw_trace_walk(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int64_t most,
                               const nw_sim_opts *o);
// Records the accesses while the interpreter runs the program. The arguments n and `args` are those of nw_interpret.
NW_API nw_trace *nw_trace_run(nw_ctx *c, const nw_program *p, int n, nw_array *const *args, int64_t most);
NW_API void nw_trace_free(nw_trace *t);
NW_API int64_t nw_trace_count(const nw_trace *t);
NW_API const nw_touched *nw_trace_at(const nw_trace *t, int64_t i);
// Returns the number of recorded iterations. The iterations are sorted by the ends of their ranges of accesses. Only
// nw_trace_walk records iterations.
NW_API int64_t nw_trace_iterations(const nw_trace *t);
NW_API const nw_iteration *nw_trace_iteration(const nw_trace *t, int64_t i);
// Returns the index of the first access in which the traces differ, or -1 if they are equal.
NW_API int64_t nw_trace_differs(const nw_trace *a, const nw_trace *b);
// A raster shows all accesses of a program as pixels. The value of a pixel is 0 for no access, 1 for a read hit, 2 for
// a write hit, 3 for a cold miss, 4 for a capacity miss, and 5 for a conflict miss. If a pixel has several accesses, it
// gets the greatest of their values, so that every miss is visible. If `level` is -1, the value is instead the number
// of the level that served the access: 1 for the first level, 2 for the second, and so on. The number after the last
// level stands for memory.
typedef enum nw_raster_y { NW_Y_INDEX, NW_Y_ADDRESS, NW_Y_LINE, NW_Y_SET } nw_raster_y;
typedef struct nw_lane { // the pixels of one tensor
  const char *tensor;
  int64_t from, to; // from: where the lowest row begins; to: where the highest row ends; both in units of y
  int64_t accesses;
  int64_t outcome[NW_OUTCOMES]; // number of accesses with each outcome
  uint8_t *pixel; // rows of `width` pixels, the lowest row first
} nw_lane;
typedef struct nw_raster nw_raster;
// Reduces the pixels of one tensor to to_width * to_height pixels. Each new pixel gets the greatest value of the pixels
// that it replaces.
NW_API void nw_raster_shrink(const uint8_t *pixel, int width, int height, int to_width, int to_height, uint8_t *out);
NW_API nw_raster *nw_raster_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o,
                               int level, nw_raster_y y, int width, int height);
NW_API void nw_raster_free(nw_raster *r);
NW_API int64_t nw_raster_time(const nw_raster *r); // number of accesses
NW_API int nw_raster_lanes(const nw_raster *r); // number of accessed tensors
// Returns lane i. The lanes are numbered from 0, in the order of the addresses of their tensors.
NW_API const nw_lane *nw_raster_lane(const nw_raster *r, int i);
NW_API int64_t nw_raster_touched(const nw_raster *r,
                                 int column); // bytes of all distinct lines accessed up to the end of this column
// Returns the number of recorded iterations. The iterations of a loop are recorded only if the loop has at most 300
// iterations in the whole program.
NW_API int64_t nw_raster_iterations(const nw_raster *r);
NW_API const nw_iteration *nw_raster_iteration(const nw_raster *r, int64_t i);
typedef struct nw_missed { // misses of one load or store of the program in one level
  int level; // 0 is the first level
  const char *tensor, *loop; // loop: the innermost enclosing loop, or NULL
  bool write;
  nw_sim_counts count;
} nw_missed;
typedef struct nw_misses nw_misses;
NW_API nw_misses *nw_misses_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o);
NW_API void nw_misses_free(nw_misses *m);
NW_API int nw_misses_count(const nw_misses *m);
NW_API const nw_missed *nw_misses_at(const nw_misses *m, int i);

// Histograms of reuse distances, also called stack distances. A distance is the number of distinct lines requested
// between two requests of the same line. In a fully associative cache, the second request hits if the cache has more
// lines than this distance. Each tensor has its own histogram. The histogram has one bin for each distance below 64.
// From 64 on, it has 64 bins between each power of two and the next.
typedef struct nw_reuse nw_reuse;
NW_API nw_reuse *nw_reuse_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int line);
NW_API void nw_reuse_free(nw_reuse *r);
NW_API int nw_reuse_tensors(const nw_reuse *r); // number of accessed tensors
// Returns the name of tensor i. The tensors are numbered from 0, in the order of their addresses.
NW_API const char *nw_reuse_tensor(const nw_reuse *r, int i);
NW_API int64_t nw_reuse_first(const nw_reuse *r, int i); // number of requests for lines that were not requested before
NW_API int nw_reuse_bins(const nw_reuse *r); // number of bins of each histogram
// Returns the least distance in the bin. The bin ends where the next bin begins.
NW_API int64_t nw_reuse_from(const nw_reuse *r, int bin);
// Returns the number of requests for lines of tensor i whose distance is in the bin.
NW_API int64_t nw_reuse_count(const nw_reuse *r, int i, int bin);

// The functions below say how full the sets of a cache level are over time. Time is the number of accesses so far. Time
// is divided into equal intervals, called columns. For each set and column, the functions return the number of lines in
// the set and the number of distinct lines that are requested from the set.
typedef struct nw_filling nw_filling;
NW_API nw_filling *nw_filling_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o,
                                 int level, int columns);
NW_API void nw_filling_free(nw_filling *f);
NW_API int64_t nw_filling_time(const nw_filling *f); // number of accesses
NW_API int nw_filling_columns(const nw_filling *f); // at most the number of accesses
NW_API int nw_filling_sets(const nw_filling *f);
NW_API int nw_filling_held(const nw_filling *f, int column, int set); // lines held at the end of the column
NW_API int nw_filling_asked(const nw_filling *f, int column, int set); // distinct lines requested during the column

#ifdef __cplusplus
}
#endif
