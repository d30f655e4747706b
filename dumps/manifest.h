// Reads what a rank says of its dump: rankN.json.
#ifndef PLANPROOF_DUMPS_MANIFEST_H_
#define PLANPROOF_DUMPS_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/types.h"

namespace planproof::dumps {

// An axis of the mesh of ranks.
struct Axis {
  std::string name;
  int64_t size = 1;
  bool operator==(const Axis&) const = default;
};

// What a tensor is, by the first word of its name: "forward/layers.0.mlp".
enum class TensorKind : uint8_t {
  kOther,
  kInitial,    // a parameter before the step
  kInput,      // of a module
  kForward,    // the result of a module
  kBackward,   // the gradient of such a result
  kGradient,   // of a parameter, as the optimizer gets it
  kUpdate,     // what the optimizer adds to a parameter
  kParameter,  // after the step
};
TensorKind KindOf(std::string_view name);

struct Manifest {
  int rank = 0;
  int ranks = 1;
  std::vector<Axis> axes;            // the product of the sizes is `ranks`; none for one process
  std::vector<int64_t> coordinates;  // of this rank, by axis
  sdfg::DType dtype = sdfg::DType::kUnknown;  // that the run computes in: whose epsilon is one
  std::string file;                           // of the tensors, beside the manifest
  std::vector<std::string> tensors;           // of the file, in the order of their computation
};

// InvalidArgument: what is wrong, for anything that docs/compare.md does not describe.
absl::StatusOr<Manifest> ParseManifest(std::string_view json);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_MANIFEST_H_
