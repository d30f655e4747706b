#include "runtime_check/cuda/translation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime_check/cuda/kernel_prelude.h"

namespace planproof::runtime_check::cuda {

std::vector<Translation> TranslationsOf(const std::vector<Accelerator::Source>& sources,
                                        size_t translations) {
  std::vector<Translation> result(std::clamp<size_t>(translations, 1, sources.size()));
  for (size_t s = 0; s < sources.size(); ++s) {
    Translation& translation = result[s * result.size() / sources.size()];
    if (translation.text.empty()) translation.text = KernelPrelude();
    const std::string prefix = absl::StrCat("s", s, "_");
    std::string text = sources[s].text;
    std::vector<std::string>& names = translation.kernels.emplace_back();
    for (const std::string& kernel : sources[s].kernels) {
      names.push_back(prefix + kernel);
      absl::StrReplaceAll({{absl::StrCat("PLANPROOF_KERNEL ", kernel, "("),
                            absl::StrCat("PLANPROOF_KERNEL ", prefix, kernel, "(")}},
                          &text);
    }
    translation.text += text;
  }
  return result;
}

}  // namespace planproof::runtime_check::cuda
