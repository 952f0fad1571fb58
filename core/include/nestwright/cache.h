// What caches make of the accesses of a program.
#pragma once
#include "nestwright/access.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NW_MAX_LEVELS 4

typedef struct nw_sim_level {
  int64_t bytes; // a multiple of line * ways
  int ways; // 0: fully associative
} nw_sim_level;

typedef enum nw_outcome { NW_HIT, NW_COLD, NW_CAPACITY, NW_CONFLICT, NW_OUTCOMES } nw_outcome;

typedef struct nw_sim_opts {
  int nlevels;
  nw_sim_level level[NW_MAX_LEVELS]; // the one nearest to the core first
  int line; // bytes, a power of two, of all levels
  bool misses; // how levels are fed: false FULL, true MISSES
  bool conflicts; // tell conflicts from capacity; costs a second, fully associative simulation of each level
  int part; // only one line in so many comes: as much smaller are the levels whose sets do not matter; 0: all come
} nw_sim_opts;

typedef struct nw_sim_counts {
  int64_t asked; // lines asked for
  int64_t outcome[NW_OUTCOMES];
  int64_t read_misses, write_misses;
  int64_t written_back; // lines it wrote last; those still dirty at the end are not counted
} nw_sim_counts;
typedef struct nw_touched {
  const char *tensor;
  int64_t index; // linear, of the first element
  int lanes; // elements side by side
  bool write;
  uint64_t address;
  uint8_t outcome[NW_MAX_LEVELS]; // by level, the worst of its lines: nw_outcome
} nw_touched;
typedef struct nw_iteration { // an iteration of a loop
  const char *loop;
  int depth; // loops around
  int64_t index; // from 0
  int64_t from, to; // accesses
} nw_iteration;
typedef struct nw_trace nw_trace;
// What the lowered program touches, in order, found without running it.
// NULL where it depends on data, and where there are more than `most` (NW_ELIMIT).
// o: caches to simulate; NULL: none.
NW_API nw_trace *nw_trace_walk(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int64_t most,
                               const nw_sim_opts *o);
// The same from the interpreter, on arguments as for nw_interpret.
NW_API nw_trace *nw_trace_run(nw_ctx *c, const nw_program *p, int n, nw_array *const *args, int64_t most);
NW_API void nw_trace_free(nw_trace *t);
NW_API int64_t nw_trace_count(const nw_trace *t);
NW_API const nw_touched *nw_trace_at(const nw_trace *t, int64_t i);
NW_API int64_t nw_trace_iterations(const nw_trace *t); // of a walk; in the order in which they end
NW_API const nw_iteration *nw_trace_iteration(const nw_trace *t, int64_t i);
NW_API int64_t nw_trace_differs(const nw_trace *a, const nw_trace *b); // the first access that does; -1: none
// All accesses of a program as pixels, however many there are: of several on one pixel the worst shows, so that no miss is
// ever lost. 0: none; 1 read, 2 written, and it was there; 3 cold, 4 capacity, 5 conflict miss. Of level -1: 1 found in the first
// level, 2 in the second, ..., one more than there are levels: in memory.
typedef enum nw_raster_y { NW_Y_INDEX, NW_Y_ADDRESS, NW_Y_LINE, NW_Y_SET } nw_raster_y;
typedef struct nw_lane {
  const char *tensor;
  int64_t from, to; // what the lowest and the highest row begin and end with, in units of y
  int64_t accesses;
  int64_t outcome[NW_OUTCOMES]; // of accesses
  uint8_t *pixel; // rows of `width`, the lowest first
} nw_lane;
typedef struct nw_raster nw_raster;
// Pixels of a lane on fewer of them: of those that fall on one the worst shows. out has to_width * to_height bytes.
NW_API void nw_raster_shrink(const uint8_t *pixel, int width, int height, int to_width, int to_height, uint8_t *out);
NW_API nw_raster *nw_raster_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o,
                               int level, nw_raster_y y, int width, int height);
NW_API void nw_raster_free(nw_raster *r);
NW_API int64_t nw_raster_time(const nw_raster *r); // accesses in all
NW_API int nw_raster_lanes(const nw_raster *r); // tensors that are touched, in the order of their addresses
NW_API const nw_lane *nw_raster_lane(const nw_raster *r, int i);
NW_API int64_t nw_raster_touched(const nw_raster *r,
                                 int column); // bytes of distinct lines up to the end of that column
NW_API int64_t nw_raster_iterations(const nw_raster *r); // of loops with 300 or fewer in all
NW_API const nw_iteration *nw_raster_iteration(const nw_raster *r, int64_t i);
typedef struct nw_missed { // of one level, one load or store of the program
  int level; // from 0
  const char *tensor, *loop; // loop: the innermost around; NULL: none
  bool write;
  nw_sim_counts count;
} nw_missed;
typedef struct nw_misses nw_misses;
NW_API nw_misses *nw_misses_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o);
NW_API void nw_misses_free(nw_misses *m);
NW_API int nw_misses_count(const nw_misses *m);
NW_API const nw_missed *nw_misses_at(const nw_misses *m, int i);

// How far apart in time a line is asked for and asked for again, in other lines asked for in between: fully associative
// caches of more lines than that hit. Counted by tensor, exactly below 64, then in 64 bins an octave.
typedef struct nw_reuse nw_reuse;
NW_API nw_reuse *nw_reuse_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int line);
NW_API void nw_reuse_free(nw_reuse *r);
NW_API int nw_reuse_tensors(const nw_reuse *r); // in the order of their addresses
NW_API const char *nw_reuse_tensor(const nw_reuse *r, int i);
NW_API int64_t nw_reuse_first(const nw_reuse *r, int i); // lines asked for that never were before
NW_API int nw_reuse_bins(const nw_reuse *r);
NW_API int64_t nw_reuse_from(const nw_reuse *r, int bin); // its least distance; the next bin's ends it
NW_API int64_t nw_reuse_count(const nw_reuse *r, int i, int bin);

// How full the sets of a level are, and how many different lines they are asked for, in equal parts of the time.
typedef struct nw_filling nw_filling;
NW_API nw_filling *nw_filling_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o,
                                 int level, int columns);
NW_API void nw_filling_free(nw_filling *f);
NW_API int64_t nw_filling_time(const nw_filling *f); // accesses in all
NW_API int nw_filling_columns(const nw_filling *f); // no more than there are accesses
NW_API int nw_filling_sets(const nw_filling *f);
NW_API int nw_filling_held(const nw_filling *f, int column, int set); // lines, at the end of the column
NW_API int nw_filling_asked(const nw_filling *f, int column, int set); // different lines during it

#ifdef __cplusplus
}
#endif
