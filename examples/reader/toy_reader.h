#ifndef PLANPROOF_EXAMPLES_READER_TOY_READER_H_
#define PLANPROOF_EXAMPLES_READER_TOY_READER_H_

#include "frontend/reader.h"

namespace planproof::toy {

// Reads plans as lines of words, in files *.toy; docs/adding-a-reader.md has the format.
const frontend::Reader& ToyPlans();

}  // namespace planproof::toy

#endif  // PLANPROOF_EXAMPLES_READER_TOY_READER_H_
