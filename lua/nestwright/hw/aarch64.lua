--- The record of any 64-bit Arm CPU. It has the features that all such CPUs share, and the costs of a common CPU.
return {
  name = "aarch64",
  extends = "neoverse_n1",
  about = "any Arm processor with 64 bits (ARMv8.0-A); its costs are those of a Neoverse N1",
  cpu = "generic",
  sources = {cpu = "LLVM"},
}
