--- Prints the CPU type for which OpenBLAS chose its kernels.
package.cpath = "build/bench/?.so;" .. package.cpath
print(require "peers".corename())
