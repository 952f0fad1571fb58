// Declares instruction sets and their features. Generated code, costs and math functions depend on these features.
#pragma once
#include "base/base.h"

// NW_ISA(id, name, features, doc)   features: the macro that lists the features of the instruction set
#define NW_ISAS(NW_ISA)                                                                                                \
  NW_ISA(X86_64, "x86_64", NW_X86_64_FEATURES, "x86 with 64 bits")                                                     \
  NW_ISA(AARCH64, "aarch64", NW_AARCH64_FEATURES, "Arm with 64 bits")

//   NW_FEATURE(id, name, bytes, doc)   name: LLVM's name of the feature; bytes: size of its widest vectors
#define NW_X86_64_FEATURES(NW_FEATURE)                                                                                 \
  NW_FEATURE(SSE4_2, "sse4.2", 16, "vectors of 16 bytes")                                                              \
  NW_FEATURE(AVX, "avx", 32, "vectors of 32 bytes, for floats")                                                        \
  NW_FEATURE(AVX2, "avx2", 32, "vectors of 32 bytes for integers, and gathers")                                        \
  NW_FEATURE(FMA, "fma", 32, "fused multiply-add")                                                                     \
  NW_FEATURE(F16C, "f16c", 32, "conversions of f16")                                                                   \
  NW_FEATURE(AVX512F, "avx512f", 64, "vectors of 64 bytes, and masks")                                                 \
  NW_FEATURE(AVX512VL, "avx512vl", 64, "masks for shorter vectors")                                                    \
  NW_FEATURE(AVX512BW, "avx512bw", 64, "vectors of 64 bytes for small integers")                                       \
  NW_FEATURE(AVX512DQ, "avx512dq", 64, "multiplications and conversions of 64-bit integers")
#define NW_AARCH64_FEATURES(NW_FEATURE) NW_FEATURE(NEON, "neon", 16, "vectors of 16 bytes")
#define NW_FEATURES(NW_FEATURE) NW_X86_64_FEATURES(NW_FEATURE) NW_AARCH64_FEATURES(NW_FEATURE)

typedef enum nw_isa {
#define NW_ISA(id, name, features, doc) NW_ISA_##id,
  NW_ISAS(NW_ISA)
#undef NW_ISA
      NW_ISA_COUNT
} nw_isa;

enum {
#define NW_FEATURE(id, name, bytes, doc) NW_FEATURE_BIT_##id,
  NW_FEATURES(NW_FEATURE)
#undef NW_FEATURE
      NW_FEATURE_COUNT
};

typedef unsigned nw_features; // a set of features
enum {
#define NW_FEATURE(id, name, bytes, doc) NW_FEATURE_##id = 1u << NW_FEATURE_BIT_##id,
  NW_FEATURES(NW_FEATURE)
#undef NW_FEATURE
};

typedef struct nw_feature_row {
  const char *name, *doc;
  int bytes;
  nw_isa isa;
} nw_feature_row;

NW_API const char *nw_isa_name(nw_isa isa);
NW_API const nw_feature_row *nw_feature_at(int bit);
static inline bool nw_has(nw_features have, nw_features wanted) { return (wanted & ~have) == 0; }
nw_features nw_features_of(nw_isa isa, int64_t vector_bytes); // the features of `isa` with vectors of at most this size
NW_API int nw_features_vector_bytes(nw_features f); // bytes of the widest vector of floats
