// Tests of a directory are compiled several at once, in one scope for names without linkage.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace planproof::structure {
namespace {

// Of functions at namespace scope, declared or defined, one line each at most.
std::set<std::string> FunctionNames(const std::vector<std::string>& lines) {
  static const std::regex kFunction("[A-Za-z_][\\w:<>,*& ]*[ *&]([A-Za-z_]\\w*)\\(.*");
  static const std::regex kOther("(TEST|TYPED_TEST|INSTANTIATE|return |using |namespace ).*");
  std::set<std::string> names;
  for (const std::string& line : lines) {
    std::smatch match;
    if (std::regex_match(line, kOther) || !std::regex_match(line, match, kFunction)) continue;
    names.insert(match[1]);
  }
  return names;
}

// "tests/cli" of "tests/cli/command_line.h".
std::string DirectoryOf(const std::string& path) {
  return path.substr(0, path.find('/', path.find('/') + 1));
}

// Else the others of the directory would call the helper in place of the shared function, unseen.
TEST(NamesOfTests, NoHelperHidesOneThatItsDirectoryShares) {
  std::map<std::string, std::map<std::string, std::string>> shared;  // by directory, name: header
  for (const SourceFile& file : Sources({"tests"}, {".h"})) {
    for (const std::string& name : FunctionNames(file.lines)) {
      shared[DirectoryOf(file.path)][name] = file.path;
    }
  }
  EXPECT_GT(shared["tests/cli"].count("RunProgram"), 0u);
  for (const SourceFile& file : Sources({"tests"}, {".cc"})) {
    if (!file.path.ends_with("_test.cc")) continue;
    for (const std::string& name : FunctionNames(file.lines)) {
      const auto& others = shared[DirectoryOf(file.path)];
      const auto hidden = others.find(name);
      EXPECT_TRUE(hidden == others.end())
          << file.path << ": " << name << " hides that of " << hidden->second << "; rename it";
    }
  }
}

TEST(NamesOfTests, AreThoseOfFunctionsAtNamespaceScope) {
  EXPECT_EQ(FunctionNames({"std::string Said(const std::string& text) {", "inline int* At(int i);",
                           "  Nested(1);", "TEST(Suite, Name) {", "TEST_F(Suite, Name) {",
                           "const std::vector<int>& All(", "return Called(2);"}),
            (std::set<std::string>{"Said", "At", "All"}));
}

}  // namespace
}  // namespace planproof::structure
