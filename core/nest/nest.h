// Represents a loop nest without its program. The nest is made from a text, or it is a copy of a program's nest.
#pragma once
#include "nest/nest_text.h"

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL if the nest is made from a program and its text is not made yet
  bool given[NW_TEXT_PARAMS]; // true for each parameter whose value replaces the one in the text
  int64_t value[NW_TEXT_PARAMS]; // the values that replace those in the text
  nw_affine_nest *nest;
};
