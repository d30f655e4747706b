#include "frontend/plan/remedies.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "frontend/plan/relation.h"
#include "sdfg/declaration_ast.h"

namespace planproof::plan {
namespace {

std::string Letters(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-') letters += static_cast<char>(std::tolower(c));
  }
  return letters;
}

std::string Short(const std::string& name) {
  return name.size() <= 64 ? name : name.substr(0, 61) + "...";
}

}  // namespace

std::string DidYouMean(const std::string& name, std::vector<std::string> known) {
  if (name.size() < 2) return "";  // any other letter would be near
  std::sort(known.begin(), known.end());
  const std::string near = sdfg::Nearest(name, known);
  return near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?");
}

std::string Known(const std::string& what, std::vector<std::string> names, size_t most) {
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  std::string text = absl::StrCat("; ", what, names.size() == 1 ? " is " : " are ");
  for (size_t i = 0; i < std::min(most, names.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Short(names[i]));
  }
  if (names.size() > most) absl::StrAppend(&text, " and ", names.size() - most, " more");
  return text;
}

std::string CollectiveLike(const std::string& name) {
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                 "accumulate", "move", "broadcast"}) {
    if (Letters(name) == Letters(collective)) return collective;
  }
  return "";
}

absl::Status WithGiven(const absl::Status& status, const std::string& op,
                       const std::vector<std::string>& names,
                       const std::vector<sdfg::Shape>& shapes) {
  if (!absl::IsInvalidArgument(status)) return status;
  std::string text = absl::StrCat(std::string(status.message()), "; given ", op, "(");
  for (size_t i = 0; i < std::min<size_t>(6, names.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Short(names[i]), ShapeText(shapes[i]));
  }
  if (names.size() > 6) text += ", ...";
  return absl::InvalidArgumentError(text + ")");
}

}  // namespace planproof::plan
