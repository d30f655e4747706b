// Escapes text in HTML and XML. It comes from untrusted files: nothing in it is markup.
#ifndef PLANPROOF_REPORT_MARKUP_H_
#define PLANPROOF_REPORT_MARKUP_H_

#include <string>
#include <string_view>

namespace planproof::report {

// For the content of an element and for a quoted attribute, of HTML and of XML 1.0: the five
// characters of markup become references; bytes that are no UTF-8, and characters that XML does not
// have, become U+FFFD.
std::string MarkupText(std::string_view text);

// JSON, in UTF-8, for the content of a <script>: it cannot end the element, nor open a comment.
std::string JsonInScript(std::string_view json);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_MARKUP_H_
