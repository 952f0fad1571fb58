// Holds the table of the features of instruction sets.
#include "hw/features.h"

static const nw_feature_row rows[] = {
#define NW_FEATURE(id, name, bytes, doc) {name, doc, bytes, NW_ISA_X86_64},
    NW_X86_64_FEATURES(NW_FEATURE)
#undef NW_FEATURE
#define NW_FEATURE(id, name, bytes, doc) {name, doc, bytes, NW_ISA_AARCH64},
        NW_AARCH64_FEATURES(NW_FEATURE)
#undef NW_FEATURE
};

const char *nw_isa_name(nw_isa isa) {
  static const char *const names[] = {
#define NW_ISA(id, name, features, doc) name,
      NW_ISAS(NW_ISA)
#undef NW_ISA
  };
  return names[isa];
}

const nw_feature_row *nw_feature_at(int bit) { return bit >= 0 && bit < NW_COUNT(rows) ? &rows[bit] : NULL; }

nw_features nw_features_of(nw_isa isa, int64_t vector_bytes) {
  nw_features all = 0;
  for (int i = 0; i < NW_COUNT(rows); i++)
    if (rows[i].isa == isa && rows[i].bytes <= vector_bytes) all |= 1u << i;
  return all;
}

int nw_features_vector_bytes(nw_features f) {
  return nw_has(f, NW_FEATURE_AVX512F) ? 64 : nw_has(f, NW_FEATURE_AVX) ? 32 : 16;
}
