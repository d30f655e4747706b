// Puts kernels of many tapes into one text: a compiler then reads the prelude once.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_TRANSLATION_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_TRANSLATION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime_check/cuda/accelerator.h"

namespace planproof::runtime_check::cuda {

struct Translation {
  std::string text;  // with the prelude
  // By source its kernels' names, which are changed so that they do not collide.
  std::vector<std::vector<std::string>> kernels;
};

// All sources, in order, about as many in each.
std::vector<Translation> TranslationsOf(const std::vector<Accelerator::Source>& sources,
                                        size_t translations);

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_TRANSLATION_H_
