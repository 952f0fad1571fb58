--- The names of the files with cases, in the order in which they run.
return {"storage", "lanes", "arith", "ops", "reductions", "reducers", "updates", "calls", "strides", "texts", "export", "legal",
  "faults"}
