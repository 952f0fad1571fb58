--- The files of cases, in the order of running.
return {"storage", "lanes", "arith", "ops", "reductions", "calls", "texts", "export", "legal", "faults"}
