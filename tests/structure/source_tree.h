// The source tree as text: files, what they include, and the functions that they define.
#ifndef PLANPROOF_TESTS_STRUCTURE_SOURCE_TREE_H_
#define PLANPROOF_TESTS_STRUCTURE_SOURCE_TREE_H_

#include <set>
#include <string>
#include <vector>

namespace planproof::structure {

struct SourceFile {
  std::string path;   // from the root
  std::string layer;  // first component
  std::vector<std::string> lines;
};

// All files with these endings below these directories, which are given from the root.
std::vector<SourceFile> Sources(const std::set<std::string>& directories,
                                const std::set<std::string>& extensions = {".cc", ".h"});

// The path of `#include "path"` or `#include <path>`; empty for other lines. `quoted` says which.
std::string IncludedPath(const std::string& line, bool* quoted);

std::string FirstComponent(const std::string& path);

// A function with a body, at namespace or class scope. What is defined within it counts as part of
// it.
struct FunctionDefinition {
  std::string name;  // as it is written: "Arena::Add", "Run"
  int first_line = 0, last_line = 0;
  int Lines() const { return last_line - first_line + 1; }
};

// Read off the braces; macros that open or close one are not understood.
std::vector<FunctionDefinition> FunctionsOf(const std::vector<std::string>& lines);

}  // namespace planproof::structure

#endif  // PLANPROOF_TESTS_STRUCTURE_SOURCE_TREE_H_
