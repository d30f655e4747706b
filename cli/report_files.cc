#include "cli/report_files.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <set>

#include "report/html/html_report.h"
#include "report/json_report.h"
#include "report/junit_report.h"
#include "report/report.h"
#include "report/sarif_report.h"

namespace planproof::cli {
namespace {

bool Write(const ReportText& report) {
  const auto& [path, text] = report;
  if (path == "-") return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (!written) std::fprintf(stderr, "planproof: cannot write %s\n", path.c_str());
  return written;
}

}  // namespace

void AddReportOptions(CLI::App* command, ReportFiles* files) {
  command->add_option("--json", files->json,
                      "Write the report as JSON to this file (-: standard output)");
  command->add_option("--html", files->html,
                      "Write the report as one page for a browser, which loads nothing else");
  command->add_option("--sarif", files->sarif,
                      "Write the findings for editors and code scanning (SARIF 2.1.0)");
  command->add_option("--junit", files->junit,
                      "Write the report for what reads results of tests (JUnit's XML)");
}

bool Collide(const ReportFiles& files) {
  std::set<std::string> seen;
  for (const std::string* path : {&files.json, &files.html, &files.sarif, &files.junit}) {
    if (path->empty() || seen.insert(*path).second) continue;
    std::fprintf(stderr, "planproof: two reports go to %s: give each a file of its own\n",
                 *path == "-" ? "standard output" : path->c_str());
    return true;
  }
  return false;
}

std::vector<ReportText> ReportTexts(const ReportFiles& files, const stages::Result& result,
                                    const std::vector<std::string>& inputs) {
  std::vector<ReportText> texts;
  if (!files.Any()) return texts;
  const report::Report report = report::Describe(result, inputs);
  if (!files.json.empty()) texts.push_back({files.json, report::JsonReport(report)});
  if (!files.html.empty()) texts.push_back({files.html, report::HtmlReport(report)});
  if (!files.sarif.empty()) texts.push_back({files.sarif, report::SarifReport(report)});
  if (!files.junit.empty()) texts.push_back({files.junit, report::JunitReport(report)});
  return texts;
}

bool WriteReports(const std::vector<ReportText>& reports) {
  bool written = true;
  for (const ReportText& report : reports) written = Write(report) && written;
  return written;
}

}  // namespace planproof::cli
