// Text of plans in Python source. Plans are not trusted: none of it may become code.
#ifndef PLANPROOF_RUNTIME_CHECK_PYTHON_TEXT_H_
#define PLANPROOF_RUNTIME_CHECK_PYTHON_TEXT_H_

#include <cstddef>
#include <string>

namespace planproof::runtime_check {

// Letters and digits of a name, underscores for all else.
std::string PythonName(const std::string& prefix, const std::string& name);
// As one line of a comment or of text without quotes: printable ASCII.
std::string PythonComment(const std::string& text, size_t most = 160);
// A double that reads back as the same: "0.1", "np.nan".
std::string PythonNumber(double value);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_PYTHON_TEXT_H_
