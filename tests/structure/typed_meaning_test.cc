// Meaning is typed: outside readers and reports nothing is decided by comparing text.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// `frontend`, `report`, `cli`, `python` and tests read or write text for a living.
const std::vector<std::string>& Checked() {
  static const std::vector<std::string> layers = {
      "solver",        "sdfg",          "lineage", "shape_reduction", "inference", "stages",
      "runtime_check", "verdict_cache", "cluster", "generator",       "mutation",  "anchor",
      "monitor",       "diagnosis",     "smt",     "strategy"};
  return layers;
}

// Files that may, by the beginning of their path, and why.
const std::map<std::string, std::string>& Exceptions() {
  static const std::map<std::string, std::string> table = {
      {"sdfg/declaration_", "reads the operator language: these are its words"},
      {"sdfg/element_type.cc", "reads the names of element types as frameworks print them"},
      {"sdfg/native_operators_", "reads a call: its name, and attributes whose values are words"},
      {"sdfg/function_evaluation.cc", "an opaque function is its name: topk_index is one"},
      {"shape_reduction/kronecker.cc", "an opaque function is its name: topk_index is one"},
      {"shape_reduction/opaque_functions.h", "an opaque function is its name: topk_* have values"},
      {"runtime_check/opaque_values.cc", "an opaque function is its name: topk_* have values"},
      {"solver/z3_", "reads what the process that runs Z3 answers, and what Z3 prints"},
      {"strategy/expected_schedule.cc",
       "phases are named by a plan's author in words that docs/schedules.md fixes"},
      {"diagnosis/repair_factors.cc", "writes the plural of a name"},
      {"stages/workers/worker_process.cc", "reads which faults a test asks for"},
      {"monitor/journal/", "reads journals: these are their words"},
      {"monitor/learned/facts_file.cc", "reads facts that were written: these are its words"},
      {"monitor/traincheck/", "reads traces of another tool: these are its words"},
      {"generator/", "writes plans in plan format, and reads what it wrote: these are its words"},
      {"mutation/", "edits plans in plan format, by the names of faults in docs/bugs.md"},
  };
  return table;
}

// The line without its comment, and every string literal in it empty.
std::string WithoutText(const std::string& line) {
  std::string code;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted) {
      if (line[i] == '\\') ++i;
      quoted = line[i] != '"';
      if (!quoted) code += '"';
      continue;
    }
    if (line.compare(i, 2, "//") == 0) break;
    if (line[i] == '\'' && i + 2 < line.size()) {  // a character, perhaps a quote
      const size_t end = line[i + 1] == '\\' ? i + 3 : i + 2;
      if (end < line.size() && line[end] == '\'') {
        i = end;
        code += '0';
        continue;
      }
    }
    quoted = line[i] == '"';
    code += line[i];
  }
  return code;
}

bool ComparesText(const std::string& line) {
  if (line.find('"') == std::string::npos) return false;
  static const std::regex comparison(
      R"re([!=]=\s*""|""\s*[!=]=|\b(starts_with|ends_with|StartsWith|EndsWith|StrContains|rfind|)re"
      R"re(compare|ConsumePrefix|ConsumeSuffix)\(.*"")re");
  return std::regex_search(WithoutText(line), comparison);
}

struct Place {
  std::string file;  // from the root
  std::string text;  // "file:line: source"
};

std::vector<Place> Comparisons() {
  const fs::path root = PLANPROOF_SOURCE_DIR;
  std::vector<Place> places;
  for (const std::string& layer : Checked()) {
    if (!fs::exists(root / layer)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / layer)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".cc" && extension != ".h")) continue;
      const std::string file = fs::relative(entry.path(), root).string();
      std::ifstream stream(entry.path());
      int number = 0;
      std::string before;  // of a line that goes on in this one
      for (std::string line; std::getline(stream, line);) {
        ++number;
        const std::string whole = before + line;
        before = line.ends_with("==") || line.ends_with("!=") ? line : "";
        if (!ComparesText(whole)) continue;
        places.push_back({file, file + ":" + std::to_string(number) + ": " + line});
      }
    }
  }
  return places;
}

TEST(TypedMeaning, NothingIsDecidedByComparingText) {
  std::set<std::string> used;
  for (const Place& place : Comparisons()) {
    const auto known = std::find_if(
        Exceptions().begin(), Exceptions().end(),
        [&place](const auto& exception) { return place.file.starts_with(exception.first); });
    if (known != Exceptions().end()) {
      used.insert(known->first);
      continue;
    }
    ADD_FAILURE() << place.text
                  << "\n  decides by text. Give what it asks for a type (an enum, a field), "
                     "set by the reader; or add the file to the exceptions, with the reason.";
  }
  for (const auto& [path, reason] : Exceptions()) {
    EXPECT_TRUE(used.contains(path)) << path << " compares no text: it is no exception any more";
  }
}

TEST(TypedMeaning, ComparisonsAreToldFromTextThatMentionsThem) {
  EXPECT_TRUE(ComparesText(R"cc(if (op.name == "move") return;)cc"));
  EXPECT_TRUE(ComparesText(R"cc(return "move" != name;)cc"));
  EXPECT_TRUE(ComparesText(R"cc(if (name.ends_with(".backward")) continue;)cc"));
  EXPECT_TRUE(ComparesText(R"cc(if (c == '"' && name == "x") return;)cc"));
  EXPECT_FALSE(ComparesText(R"cc(out.push_back(name + " != 0");)cc"));
  EXPECT_FALSE(ComparesText(R"cc(text = "a == \"b\"";)cc"));
  EXPECT_FALSE(ComparesText(R"cc(if (kind == OperatorKind::kMove) return;  // == "move")cc"));
}

}  // namespace
