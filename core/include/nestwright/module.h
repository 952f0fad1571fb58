// Lists the functions that the front ends and the LLVM module call in addition to the public functions. They are
// exported, but are not a stable interface. Each function is declared with NW_API in a header of its folder.
#pragma once

// clang-format off
#define NW_MODULE_FUNCTIONS(X) \
  X(nw_add) X(nw_broadcast) X(nw_broken) X(nw_broken_in_test) X(nw_callee_begin) X(nw_callee_end) \
  X(nw_callee_of) X(nw_chunk_of) X(nw_exec_release) X(nw_exec_retain) X(nw_expr_print) X(nw_feature_at) \
  X(nw_features_vector_bytes) X(nw_file_add) X(nw_file_append) X(nw_file_begin_at) X(nw_file_end) \
  X(nw_file_fail) X(nw_file_lock) X(nw_file_open_at) X(nw_file_open_dir) X(nw_file_read) X(nw_file_read_at) \
  X(nw_file_reason) X(nw_file_tidy) X(nw_file_write) X(nw_find_buffer) X(nw_fits) X(nw_fragment_row) \
  X(nw_guard_interrupt) X(nw_hash_bytes) X(nw_hash_mix) X(nw_host) X(nw_import) X(nw_instruction_ptx) \
  X(nw_intrinsic_find) X(nw_is_const) X(nw_is_int) X(nw_isa_name) X(nw_known_close) X(nw_known_divides) \
  X(nw_known_enter) X(nw_known_index) X(nw_known_leave) X(nw_known_open) X(nw_lane_slack) X(nw_launch_asks) \
  X(nw_machine_cite) X(nw_machine_cited) X(nw_machine_each) X(nw_machine_finish) X(nw_machine_init) \
  X(nw_machine_sections) X(nw_machine_set) X(nw_make1) X(nw_make_dirs) X(nw_math_plan) X(nw_math_rows) \
  X(nw_mul) X(nw_mutant_on) X(nw_op_has) X(nw_op_infix) X(nw_parallel_for) X(nw_ramp) X(nw_shuffle_in) \
  X(nw_shuffled) X(nw_shuffles_free) X(nw_shuffles_of) X(nw_size_fact_parse) X(nw_speaks_of_sizes) \
  X(nw_state_file) X(nw_str_add) X(nw_str_addn) X(nw_str_fmt) X(nw_str_free) X(nw_str_take) X(nw_take_lanes) \
  X(nw_te_program) X(nw_temp_dir) X(nw_uses_load) X(nw_uses_var) X(nw_vec_free) X(nw_vec_push) X(nw_visit) \
  X(nw_walk_from) X(nw_warps_share_memory) X(nw_xcalloc) X(nw_xmalloc) X(nw_xrealloc) X(nw_xstrdup)
// clang-format on
