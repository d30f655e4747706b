// Kernels for a tape, as text: for CUDA's compilers and, the same text, for a C++ compiler.
//
// A tape computes rows of the output one after the other, and in each strips of lanes. Kernels
// compute all elements at once, one in each thread: dimensions and lanes become the thread's
// number, reductions stay loops, and skips stay branches, of one thread each. What a tape computes
// once per row would be computed by every thread of the row: where that has a loop in it (the sum
// of a softmax), it gets a kernel of its own before, a pass, with one thread per row, which keeps
// its results in memory.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_SOURCE_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime_check/tape.h"
#include "runtime_check/values.h"

namespace planproof::runtime_check::cuda {

// How numbers are stored: by operand, and of the result. Real numbers are stored as doubles if
// `wide`, else as floats.
struct KernelTypes {
  bool wide = true;
  std::vector<bool> integer_operands;
  bool integer_result = false;

  // Whole numbers are computed in doubles: 24 bits would not hold them.
  bool ComputesInDoubles() const { return wide || integer_result; }
};

struct KernelPass {
  std::string name;
  int64_t positions = 1;  // threads with work in one instance
};

struct KernelSource {
  std::string text;                // to stand after KernelPrelude()
  std::vector<KernelPass> passes;  // in order
  // In one instance, numbers that passes keep for later ones.
  int64_t kept_reals = 0, kept_ints = 0;
  int64_t row_elements = 0;  // in one thread, of rows of opaque functions
  bool can_fail = false;     // an operand may be read outside of its extents
};

// `symbol` begins the kernels' names.
KernelSource SourceOf(const Tape& tape, const KernelTypes& types, const std::string& symbol);

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_SOURCE_H_
