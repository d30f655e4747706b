// Renders a finding: what is wrong, where, and the two sides of its stage beside each other.
#ifndef PLANPROOF_REPORT_HTML_FINDING_SECTION_H_
#define PLANPROOF_REPORT_HTML_FINDING_SECTION_H_

#include <string>

#include "report/report.h"

namespace planproof::report {

// All findings, the worst first; empty if there are none.
std::string FindingsSection(const Report& report);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_FINDING_SECTION_H_
