// Declares functions that take series of samples. Samples that other work disturbed are taken again.
#pragma once
#include "run/run.h"

typedef struct nw_subject { // something that is measured
  int threads; // number of threads of the team; nw_team_prepare must have created them
  double (*once)(void *env); // takes a sample; returns its value, or -1 on failure
  void *env;
  const int *cpu; // the CPU of each thread during a sample; NULL if none is given
} nw_subject;
typedef struct nw_samples {
  double *value; // in the order in which they were taken; heap
  int n;
  int retaken; // number of samples that were disturbed, and taken again
  bool disturbed; // true if more than half of the samples were disturbed, although they were taken again
  double drift; // difference between the greatest and the least median of a batch of samples
} nw_samples;

// Takes at least `count` samples of each subject, in turn (A B A B ...), and more until min_seconds have passed.
// Returns false if a sample fails. All entries of `out` are then empty.
bool nw_take_samples(nw_ctx *c, int n, const nw_subject *subject, int count, double min_seconds, nw_samples *out);
double nw_quantile(const double *sorted, int n, double q); // returns the quantile q, interpolated between neighbours
double *nw_sorted(const double *value, int n); // returns a sorted copy on the heap
bool nw_rates_of(nw_ctx *c, const nw_subject *s, int count, nw_rates *out); // takes `count` samples of a rate
