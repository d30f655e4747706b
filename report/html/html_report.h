// Renders the report as one page: verdict, findings, map, stages, what the verdict rests on, times.
// It needs no network and nothing beside it; what is in it without its script can be read without,
// too.
#ifndef PLANPROOF_REPORT_HTML_HTML_REPORT_H_
#define PLANPROOF_REPORT_HTML_HTML_REPORT_H_

#include <string>

#include "report/report.h"

namespace planproof::report {

// UTF-8. Nothing in the report's texts is markup or script in the page, and the page's policy
// (Content-Security-Policy) lets no other script than its own run and nothing be loaded.
std::string HtmlReport(const Report& report);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_HTML_REPORT_H_
