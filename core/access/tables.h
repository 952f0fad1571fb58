// Temporaries whose contents follow from the sizes alone, such as the indices that cache_index computes. An address that
// is read from such a temporary is known without data.
#pragma once
#include "access/ready.h"

// Fills the tables of the temporaries that e reads, and adds them to the names of the walker. Returns false if the
// contents of one of them are not known.
bool nw_tables_of(nw_walker *w, const nw_expr *e);
