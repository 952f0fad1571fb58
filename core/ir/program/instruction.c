// Holds the table of the instructions of a warp (PTX ISA 8.0, mma and ldmatrix).
#include "ir/program/instruction.h"
#include <string.h>

#define MMA(shape, columns, d, t, of, cc, tf32, doc)                                                                   \
  {                                                                                                                    \
    "mma." shape "." t, doc, of, 16, columns, d, 0, false, tf32, cc,                                                   \
        "mma.sync.aligned." shape ".row.col.f32." t "." t ".f32"                                                       \
  }
#define LDMATRIX(t, of, n, rows, columns, trans, cc, doc)                                                              \
  {                                                                                                                    \
    "ldmatrix.x" #n trans "." t, doc, of, rows, columns, 0, n, sizeof trans > 1, false, cc,                            \
        "ldmatrix.sync.aligned.m8n8.x" #n trans ".shared.b16"                                                          \
  }
#define LOADS(t, of, cc)                                                                                               \
  LDMATRIX(t, of, 4, 16, 16, "", cc, "D(i, k) = S(i, k): a tile of 16 rows of A"),                                     \
      LDMATRIX(t, of, 2, 16, 8, ".trans", cc, "D(k, j) = S(k, j): a tile of 16 rows of B"),                            \
      LDMATRIX(t, of, 2, 8, 16, "", cc, "D(k, j) = S(j, k): a tile of 8 rows of B transposed")

static const nw_instruction rows[] = {
    MMA("m16n8k8", 8, 8, "f16", NW_F16, 75, false, "C(i, j) += sum(f32(A(i, k))*f32(B(k, j)), k), with f16 factors"),
    MMA("m16n8k16", 8, 16, "f16", NW_F16, 80, false, "C(i, j) += sum(f32(A(i, k))*f32(B(k, j)), k), with f16 factors"),
    MMA("m16n8k8", 8, 8, "bf16", NW_BF16, 80, false, "C(i, j) += sum(f32(A(i, k))*f32(B(k, j)), k), with bf16 factors"),
    MMA("m16n8k16", 8, 16, "bf16", NW_BF16, 80, false,
        "C(i, j) += sum(f32(A(i, k))*f32(B(k, j)), k), with bf16 factors"),
    MMA("m16n8k8", 8, 8, "tf32", NW_F32, 80, true,
        "C(i, j) += sum(tf32(A(i, k))*tf32(B(k, j)), k), with f32 factors that are rounded to 10 bits after the point"),
    LOADS("f16", NW_F16, 75),
    LOADS("bf16", NW_BF16, 75),
};

int nw_instruction_count(void) { return (int)(sizeof rows / sizeof *rows); }

const nw_instruction *nw_instruction_at(int i) { return i >= 0 && i < nw_instruction_count() ? &rows[i] : NULL; }

void nw_instruction_row_of(const nw_instruction *in, int lane, int *row, int *column) {
  int matrix = lane / 8 % in->matrices, down = in->rows / 8;
  *row = lane % 8 + 8 * (matrix % down);
  *column = 8 * (matrix / down);
}

const nw_instruction *nw_instruction_find(const char *name) {
  for (int i = 0; name && i < nw_instruction_count(); i++)
    if (!strcmp(rows[i].name, name)) return &rows[i];
  return NULL;
}
