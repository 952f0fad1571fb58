// Counts the elements that Halide computes of a stage X in a sliding window. The stencils are those of
// tests/legal/stencils.lua, with the same names and extents. X is stored at the root and computed at a loop of Y, so
// Halide keeps the elements that the last iteration computed. Prints a line for each stencil: the count, a tab, the name.
#include <Halide.h>
#include <cstdio>
#include <functional>
#include <vector>
using namespace Halide;

static long stores;

static int count_store(JITUserContext *, const halide_trace_event_t *e) {
  if (e->event == halide_trace_store) stores += e->type.lanes;
  return 0;
}

static Var i("i"), j("j"), x("x"), y("y"), outer("outer"), inner("inner");

// The outer of two loops is `y`: the arguments of a Func are listed from the inner to the outer loop.
static Func stage(int dims) {
  Func X("X");
  if (dims == 1) {
    X(x) = x * 3;
  } else {
    X(x, y) = x * 3 + y;
  }
  return X;
}

static void run(const char *name, Func &Y, const std::vector<int> &extents) {
  stores = 0;
  Y.jit_handlers().custom_trace = count_store;
  Y.realize(extents);
  printf("%ld\t%s\n", stores, name);
}

// `prepare` changes the loops of Y and returns the loop at which X is computed.
using prepare_fn = std::function<Var(Func &)>;
static prepare_fn at(const Var &v) {
  return [v](Func &) { return v; };
}

// Of the ways to split, RoundUp lets Halide keep the most elements, but it needs a factor that divides the extent.
static prepare_fn strips(int factor, const Var &v) {
  return [factor, v](Func &Y) {
    Y.split(v, outer, inner, factor, 12 % factor ? TailStrategy::Auto : TailStrategy::RoundUp);
    return inner;
  };
}

static void row(const char *name, int extent, const prepare_fn &prepare, const std::function<Expr(Func &)> &body) {
  Func X = stage(1), Y("Y");
  Y(i) = body(X);
  X.store_root().compute_at(Y, prepare(Y)).trace_stores();
  run(name, Y, {extent});
}

static void grid(const char *name, int rows, int columns, const prepare_fn &prepare,
                 const std::function<Expr(Func &)> &body) {
  Func X = stage(2), Y("Y");
  Y(j, i) = body(X);
  X.store_root().compute_at(Y, prepare(Y)).trace_stores();
  run(name, Y, {columns, rows});
}

// X(r, c) in the order of the Lua text: the row first.
static Expr three_rows(Func &X, const Expr &r) { return X(j, r) + X(j, r + 1) * 2 + X(j, r + 2); }

static Expr square(Func &X) {
  return X(j, i) + X(j + 1, i) + X(j + 2, i) + X(j, i + 1) + X(j + 2, i + 1) + X(j, i + 2) + X(j + 2, i + 2);
}

static void two_windows(const char *name) {
  Func P("P"), Q("Q"), R("R");
  P(i) = i + 1;
  Q(i) = P(i) + P(i + 2);
  R(i) = Q(i) + Q(i + 2);
  P.store_root().compute_at(R, i).trace_stores();
  Q.store_root().compute_at(R, i).trace_stores();
  run(name, R, {16});
}

int main() {
  auto rows = [](Func &X) { return three_rows(X, i); };
  grid("three rows", 12, 5, at(i), rows);
  grid("three rows, over the outer of two loops", 12, 5, at(j), rows);
  grid("two rows of 11, over the outer of two loops", 10, 11, at(j), [](Func &X) { return X(j, i) + X(j, i + 1); });
  grid("3 x 3 elements, along both loops", 8, 7, at(j), square);
  grid("3 x 3 elements, along rows", 8, 7, at(i), square);
  grid("3 x 3 elements, along columns and rows", 8, 7, at(j),
       [](Func &X) { return X(i, j) + X(i + 2, j + 1) + X(i + 1, j + 2); });
  row("three elements", 12, at(i), [](Func &X) { return X(i) + X(i + 1) + X(i + 2); });
  row("three elements, downwards", 12, at(i), [](Func &X) { return X(11 - i) + X(12 - i) + X(13 - i); });
  grid("three rows, downwards", 12, 5, at(i), [](Func &X) { return three_rows(X, 11 - i); });
  row("three elements in steps of two", 10, at(i), [](Func &X) { return X(2 * i) + X(2 * i + 1) + X(2 * i + 2); });
  row("five elements in steps of three", 10, at(i), [](Func &X) { return X(3 * i) + X(3 * i + 4); });
  row("four elements in steps of three, downwards", 10, at(i), [](Func &X) { return X(27 - 3 * i) + X(30 - 3 * i); });
  row("at least element 3", 10, at(i), [](Func &X) { return X(max(i, 3)); });
  row("at most element 5", 10, at(i), [](Func &X) { return X(min(i, 5)); });
  row("between elements 2 and 7", 10, at(i), [](Func &X) { return X(clamp(i, 2, 7)); });
  row("a third of the index", 100, at(i), [](Func &X) { return X(i / 3); });
  row("half of the index and the next element", 10, at(i), [](Func &X) { return X(i / 2) + X(i / 2 + 1); });
  row("a window at the edge", 12, at(i), [](Func &X) { return X(max(i - 1, 0)) + X(i) + X(min(i + 1, 11)); });
  for (int factor : {3, 4, 5, 12}) {
    char name[64];
    snprintf(name, sizeof name, "strips of %d rows", factor);
    grid(name, 12, 5, strips(factor, i), rows);
  }
  grid("a loop of one iteration inside", 12, 5, strips(1, i), rows);
  grid("a loop of one iteration outside", 12, 5, strips(12, i), rows);
  two_windows("two windows, one after the other");
}
