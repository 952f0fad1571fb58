// Declares the functions of the rows in primitives.c. Private to sched/.
#pragma once
#include "sched/sched.h"

bool nw_apply_split(void *step);
bool nw_apply_tile(void *step);
bool nw_apply_cut(void *step);
bool nw_apply_join(void *step);
bool nw_apply_partition(void *step);
bool nw_apply_trim(void *step);
bool nw_apply_specialize(void *step);
bool nw_apply_assume(void *step);
bool nw_apply_fuse(void *step);
bool nw_apply_reorder(void *step);
bool nw_apply_skew(void *step);
bool nw_apply_shift(void *step);
bool nw_apply_reverse(void *step);
bool nw_apply_add_unit_loop(void *step);
bool nw_apply_remove_unit_loop(void *step);
bool nw_apply_unmark(void *step);
bool nw_apply_merge(void *step);
bool nw_apply_reorder_stmts(void *step);
bool nw_apply_fission(void *step);
bool nw_apply_create_fused_loop(void *step);
bool nw_apply_unroll(void *step);
bool nw_apply_vectorize(void *step);
bool nw_apply_parallel(void *step);
bool nw_apply_bind(void *step);
bool nw_apply_pragma(void *step);
bool nw_apply_annotate(void *step);
bool nw_apply_compute_at(void *step);
bool nw_apply_store_at(void *step);
bool nw_apply_reverse_compute_at(void *step);
bool nw_apply_compute_inline(void *step);
bool nw_apply_reverse_compute_inline(void *step);
bool nw_apply_compute_root(void *step);
bool nw_apply_cache_read(void *step);
bool nw_apply_cache_write(void *step);
bool nw_apply_rolling_buffer(void *step);
bool nw_apply_double_buffer(void *step);
bool nw_apply_set_scope(void *step);
bool nw_apply_prefetch(void *step);
bool nw_apply_storage_align(void *step);
bool nw_apply_reorder_storage(void *step);
bool nw_apply_transform_layout(void *step);
bool nw_apply_stream_stores(void *step);
bool nw_apply_decompose_reduction(void *step);
bool nw_apply_rfactor(void *step);
bool nw_apply_tensorize(void *step);
bool nw_apply_atomic(void *step);

// These functions suggest steps after a refusal.
void nw_suggest_split(void *step);
void nw_suggest_tile(void *step);
void nw_suggest_cut(void *step);
void nw_suggest_join(void *step);
void nw_suggest_partition(void *step);
void nw_suggest_specialize(void *step);
void nw_suggest_fuse(void *step);
void nw_suggest_reorder(void *step);
void nw_suggest_skew(void *step);
void nw_suggest_shift(void *step);
void nw_suggest_reverse(void *step);
void nw_suggest_unit_loop(void *step);
void nw_suggest_unmark(void *step);
void nw_suggest_merge(void *step);
void nw_suggest_reorder_stmts(void *step);
void nw_suggest_fission(void *step);
void nw_suggest_create_fused_loop(void *step);
void nw_suggest_unroll(void *step);
void nw_suggest_vectorize(void *step);
void nw_suggest_parallel(void *step);
void nw_suggest_bind(void *step);
void nw_suggest_pragma(void *step);
void nw_suggest_annotate(void *step);
void nw_suggest_compute_at(void *step);
void nw_suggest_store_at(void *step);
void nw_suggest_reverse_compute_at(void *step);
void nw_suggest_compute_inline(void *step);
void nw_suggest_reverse_compute_inline(void *step);
void nw_suggest_compute_root(void *step);
void nw_suggest_cache_read(void *step);
void nw_suggest_cache_write(void *step);
void nw_suggest_rolling_buffer(void *step);
void nw_suggest_double_buffer(void *step);
void nw_suggest_set_scope(void *step);
void nw_suggest_prefetch(void *step);
void nw_suggest_storage_align(void *step);
void nw_suggest_reorder_storage(void *step);
void nw_suggest_transform_layout(void *step);
void nw_suggest_stream_stores(void *step);
void nw_suggest_decompose_reduction(void *step);
void nw_suggest_rfactor(void *step);
void nw_suggest_tensorize(void *step);
void nw_suggest_atomic(void *step);

// Adds a note if rounding changes in a reader that computes the block's expression instead of loading its value
// (inline.c).
void nw_note_fma(nw_step *st, const nw_stmt *reader, const nw_stmt *block);
