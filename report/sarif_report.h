// Writes the report for editors and code scanning: SARIF 2.1.0 (OASIS, "Static Analysis Results
// Interchange Format").
#ifndef PLANPROOF_REPORT_SARIF_REPORT_H_
#define PLANPROOF_REPORT_SARIF_REPORT_H_

#include <string>

#include "report/report.h"

namespace planproof::report {

// One run with a result per finding and a rule per kind of finding; none for a plan that is PROVED.
// A result stands where the plan is to be mended: at the first operator of the plan whose place is
// known, else at the model's operator, else at the plan's file; the other places are related.
std::string SarifReport(const Report& report);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_SARIF_REPORT_H_
