#include "planproof/report.h"

#include "report/json_report.h"
#include "report/text_report.h"

namespace planproof {

std::string TextReport(const Result& result, const TextOptions& options) {
  report::TextOptions internal;
  internal.color = options.color;
  internal.verbose = options.verbose;
  return report::TextReport(result.wrapped(), internal);
}

std::string JsonReport(const Result& result, const std::vector<std::string>& files) {
  return report::JsonReport(result.wrapped(), files);
}

const char* Version() { return report::Version(); }

}  // namespace planproof
