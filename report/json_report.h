// The report that machines read. Its keys are documented in docs/report.md and only ever added to.
#ifndef PLANPROOF_REPORT_JSON_REPORT_H_
#define PLANPROOF_REPORT_JSON_REPORT_H_

#include <string>
#include <vector>

#include "stages/result.h"

namespace planproof::report {

// One JSON object, indented, ending with a newline. `files` are the inputs as the user named them.
std::string JsonReport(const stages::Result& result, const std::vector<std::string>& files);

// Version of the program, "0.1.0".
const char* Version();

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_JSON_REPORT_H_
