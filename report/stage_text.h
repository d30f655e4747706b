// Formats what a report says about one stage, for a terminal.
#ifndef PLANPROOF_REPORT_STAGE_TEXT_H_
#define PLANPROOF_REPORT_STAGE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "report/report.h"
#include "report/text_report.h"

namespace planproof::report {

// The findings about the stage as the text report has them, then what became of its claims. `stage`
// is the name of a tensor of the model, or of what is required. NotFound, with the names that come
// near, if the report knows none such.
absl::StatusOr<std::string> StageText(const Report& report, const std::string& stage,
                                      const TextOptions& options = {});

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_STAGE_TEXT_H_
