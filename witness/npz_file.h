// Writes arrays as NumPy's numpy.load reads them: a zip archive of .npy files
// (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#ifndef PLANPROOF_WITNESS_NPZ_FILE_H_
#define PLANPROOF_WITNESS_NPZ_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/types.h"

namespace planproof::witness {

// Row-major; of one of the two element types.
struct NpzArray {
  std::string name;  // letters, digits and underscores
  sdfg::Shape shape;
  bool is_integer = false;
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

// ResourceExhausted if the arrays together exceed 1 GiB.
absl::StatusOr<std::string> ToNpz(const std::vector<NpzArray>& arrays);

}  // namespace planproof::witness

#endif  // PLANPROOF_WITNESS_NPZ_FILE_H_
