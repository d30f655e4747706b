// Formats a result to be read.
#ifndef PLANPROOF_PLANPROOF_REPORT_H_
#define PLANPROOF_PLANPROOF_REPORT_H_

#include <string>
#include <vector>

#include "planproof/result.h"

namespace planproof {

struct TextOptions {
  bool color = false;    // the verdict in colour, for a terminal
  bool verbose = false;  // counterexamples in full
};

// For people; the first line is the verdict, and what is wrong. Ends with a newline.
std::string TextReport(const Result& result, const TextOptions& options = {});

// For machines: one JSON object (docs/report.md). `files`: the inputs as the user named them.
std::string JsonReport(const Result& result, const std::vector<std::string>& files);

// The same as one page for a browser; for editors and code scanning (SARIF 2.1.0); for what reads
// results of tests (JUnit's XML).
std::string HtmlReport(const Result& result, const std::vector<std::string>& files);
std::string SarifReport(const Result& result, const std::vector<std::string>& files);
std::string JunitReport(const Result& result, const std::vector<std::string>& files);

// "0.1.0".
const char* Version();

}  // namespace planproof

#endif  // PLANPROOF_PLANPROOF_REPORT_H_
