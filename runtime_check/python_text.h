// Writes text of plans into Python source. Plans are not trusted: none of it may become code.
#ifndef PLANPROOF_RUNTIME_CHECK_PYTHON_TEXT_H_
#define PLANPROOF_RUNTIME_CHECK_PYTHON_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "sdfg/types.h"

namespace planproof::runtime_check {

// Letters and digits of a name, underscores for all else.
std::string PythonName(const std::string& prefix, const std::string& name);
// As one line of a comment or of text without quotes: printable ASCII.
std::string PythonComment(const std::string& text, size_t most = 160);
// A double that reads back as the same: "0.1", "np.nan".
std::string PythonNumber(double value);
std::string PythonTuple(const sdfg::Shape& values);

// A name for an index variable, without letters that are like digits.
std::string IndexLetter(size_t position);
// "i, j = np.ogrid[:2, :3]": index variables as axes of broadcasting.
std::string NumpyGrid(const std::vector<std::string>& letters, const sdfg::Shape& extents);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_PYTHON_TEXT_H_
