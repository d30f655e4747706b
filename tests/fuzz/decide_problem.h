// What happens to a problem after it was read, for fuzz targets: checks, claims, a first attempt at
// deciding them.
#ifndef PLANPROOF_TESTS_FUZZ_DECIDE_PROBLEM_H_
#define PLANPROOF_TESTS_FUZZ_DECIDE_PROBLEM_H_

#include "lineage/lineage.h"

namespace planproof::fuzz {

// Runs the checks that come before a verdict and decides the first few claims in this process with
// a small work limit. Aborts if the raw form does not give back a problem that passed the checks.
void DecideProblem(const lineage::Problem& problem);

}  // namespace planproof::fuzz

#endif  // PLANPROOF_TESTS_FUZZ_DECIDE_PROBLEM_H_
