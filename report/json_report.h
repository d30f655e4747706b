// Writes and reads the report for machines. Its keys are documented in docs/report.md and only ever
// added to.
#ifndef PLANPROOF_REPORT_JSON_REPORT_H_
#define PLANPROOF_REPORT_JSON_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "report/report.h"

namespace planproof::report {

// One JSON object, ending with a newline: indented, but for long lists, which have one element a
// line.
std::string JsonReport(const Report& report);
// `files` are the inputs as the user named them.
std::string JsonReport(const stages::Result& result, const std::vector<std::string>& files);

// Reads what JsonReport writes; keys that it does not know are left out, and those that are missing
// have no content. The text is not trusted: InvalidArgument, in one line, names the member that is
// wrong or says that this is no report.
absl::StatusOr<Report> ReadJsonReport(const std::string& text);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_JSON_REPORT_H_
