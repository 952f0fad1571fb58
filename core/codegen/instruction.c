// Writes the instructions of a warp as PTX. Two elements of 16 bits are packed in one register, the first one in its low
// half. The factors of tf32 are rounded first, since the instruction ignores the other bits.
#include "codegen/instruction.h"

// Appends "{p0, p1, ...}".
static void list(nw_str *out, const char *name, int n) {
  nw_str_add(out, "{");
  for (int i = 0; i < n; i++) nw_str_fmt(out, "%s%s%d", i ? ", " : "", name, i);
  nw_str_add(out, "}");
}

// Declares the registers of a factor, and fills them from the operands from number `first` on. Returns their number.
static int factor(const nw_intrinsic *in, char mark, int arg, const char *name, int first, nw_str *out) {
  int n = in->arg[arg].fragment.n, words = in->instruction->tf32 ? n : n / 2;
  nw_str_fmt(out, ".reg .b32 %s<%d>; ", name, words);
  for (int i = 0; i < words; i++) {
    if (in->instruction->tf32)
      nw_str_fmt(out, "cvt.rna.tf32.f32 %s%d, %c%d; ", name, i, mark, first + i);
    else
      nw_str_fmt(out, "mov.b32 %s%d, {%c%d, %c%d}; ", name, i, mark, first + 2 * i, mark, first + 2 * i + 1);
  }
  return words;
}

static void product(const nw_intrinsic *in, char mark, nw_str *out) {
  char sum[4] = {mark};
  int c = in->arg[2].fragment.n;
  int a = factor(in, mark, 0, "nwa", c, out), b = factor(in, mark, 1, "nwb", c + in->arg[0].fragment.n, out);
  nw_str_fmt(out, "%s ", in->instruction->ptx);
  list(out, sum, c);
  nw_str_add(out, ", ");
  list(out, "nwa", a);
  nw_str_add(out, ", ");
  list(out, "nwb", b);
  nw_str_add(out, ", ");
  list(out, sum, c);
  nw_str_add(out, "; ");
}

static void load(const nw_intrinsic *in, char mark, nw_str *out) {
  int n = in->instruction->matrices;
  nw_str_fmt(out, ".reg .b32 nwd<%d>; %s ", n, in->instruction->ptx);
  list(out, "nwd", n);
  nw_str_fmt(out, ", [%c%d]; ", mark, 2 * n);
  for (int i = 0; i < n; i++) nw_str_fmt(out, "mov.b32 {%c%d, %c%d}, nwd%d; ", mark, 2 * i, mark, 2 * i + 1, i);
}

void nw_instruction_ptx(const nw_intrinsic *in, char mark, nw_str *out) {
  nw_str_add(out, "{ ");
  if (in->instruction->depth)
    product(in, mark, out);
  else
    load(in, mark, out);
  nw_str_add(out, "}");
}
