// Executes the instructions of a warp. The formulas are those of the PTX ISA, sections "Matrix Fragments for mma.m16n8k8"
// and "... m16n8k16", and "ldmatrix". There, a group is four consecutive lanes.
#include "interp/instruction.h"
#include "interp/node.h"
#include <math.h>

typedef struct place {
  int row, column;
} place;

// Returns the place in A of element i of a lane. Two factors of 16 bits are in one register; a factor of tf32 has its own.
static place of_a(const nw_instruction *in, int lane, int i) {
  int group = lane / 4, within = lane % 4;
  if (in->tf32) return (place){group + 8 * (i % 2), within + 4 * (i / 2)};
  return (place){group + 8 * (i / 2 % 2), 2 * within + i % 2 + 8 * (i / 4)};
}

static place of_b(const nw_instruction *in, int lane, int i) {
  int group = lane / 4, within = lane % 4;
  if (in->tf32) return (place){within + 4 * i, group};
  return (place){2 * within + i % 2 + 8 * (i / 2), group};
}

static place of_c(int lane, int i) { return (place){lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2}; }

// Rounds to the 10 bits after the point of tf32. If two numbers are equally near, the one with the greater magnitude is
// chosen.
static float to_tf32(float x) {
  uint32_t bits;
  if (isnan(x)) return x;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000) & 0xffffe000;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float factor(const nw_instruction *in, const void *all, int at) {
  nwi_cell v = {0};
  nwi_read(in->dtype, all, at, &v);
  return in->tf32 ? to_tf32(v.f) : v.f;
}

void nwi_product(const nw_instruction *in, const void *a, const void *b, float *c) {
  float A[16][16], B[16][8];
  int na = in->rows * in->depth / NW_FRAGMENT_LANES, nb = in->depth * in->columns / NW_FRAGMENT_LANES;
  for (int lane = 0; lane < NW_FRAGMENT_LANES; lane++) {
    for (int i = 0; i < na; i++) {
      place at = of_a(in, lane, i);
      A[at.row][at.column] = factor(in, a, lane * na + i);
    }
    for (int i = 0; i < nb; i++) {
      place at = of_b(in, lane, i);
      B[at.row][at.column] = factor(in, b, lane * nb + i);
    }
  }
  for (int lane = 0; lane < NW_FRAGMENT_LANES; lane++)
    for (int i = 0; i < 4; i++) {
      place at = of_c(lane, i);
      for (int k = 0; k < in->depth; k++) c[lane * 4 + i] = fmaf(A[at.row][k], B[k][at.column], c[lane * 4 + i]);
    }
}

// Lane l gets the elements 2*(l % 4) and 2*(l % 4) + 1 of row l / 4 of each matrix.
void nwi_load_matrices(const nw_instruction *in, const void *const *rows, void *to) {
  uint16_t *out = to;
  for (int lane = 0; lane < NW_FRAGMENT_LANES; lane++)
    for (int m = 0; m < in->matrices; m++)
      for (int i = 0; i < 2; i++) {
        int row = lane / 4, column = 2 * (lane % 4) + i;
        const uint16_t *from = rows[8 * m + (in->transposed ? column : row)];
        out[(lane * in->matrices + m) * 2 + i] = from[in->transposed ? row : column];
      }
}
