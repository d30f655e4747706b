// Whatever the files of a dump hold: an error, or tensors of the sizes that they say.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "dumps/annotations.h"
#include "dumps/manifest.h"
#include "dumps/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace dumps = planproof::dumps;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(dumps::ParseManifest(text).ok());
  static_cast<void>(dumps::ParseAnnotations(text, "annotations").ok());
  static const std::string* const path =
      new std::string("/tmp/planproof_dump_fuzz_" + std::to_string(getpid()));
  std::ofstream(*path, std::ios::binary) << text;
  const auto file = dumps::TensorFile::Open(*path);
  unlink(path->c_str());
  if (!file.ok()) return 0;
  for (const auto& [name, type] : (*file)->tensors()) {
    const auto bytes = (*file)->Read(name);
    const auto count = dumps::CountElements(type.shape);
    if (!count.ok()) std::abort();
    if (bytes.ok() && bytes->size() != *count * dumps::BytesOf(type.dtype)) std::abort();
  }
  return 0;
}
