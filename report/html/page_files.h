// Holds style and script of the page, compiled in as text (cmake/EmbedPage.cmake).
#ifndef PLANPROOF_REPORT_HTML_PAGE_FILES_H_
#define PLANPROOF_REPORT_HTML_PAGE_FILES_H_

namespace planproof::report {

const char* PageStyle();
const char* PageScript();
const char* PageScriptHash();  // "sha256-...", for the page's policy

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_PAGE_FILES_H_
