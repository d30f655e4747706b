// Lists the readers, and finds the one that a file is for.
#ifndef PLANPROOF_FRONTEND_REGISTRY_H_
#define PLANPROOF_FRONTEND_REGISTRY_H_

#include <vector>

#include "frontend/reader.h"

namespace planproof::frontend {

// Those of readers.inc, then those that were added.
const std::vector<const Reader*>& Readers();

// For a program with a reader of its own (examples/reader), before the first file is read. The
// reader must live as long as the program.
void AddReader(const Reader& reader);

// The first reader that recognises the file, or null.
const Reader* ReaderOf(const InputFile& file);

}  // namespace planproof::frontend

// Of readers.inc.
#define PLANPROOF_READER(space, name)          \
  namespace space {                            \
  const ::planproof::frontend::Reader& name(); \
  }
#include "frontend/readers.inc"
#undef PLANPROOF_READER

#endif  // PLANPROOF_FRONTEND_REGISTRY_H_
