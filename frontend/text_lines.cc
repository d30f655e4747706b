#include "frontend/text_lines.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/load_problem.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend {

absl::Status At(const std::string& place, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(place, ": ", std::string(status.message())));
}

absl::Status ReadTextLines(const std::string& path, int64_t max_bytes,
                           const std::function<absl::Status(const TextLine&)>& add) {
  PLAN_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, max_bytes));
  int64_t number = 0;
  for (const absl::string_view content : absl::StrSplit(text, '\n')) {
    ++number;
    TextLine line{absl::StrSplit(content, absl::ByAnyChar(" \t\r"), absl::SkipWhitespace()), {}};
    if (line.words.empty() || line.words[0][0] == '#') continue;
    uint32_t last = 0;
    while (line.words.size() > 1 && absl::SimpleAtoi(line.words.back(), &last)) {
      line.numbers.push_back(last);
      line.words.pop_back();
    }
    std::reverse(line.numbers.begin(), line.numbers.end());
    if (const absl::Status status = add(line); !status.ok()) {
      return At(absl::StrCat(path, ":", number), status);
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend
