#include "planproof/report.h"

#include "report/html/html_report.h"
#include "report/json_report.h"
#include "report/junit_report.h"
#include "report/report.h"
#include "report/sarif_report.h"
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

std::string HtmlReport(const Result& result, const std::vector<std::string>& files) {
  return report::HtmlReport(report::Describe(result.wrapped(), files));
}

std::string SarifReport(const Result& result, const std::vector<std::string>& files) {
  return report::SarifReport(report::Describe(result.wrapped(), files));
}

std::string JunitReport(const Result& result, const std::vector<std::string>& files) {
  return report::JunitReport(report::Describe(result.wrapped(), files));
}

const char* Version() { return report::Version(); }

}  // namespace planproof
