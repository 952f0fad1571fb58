// Declares a set of numbers, which are flat indices of elements or hashes of contributions. Private to check/.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef struct nw_numbers { // empty if all fields are zero
  int n, cap;
  uint64_t *slot; // number + 1; 0 in an empty slot
} nw_numbers;

// Returns false if the number was already in the set. UINT64_MAX and 0 count as the same number.
bool nw_numbers_add(nw_numbers *s, uint64_t number);
bool nw_numbers_has(const nw_numbers *s, uint64_t number);
void nw_numbers_free(nw_numbers *s); // the set is empty afterwards
