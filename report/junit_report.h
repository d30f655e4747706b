// Writes the report for programs that read results of tests: JUnit's XML, as Jenkins and GitLab
// read it.
#ifndef PLANPROOF_REPORT_JUNIT_REPORT_H_
#define PLANPROOF_REPORT_JUNIT_REPORT_H_

#include <string>

#include "report/report.h"

namespace planproof::report {

// One suite. A test case per required output, and one per finding: a <failure> if it is REFUTED or
// MALFORMED, an <error> if it is UNKNOWN, which thus never passes. A required output that is not
// shown in a plan that is refuted elsewhere is <skipped>: it is the fault that fails.
std::string JunitReport(const Report& report);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_JUNIT_REPORT_H_
