// New buffers and copy blocks, shared by cache_read and cache_write. Private to sched/.
#pragma once
#include "sched/sched.h"

// The buffer by its own name, or the first one that a stage writes; the second function rejects anything but temporaries.
nw_buffer *nw_tensor_arg(nw_step *st, int param);
nw_buffer *nw_temp_arg(nw_step *st, int param);
void nw_touch_allocs(nw_step *st, const char *buffer); // marks the allocations as changed by this step
bool nw_scope_of(nw_step *st, int param, nw_scope *out);
// A temporary of the same logical shape; `suffix` forms the name if the user gave none (option parameter `name`).
nw_buffer *nw_new_cache(nw_step *st, const nw_buffer *of, nw_scope scope, int name, const char *suffix);
// Gives the buffer the layout of an EXPRS argument; refuses a layout that may put two elements at the same position.
bool nw_set_layout(nw_step *st, nw_buffer *b, const nw_arg *layout);
bool nw_put_layout(nw_step *st, nw_buffer *b, int n, const nw_expr *const *e);
// to[index] = from[index], as a block named after `to`; `var` are its variables.
nw_stmt *nw_copy_block(nw_step *st, const char *name, const char *to, const nw_buffer *from, int nvars,
                       const nw_block_var *var, int n, const nw_expr *const *index);
const char *nw_unique_origin(nw_step *st, const char *want);
