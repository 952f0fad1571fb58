// Executes instructions for a warp. lanes.c includes this file once for each kind of CPU, with NWG_EXECUTE as the name of
// the function, and NWG_FMA_ALL and NWG_FMA_ALL_D as functions that compute fused multiply-adds of n numbers.
//
// A value is computed for all lanes of a warp, also for those that are not active, whose result is not used. Only
// accesses to memory and divisions depend on the active lanes.

#define EACH for (int l = 0; l < n; l++)
#define VECTORS8 for (int l = 0; l < n / 8; l++)
#define VECTORS16 for (int l = 0; l < n / 16; l++)
#define I(at) ((nwg_v8i *)(w->reg + (at)))
#define U(at) ((nwg_v8u *)(w->reg + (at)))
#define F(at) ((nwg_v16f *)(w->reg + (at)))
#define D(at) ((nwg_v8d *)(w->reg + (at)))
#define WHOLE(id, value)                                                                                               \
  case id:                                                                                                             \
    VECTORS8 U(in->dst)[l] = value;                                                                                    \
    break;
#define TRUTH(id, value)                                                                                               \
  case id:                                                                                                             \
    VECTORS8 I(in->dst)[l] = (nwg_v8i)(value)&1;                                                                       \
    break;
#define REAL(id, value)                                                                                                \
  case id:                                                                                                             \
    VECTORS16 F(in->dst)[l] = value;                                                                                   \
    break;
#define WIDE(id, value)                                                                                                \
  case id:                                                                                                             \
    VECTORS8 D(in->dst)[l] = value;                                                                                    \
    break;
#define TRUTH_F(id, op)                                                                                                \
  case id: EACH NWG_I(w, in->dst)[l] = NWG_F(w, in->a)[l] op NWG_F(w, in->b)[l]; break;

