// docs/soundness.md names, for every rule, the function in which it stands; tests of the suite
// "Rule" are named after them. All three lists are one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace planproof::structure {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Cells(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row);
  for (std::string cell; std::getline(stream, cell, '|');) {
    const size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  if (!cells.empty()) cells.erase(cells.begin());  // before the first bar
  return cells;
}

// Functions by rule, of the tables whose last column is "function".
std::map<std::string, std::string> DocumentedRules() {
  std::map<std::string, std::string> rules;
  std::ifstream document(fs::path(PLANPROOF_SOURCE_DIR) / "docs/soundness.md");
  bool table = false;
  for (std::string line; std::getline(document, line);) {
    const std::vector<std::string> cells = Cells(line);
    if (!line.starts_with("|")) {
      table = false;
    } else if (cells.size() > 2 && cells[0] == "rule" && cells.back() == "function") {
      table = true;
    } else if (table && !cells[0].starts_with("-")) {
      EXPECT_TRUE(rules.emplace(cells[0], cells.back()).second) << cells[0] << " stands twice";
    }
  }
  return rules;
}

std::set<std::string> TestsOfRules() {
  std::set<std::string> tests;
  for (const SourceFile& file : Sources({"tests/solver"})) {
    for (const std::string& line : file.lines) {
      constexpr char kTest[] = "TEST_F(Rule, ";
      if (!line.starts_with(kTest)) continue;
      tests.insert(line.substr(sizeof(kTest) - 1, line.find(')') - sizeof(kTest) + 1));
    }
  }
  return tests;
}

// "merge-adjacent" as "MergeAdjacent".
std::string TestOf(const std::string& rule) {
  std::string name;
  bool start = true;
  for (const char c : rule) {
    if (c != '-') name += start ? static_cast<char>(std::toupper(c)) : c;
    start = c == '-';
  }
  return name;
}

TEST(Rules, EachHasATestOfItsName) {
  const std::set<std::string> tests = TestsOfRules();
  std::set<std::string> expected;
  for (const auto& [rule, function] : DocumentedRules()) expected.insert(TestOf(rule));
  EXPECT_GT(expected.size(), 50u);
  EXPECT_EQ(tests, expected);
}

TEST(Rules, EachHasTheFunctionThatIsNamed) {
  const std::vector<SourceFile> files = Sources({"solver"});
  for (const auto& [rule, function] : DocumentedRules()) {
    const size_t colon = function.find(": ");
    ASSERT_NE(colon, std::string::npos) << rule << " names no function";
    const std::string path = "solver/" + function.substr(0, colon);
    const std::string name = function.substr(colon + 2);
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&](const SourceFile& f) { return f.path == path; });
    ASSERT_TRUE(file != files.end()) << rule << ": there is no " << path;
    const std::vector<FunctionDefinition> functions = FunctionsOf(file->lines);
    EXPECT_TRUE(std::any_of(functions.begin(), functions.end(),
                            [&](const FunctionDefinition& f) { return f.name == name; }))
        << rule << ": " << path << " defines no " << name;
  }
}

}  // namespace
}  // namespace planproof::structure
