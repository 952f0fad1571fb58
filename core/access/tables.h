// Temporaries whose contents follow from the sizes alone, such as the indices that cache_index computes. An address that
// is read from such a temporary is known without data.
//
// If each element has the same value at every time, the table is filled before the walk. Otherwise, as when the
// temporary holds the indices of one tile after the other, each store to it also stores into the table during the walk.
#pragma once
#include "access/ready.h"

// Fills the tables of the temporaries that e reads, and adds them to the names of the walker. Returns false if the
// contents of one of them are not known.
bool nw_tables_of(nw_walker *w, const nw_expr *e);
void nw_tables_keep(nw_walker *w); // finds the stores that change tables, in a program that is otherwise prepared
void nw_table_store(const nw_keep *k, const int64_t *slot); // stores what a statement stores into its table
