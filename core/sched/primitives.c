// The table of primitives. Lua methods, help, completion, traces, JSON and replay are all driven by these rows.
//
// Parameters come in the order they are typed; those marked `option` are given by name in a trailing table. The last
// entry is what a refusal says, "$n" being argument n; without one it is "cannot" and the name.
#include "sched/primitives.h"

#define LOOP(n, d)                                                                                                     \
  { .name = n, .kind = NW_ARG_LOOP, .doc = d }
#define STAGE(n, d)                                                                                                    \
  { .name = n, .kind = NW_ARG_STAGE, .doc = d }
#define NUMBER(n, d)                                                                                                   \
  { .name = n, .kind = NW_ARG_INT, .doc = d }
#define SCOPE(d)                                                                                                       \
  { .name = "scope", .kind = NW_ARG_STR, .choices = "global|local|shared", .doc = d }
#define TAIL                                                                                                           \
  {                                                                                                                    \
    .name = "tail", .kind = NW_ARG_STR, .optional = true, .option = true, .choices = "guard|cut|mask",                 \
    .doc =                                                                                                             \
        "what happens where the factor does not divide: an if (guard), a nest of its own (cut), masked vectors (mask)" \
  }
#define NAME(d)                                                                                                        \
  { .name = "name", .kind = NW_ARG_STR, .optional = true, .option = true, .doc = d }
#define LAYOUT                                                                                                         \
  {                                                                                                                    \
    .name = "layout", .kind = NW_ARG_EXPRS, .optional = true, .option = true,                                          \
    .doc = "where element (_0, _1, ...) is put, as a function of the indices: function(k, j) return j // 32, k, j % "  \
           "32 end"                                                                                                    \
  }
#define INDEX(d)                                                                                                       \
  { .name = "index", .kind = NW_ARG_INT, .optional = true, .option = true, .doc = d }
#define AT(d)                                                                                                          \
  { .name = "at", .kind = NW_ARG_LOOP, .optional = true, .option = true, .doc = d }

