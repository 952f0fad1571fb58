// Declares the parts of a check: the shapes, the data for these shapes, and the comparison of results. Private to
// check/.
#pragma once
#include "check/check.h"

// A check interprets only shapes for which the unscheduled (naive) program has at most this number of block executions.
#define NW_CHECK_WORK 300000
#define NW_CHECK_SHAPES 12
#define NW_CHECK_POINTS 1000 // number of checked elements of each output if the shape is too large to interpret

// ---- Shapes (shapes.c)

// Finds values for the symbolic sizes of p. The values satisfy the lower bounds and the facts, are cheap to run, and
// include special cases such as 0 and 1. A row has one value for each size. If there are no symbolic sizes, there is
// one empty row. Stores at most `max` rows on the heap, and returns their number. Returns 0 if no shape is cheap
// enough.
int nw_check_shapes(const nw_program *naive, const nw_program *p, int max, int64_t **row);
int64_t nw_check_value(const nw_program *p, const nw_expr *e, const int64_t *sizes); // e contains only sizes
double nw_check_work(const nw_program *naive, const int64_t *sizes); // number of block executions
char *nw_check_shape_text(const nw_program *p, const int64_t *sizes); // "M=7, N=1"; "as it is" if there are no sizes

// ---- Data (data.c)
typedef struct nw_check_data {
  int n; // number of parameters of the program
  nw_array **array;
} nw_check_data;
// Fills inputs with small integers and outputs with zero. Returns false with a diagnostic if there is not enough
// memory.
bool nw_check_data_make(nw_check_data *d, const nw_program *p, const int64_t *sizes, uint64_t seed);
// Makes new outputs for the same inputs, which are shared.
bool nw_check_data_outputs(nw_check_data *d, const nw_program *p, const nw_check_data *inputs);
void nw_check_data_free(nw_check_data *d);
// Makes the arrays of a call from the data of a check: arguments with a layout get the shape of their layout. Then
// nw_check_unpack converts the outputs of the call back into d. It fails with NW_EMISMATCH if a position that holds no
// element does not have the pad value. Both return false, with a diagnostic, on failure.
bool nw_check_pack(nw_check_data *packed, const nw_program *p, const int64_t *sizes, const nw_check_data *d);
bool nw_check_unpack(nw_check_data *d, const nw_program *p, const int64_t *sizes, const nw_check_data *packed);
nw_view *nw_check_views(const nw_check_data *d); // heap
int nw_check_inputs(const nw_program *p); // number of inputs, which are the first buffers of the program
const char **nw_check_size_names(const nw_program *p); // heap
// Computes the outputs in d from its inputs by evaluating the tensor expressions.
bool nw_check_define(nw_ctx *c, nw_sched *s, const nw_program *p, const int64_t *sizes, const nw_check_data *d);

// ---- Agreement of results (agree.c)
typedef enum nw_check_bound {
  NW_CHECK_BITS,
  NW_CHECK_EXACT,
  NW_CHECK_NEAR,
  // like NW_CHECK_NEAR, but intermediate results are rounded to this dtype, which may have fewer bits than an output
  NW_CHECK_NEAR_F32,
  NW_CHECK_NEAR_F16,
  NW_CHECK_NEAR_BF16
} nw_check_bound;
// Returns how closely a schedule must agree with the definition: NW_CHECK_EXACT if no operation rounds when the inputs
// are the integers of nw_check_data_make, otherwise NW_CHECK_NEAR.
nw_check_bound nw_check_bound_of(const nw_program *naive);
nw_check_bound nw_check_bound_of_sched(const nw_sched *s); // considers the dtypes in which temporaries are stored, too
// Returns the flat index of the first element that differs; -1 if no element differs.
int64_t nw_check_differs(const nw_array *a, const nw_array *b, nw_check_bound bound);
bool nw_check_any_order(const nw_program *p); // true if threads may add to a sum of floats in any order
bool nw_check_value_differs(nw_dtype t, double a, double b, nw_check_bound bound);
int64_t nw_check_flat(const nw_array *a, const int64_t *index); // the index must be in bounds
void nw_check_put_element(nw_str *b, const char *name, int n, const int64_t *at); // writes "C[1, 2]"
char *nw_check_element(const char *name, const nw_array *a, int64_t flat); // "C[1, 2]"; heap
