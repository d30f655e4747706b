// Tells what a file of a PyTorch trace looks like from outside.
#ifndef PLANPROOF_FRONTEND_TORCH_TRACE_FORMAT_H_
#define PLANPROOF_FRONTEND_TORCH_TRACE_FORMAT_H_

#include <string_view>

#include "frontend/reader.h"

namespace planproof::frontend::torch {

// All of a reader of traces but reading.
class TraceFormat : public Reader {
 public:
  std::string_view Name() const override { return "PyTorch trace"; }
  // gzip, and the ending.
  bool Recognises(const InputFile& file) const override {
    return file.path.ends_with(".trace") && file.start.size() > 2 && file.start[0] == '\x1f' &&
           file.start[1] == '\x8b';
  }
  bool ExtendsRanks() const override { return true; }
  Files HowMany() const override { return {2, 1 + (1 << 16), "REFERENCE.trace RANK.trace..."}; }
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_TRACE_FORMAT_H_
