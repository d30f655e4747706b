// The trusted core: what a PROVED rests on. A wrong line in any of its files can make one false;
// nothing that stands outside can.
#ifndef PLANPROOF_TESTS_STRUCTURE_TRUSTED_CORE_H_
#define PLANPROOF_TESTS_STRUCTURE_TRUSTED_CORE_H_

#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace planproof::structure {

struct CorePart {
  std::string title;
  std::string why;  // what a mistake there would do
  std::vector<SourceFile> files;
};

// Every file of the core's rooms that is not listed as outside, by part, in order of paths.
std::vector<CorePart> TrustedCore();

// What stands in a room of the core and is none of it: a path, or a path's beginning that ends in
// '/' or '_', and why nothing that is wrong there can make a PROVED false.
struct Outsider {
  std::string path;
  std::string why;
};
const std::vector<Outsider>& Outsiders();
bool IsOutside(const std::string& path);

// The first comment of a file as one line.
std::string OpeningComment(const SourceFile& file);

// docs/trusted-core.md between its marks.
std::string TrustedCoreTables();

}  // namespace planproof::structure

#endif  // PLANPROOF_TESTS_STRUCTURE_TRUSTED_CORE_H_
