// Results to report on.
#ifndef PLANPROOF_TESTS_REPORT_RESULTS_H_
#define PLANPROOF_TESTS_REPORT_RESULTS_H_

#include <string>

#include "stages/result.h"

namespace planproof::report {

// The result of a plan file of the repository, with its account.
stages::Result ResultOfFile(const std::string& path);
// Of a plan in plan format.
stages::Result ResultOfText(const std::string& json);

// A plan with a missing sum over two ranks in which names are what the function makes of "x", "w",
// "part" and "y".
std::string PlanWithNames(const std::string& x, const std::string& w, const std::string& part,
                          const std::string& y);

}  // namespace planproof::report

#endif  // PLANPROOF_TESTS_REPORT_RESULTS_H_
