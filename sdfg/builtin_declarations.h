// Holds the declarations of sdfg/operators/*.op, compiled in by cmake/EmbedDeclarations.cmake.
#ifndef PLANPROOF_SDFG_BUILTIN_DECLARATIONS_H_
#define PLANPROOF_SDFG_BUILTIN_DECLARATIONS_H_

#include <vector>

namespace planproof::sdfg {

struct BuiltInDeclarations {
  const char* name;  // sdfg/operators/...
  const char* text;
};

const std::vector<BuiltInDeclarations>& BuiltInDeclarationFiles();

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_BUILTIN_DECLARATIONS_H_
