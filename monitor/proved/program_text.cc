#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "monitor/proved/program_comparison.h"

namespace planproof::monitor {
namespace {

constexpr size_t kLongestOperatorText = 200;

std::string TensorText(const RankProgram& program, int64_t number) {
  const ProgramTensor& tensor = program.tensors[number];
  const std::string& name = program.memory[tensor.memory].name;
  return absl::StrCat(name, name.empty() ? "" : " ", tensor.dtype, "[",
                      absl::StrJoin(tensor.shape, ", "), "]");
}

std::string TokenText(const RankProgram& program, const ProgramToken& token) {
  switch (token.kind) {
    case ProgramToken::Kind::kOpen:
      return "[";
    case ProgramToken::Kind::kClose:
      return "]";
    case ProgramToken::Kind::kNothing:
      return "None";
    case ProgramToken::Kind::kTruth:
      return token.whole != 0 ? "True" : "False";
    case ProgramToken::Kind::kWhole:
      return absl::StrCat(token.whole);
    case ProgramToken::Kind::kReal:
      return absl::StrCat(token.real);
    case ProgramToken::Kind::kText:
      return token.text;
    case ProgramToken::Kind::kTensor:
      return TensorText(program, token.whole);
    case ProgramToken::Kind::kNumber:
      return "(number of a tensor)";
  }
  return "";
}

}  // namespace

std::string OperatorText(const RankProgram& program, const ProgramOperator& op) {
  std::string text = absl::StrCat(op.name, "(");
  bool first = true;
  for (const ProgramToken& token : op.arguments) {
    if (text.size() > kLongestOperatorText) {
      absl::StrAppend(&text, ", ...");
      break;
    }
    const bool closes = token.kind == ProgramToken::Kind::kClose;
    absl::StrAppend(&text, first || closes ? "" : ", ", TokenText(program, token));
    first = token.kind == ProgramToken::Kind::kOpen;
  }
  absl::StrAppend(&text, ")");
  if (op.kind == OperatorKind::kCollective) {
    absl::StrAppend(&text, " over ranks ", absl::StrJoin(op.group, ", "));
  }
  return text;
}

bool HaveOtherLayers(const RankProgram& proved, const RankProgram& run) {
  const auto pattern_of = [](const std::string& name) {
    std::vector<std::string> words = absl::StrSplit(name, '.');
    for (std::string& word : words) {
      if (std::all_of(word.begin(), word.end(), absl::ascii_isdigit)) word = "#";
    }
    return absl::StrJoin(words, ".");
  };
  const auto named = [&](const RankProgram& program) {
    std::map<std::string, std::string> patterns;  // by name
    for (const ProgramMemory& memory : program.memory) {
      if (memory.role == MemoryRole::kParameter) patterns[memory.name] = pattern_of(memory.name);
    }
    return patterns;
  };
  const std::map<std::string, std::string> a = named(proved), b = named(run);
  const auto has_more = [](const auto& more, const auto& other) {
    std::set<std::string> patterns;
    for (const auto& [name, pattern] : other) patterns.insert(pattern);
    return std::any_of(more.begin(), more.end(), [&](const auto& entry) {
      return !other.contains(entry.first) && patterns.contains(entry.second);
    });
  };
  return has_more(a, b) || has_more(b, a);
}

std::string PlaceOfSource(const std::string& source) {
  const size_t file = source.find(':');
  return source.substr(0, file == std::string::npos ? file : source.find(':', file + 1));
}

}  // namespace planproof::monitor