static const nw_primitive rows[] = {
    {"split",
     "Splits a loop in two, an outer and an inner one.",
     "s:split(\"i\", 32)",
     "outer, inner",
     {LOOP("loop", "the loop"),
      {.name = "factor", .kind = NW_ARG_INT, .optional = true, .doc = "iterations of the inner loop"},
      {.name = "parts",
       .kind = NW_ARG_INT,
       .optional = true,
       .option = true,
       .doc = "iterations of the outer loop, instead of a factor"},
      TAIL},
     nw_apply_split,
     nw_suggest_split,
     "cannot split $0"},
    {"tile",
     "Splits two perfectly nested loops and moves both inner parts inside.",
     "s:tile(\"i\", \"j\", 32, 32)",
     "yo, xo, yi, xi",
     {LOOP("y", "the outer loop"), LOOP("x", "the inner loop"), NUMBER("fy", "rows of a tile"),
      NUMBER("fx", "columns of a tile"), TAIL},
     nw_apply_tile,
     nw_suggest_tile,
     "cannot tile $0 and $1"},
    {"cut",
     "Cuts a loop into pieces that follow each other: each is a loop to schedule on its own, i.head and i.rest, or "
     "i.1, "
     "i.2, ... where there are several cuts. A piece proven empty can still be named.",
     "s:cut(\"i\", 64)",
     "head, rest",
     {LOOP("loop", "the loop"),
      {.name = "at",
       .kind = NW_ARG_LIST,
       .item = NW_ARG_EXPR,
       .doc = "where the next piece begins: a number or an expression in sizes, \"M // 2\", or several in order"}},
     nw_apply_cut,
     nw_suggest_cut,
     "cannot cut $0"},
    {"partition",
     "Takes the rounds of a loop that need no condition (the guard of a split, the edge of a padded read, a select) "
     "out "
     "as a loop of their own, i.main, between i.pre and i.post.",
     "s:partition(\"y\")",
     "pre, main, post",
     {LOOP("loop", "the loop"),
      {.name = "at",
       .kind = NW_ARG_LIST,
       .item = NW_ARG_EXPR,
       .optional = true,
       .option = true,
       .doc = "the first round of the main part and the one behind its last, instead of what the conditions say: {1, "
              "63}"}},
     nw_apply_partition,
     nw_suggest_partition,
     "cannot partition $0"},
    {"join",
     "Makes one loop of two pieces that follow each other and have the same body: undoes a cut.",
     "s:join(\"i.head\", \"i.rest\")",
     "joined",
     {LOOP("first", "the first piece"), LOOP("second", "the piece that follows it")},
     nw_apply_join,
     nw_suggest_join,
     "cannot join $0 and $1"},
    {"fuse",
     "Makes one loop of two perfectly nested neighbours.",
     "s:fuse(\"i\", \"j\")",
     "fused",
     {LOOP("outer", "the outer loop"), LOOP("inner", "the loop directly inside it")},
     nw_apply_fuse,
     nw_suggest_fuse,
     "cannot fuse $0 and $1"},
    {"reorder",
     "Permutes loops of a perfect nest among the places they have.",
     "s:reorder(\"k\", \"i\", \"j\")",
     NULL,
     {{.name = "loops", .kind = NW_ARG_LIST, .item = NW_ARG_LOOP, .doc = "the loops, outermost first"}},
     nw_apply_reorder,
     nw_suggest_reorder},
    {"unroll",
     "Repeats the body of a loop instead of looping.",
     "s:unroll \"k_i\"",
     NULL,
     {LOOP("loop", "a loop of constant extent")},
     nw_apply_unroll,
     nw_suggest_unroll,
     "cannot unroll $0"},
    {"vectorize",
     "Runs the iterations of a loop as lanes of vectors.",
     "s:vectorize \"j_i\"",
     NULL,
     {LOOP("loop", "a loop of constant extent, at most 256")},
     nw_apply_vectorize,
     nw_suggest_vectorize,
     "cannot vectorize $0"},
    {"parallel",
     "Shares the iterations of a loop out among threads.",
     "s:parallel \"i_o\"",
     NULL,
     {LOOP("loop", "the loop")},
     nw_apply_parallel,
     nw_suggest_parallel,
     "cannot run $0 in parallel"},
    {"compute_at",
     "Computes what a loop needs of a stage inside that loop.",
     "s:compute_at(P, \"j_o\")",
     NULL,
     {STAGE("stage", "the stage to move"), LOOP("loop", "a loop around everything that reads it"),
      INDEX(
          "which statement of the loop it becomes: 1 is the first, -1 as late as possible (before the first that reads "
          "it, as if left out), -2 as early as possible (behind the last that it reads)")},
     nw_apply_compute_at,
     nw_suggest_compute_at,
     "cannot compute $0 at $1"},
    {"compute_inline",
     "Replaces every read of a stage by its expression.",
     "s:compute_inline(P)",
     NULL,
     {STAGE("stage", "a stage that is neither a reduction nor an output")},
     nw_apply_compute_inline,
     nw_suggest_compute_inline,
     "cannot inline $0"},
    {"compute_root",
     "Computes a stage whole, before what reads it.",
     "s:compute_root(P)",
     NULL,
     {STAGE("stage", "the stage to move")},
     nw_apply_compute_root,
     nw_suggest_compute_root,
     "cannot compute $0 at the root"},
    {"cache_read",
     "Reads a tensor through a copy, laid out anew if asked.",
     "s:cache_read(B, \"global\", {C}, {layout = function(k, j) return j // 32, k, j % 32 end})",
     "stage",
     {STAGE("tensor", "what is read"),
      SCOPE("where the copy lives"),
      {.name = "readers",
       .kind = NW_ARG_LIST,
       .item = NW_ARG_STAGE,
       .optional = true,
       .doc = "the stages that read the copy; all if left out"},
      LAYOUT,
      NAME("name of the copy"),
      AT("makes the copy inside this loop at once, as compute_at does")},
     nw_apply_cache_read,
     nw_suggest_cache_read,
     "cannot read $0 through a $1 copy"},
    {"cache_write",
     "Computes a stage in a buffer of its own, and copies the result out.",
     "s:cache_write(C, \"local\", {at = \"j_o\"})",
     "stage",
     {STAGE("stage", "the stage; its loops stay with the copy, the computation gets fresh ones"),
      SCOPE("where the buffer lives"), LAYOUT, NAME("name of the buffer"),
      AT("computes inside this loop at once, as compute_at does")},
     nw_apply_cache_write,
     nw_suggest_cache_write,
     "cannot write $0 through a $1 copy"},
    {"set_scope",
     "Moves a temporary to another kind of memory.",
     "s:set_scope(P, \"local\")",
     NULL,
     {STAGE("tensor", "a temporary"), SCOPE("where it shall live")},
     nw_apply_set_scope,
     nw_suggest_set_scope,
     "cannot move $0 to $1"},
    {"storage_align",
     "Makes the stride of a dimension of a temporary leave a given rest: rows on cache lines, or spread over the sets.",
     "s:storage_align(P, 0, 16, 4)",
     NULL,
     {STAGE("tensor", "a temporary"),
      NUMBER("axis", "the dimension in memory, from 0"),
      NUMBER("factor", "the stride is k*factor + offset elements, for the least k that will do"),
      {.name = "offset", .kind = NW_ARG_INT, .optional = true, .doc = "0 if left out"}},
     nw_apply_storage_align,
     nw_suggest_storage_align,
     "cannot align the strides of $0"},
    {"reorder_storage",
     "Permutes the dimensions of a temporary in memory.",
     "s:reorder_storage(P, {1, 0})",
     NULL,
     {STAGE("tensor", "a temporary"),
      {.name = "dims",
       .kind = NW_ARG_LIST,
       .item = NW_ARG_INT,
       .doc = "its dimensions in memory, from 0, outermost first"}},
     nw_apply_reorder_storage,
     nw_suggest_reorder_storage,
     "cannot reorder the storage of $0"},
    {"transform_layout",
     "Puts the elements of a temporary where a function of their indices says, no two in one place.",
     "s:transform_layout(P, function(i, j) return j // 32, i, j % 32 end)",
     NULL,
     {STAGE("tensor", "a temporary"), {.name = "layout", .kind = NW_ARG_EXPRS, .doc = "the position of an element"}},
     nw_apply_transform_layout,
     nw_suggest_transform_layout,
     "cannot lay $0 out so"},
    {"stream_stores",
     "Stores what a stage computes past the caches, in whole vectors.",
     "s:stream_stores(Z)",
     NULL,
     {STAGE("stage", "a vectorized stage whose result is not needed again soon")},
     nw_apply_stream_stores,
     nw_suggest_stream_stores,
     "cannot stream the stores of $0"},
    {"decompose_reduction",
     "Splits the init of a reduction off into a nest of its own.",
     "s:decompose_reduction(C, \"k\")",
     "stage",
     {STAGE("stage", "the reduction"), LOOP("loop", "a loop around it; the init is done before")},
     nw_apply_decompose_reduction,
     nw_suggest_decompose_reduction,
     "cannot split off the init of $0 before $1"},
};

int nw_primitive_count(void) { return NW_COUNT(rows); }

const nw_primitive *nw_primitive_at(int i) { return i >= 0 && i < NW_COUNT(rows) ? &rows[i] : NULL; }

const nw_primitive *nw_primitive_find(const char *name) {
  for (int i = 0; name && i < NW_COUNT(rows); i++)
    if (!strcmp(rows[i].name, name)) return &rows[i];
  return NULL;
}
