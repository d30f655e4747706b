// Whatever a witness file holds: an error, or a witness that is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "witness/witness_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using planproof::witness::FromBytes;
  const auto read = FromBytes(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) return 0;
  const auto bytes = planproof::witness::ToBytes(*read);
  if (!bytes.ok()) std::abort();
  const auto again = FromBytes(*bytes);
  if (!again.ok() || !(*again == *read)) std::abort();
  return 0;
}