static void NWG_EXECUTE(nwg_worker *w, nwg_code code, uint32_t mask) {
  uint32_t around[NWG_SELECTS], only[NWG_SELECTS];
  int depth = 0;
  const nwg_instr *first = w->k->instr;
  for (int at = code.from; at < code.to; at++) {
    const nwg_instr *in = &first[at];
    int n = NWG_LANES * in->n;
    w->times[at]++;
    switch (in->op) {
      WHOLE(NWG_CONST, (nwg_v8u){0} + (uint64_t)in->i)
    case NWG_CONST_F: EACH NWG_F(w, in->dst)[l] = in->f; break;
    case NWG_CONST_D:
      EACH NWG_D(w, in->dst)[l] = in->d;
      break;
      WHOLE(NWG_COPY, U(in->a)[l])
      WHOLE(NWG_ADD, U(in->a)[l] + U(in->b)[l])
      WHOLE(NWG_SUB, U(in->a)[l] - U(in->b)[l])
      WHOLE(NWG_MUL, U(in->a)[l] * U(in->b)[l])
      WHOLE(NWG_ADD_BY, U(in->a)[l] + (uint64_t)in->i)
      WHOLE(NWG_MUL_BY, U(in->a)[l] * (uint64_t)in->i)
      WHOLE(NWG_SHIFT_BY, U(in->a)[l] << (uint64_t)in->i)
      WHOLE(NWG_NEG, -U(in->a)[l])
      WHOLE(NWG_AND, U(in->a)[l] & U(in->b)[l])
      WHOLE(NWG_OR, U(in->a)[l] | U(in->b)[l])
      WHOLE(NWG_NOT, U(in->a)[l] ^ 1)
      TRUTH(NWG_LT, I(in->a)[l] < I(in->b)[l])
      TRUTH(NWG_LE, I(in->a)[l] <= I(in->b)[l])
      TRUTH(NWG_EQ, I(in->a)[l] == I(in->b)[l])
      TRUTH(NWG_NE, I(in->a)[l] != I(in->b)[l])
    case NWG_MIN: EACH NWG_I(w, in->dst)[l] = nwg_least(NWG_I(w, in->a)[l], NWG_I(w, in->b)[l]); break;
    case NWG_MAX: EACH NWG_I(w, in->dst)[l] = nwg_most(NWG_I(w, in->a)[l], NWG_I(w, in->b)[l]); break;
    case NWG_DIV:
    case NWG_MOD:
    case NWG_DIV_BY:
    case NWG_MOD_BY: divide(w, in, mask); break;
    case NWG_WRAP: EACH NWG_I(w, in->dst)[l] = nw_wrap((nw_dtype)in->i, NWG_I(w, in->a)[l]); break;
    case NWG_SELECT: EACH NWG_I(w, in->dst)[l] = NWG_I(w, in->a)[l] ? NWG_I(w, in->b)[l] : NWG_I(w, in->c)[l]; break;
    case NWG_SELECT_F:
      EACH NWG_F(w, in->dst)[l] = NWG_I(w, in->a)[l] ? NWG_F(w, in->b)[l] : NWG_F(w, in->c)[l];
      break;
      REAL(NWG_ADD_F, F(in->a)[l] + F(in->b)[l])
      REAL(NWG_SUB_F, F(in->a)[l] - F(in->b)[l])
      REAL(NWG_MUL_F, F(in->a)[l] * F(in->b)[l])
      REAL(NWG_DIV_F, F(in->a)[l] / F(in->b)[l])
      REAL(NWG_NEG_F, -F(in->a)[l])
      WIDE(NWG_ADD_D, D(in->a)[l] + D(in->b)[l])
      WIDE(NWG_SUB_D, D(in->a)[l] - D(in->b)[l])
      WIDE(NWG_MUL_D, D(in->a)[l] * D(in->b)[l])
      WIDE(NWG_DIV_D, D(in->a)[l] / D(in->b)[l])
      WIDE(NWG_NEG_D, -D(in->a)[l])
    case NWG_FMA_F: NWG_FMA_ALL(n, NWG_F(w, in->dst), NWG_F(w, in->a), NWG_F(w, in->b), NWG_F(w, in->c)); break;
    case NWG_FMA_D:
      NWG_FMA_ALL_D(n, NWG_D(w, in->dst), NWG_D(w, in->a), NWG_D(w, in->b), NWG_D(w, in->c));
      break;
      TRUTH_F(NWG_LT_F, <)
      TRUTH_F(NWG_LE_F, <=)
      TRUTH_F(NWG_EQ_F, ==)
      TRUTH(NWG_LT_D, D(in->a)[l] < D(in->b)[l])
      TRUTH(NWG_LE_D, D(in->a)[l] <= D(in->b)[l])
      TRUTH(NWG_EQ_D, D(in->a)[l] == D(in->b)[l])
    case NWG_WIDEN: EACH NWG_D(w, in->dst)[l] = NWG_F(w, in->a)[l]; break;
    case NWG_RAMP:
      for (int e = 0; e < in->n; e++)
        for (int l = 0; l < 4; l++) U(in->dst)[4 * e + l] = U(in->a)[l] + U(in->b)[l] * (uint64_t)e;
      break;
    case NWG_SPREAD:
      for (int e = 0; e < in->n; e++)
        for (int l = 0; l < 4; l++) U(in->dst)[4 * e + l] = U(in->a)[l];
      break;
    case NWG_SPREAD_F:
      for (int e = 0; e < in->n; e++)
        for (int l = 0; l < 2; l++) F(in->dst)[2 * e + l] = F(in->a)[l];
      break;
    case NWG_CALL: call(w, in, mask); break;
    case NWG_LOAD: nwg_load(w, in, mask); break;
    case NWG_ONLY:
      around[depth] = mask;
      mask &= lanes_of(NWG_I(w, in->a));
      only[depth++] = mask;
      if (!mask) at = (int)in->i - 1;
      break;
    case NWG_OTHERS:
      mask = around[depth - 1] & ~only[depth - 1];
      if (!mask) at = (int)in->i - 1;
      break;
    case NWG_ALL: mask = around[--depth]; break;
    }
  }
}

#undef EACH
#undef VECTORS8
#undef VECTORS16
#undef I
#undef U
#undef F
#undef D
#undef WHOLE
#undef TRUTH
#undef REAL
#undef WIDE
#undef TRUTH_F
