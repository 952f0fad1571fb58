--- What OpenBLAS takes this processor for.
package.cpath = "build/bench/?.so;" .. package.cpath
print(require "peers".corename())
