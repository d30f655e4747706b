// Determines which part of a tensor each rank of a run holds, by annotation and by the sizes that
// they hold.
#ifndef PLANPROOF_RUNTIME_CHECK_HELD_PARTS_H_
#define PLANPROOF_RUNTIME_CHECK_HELD_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dumps/annotations.h"
#include "dumps/manifest.h"
#include "sdfg/index_map.h"

namespace planproof::runtime_check {

// The ranks of a run: axes, and the coordinates of each rank.
struct Mesh {
  std::vector<dumps::Axis> axes;
  std::vector<std::vector<int64_t>> coordinates;
};

// An annotation for a tensor of some number of dimensions, with axes as positions in the mesh.
struct Division {
  struct Dimension {
    std::vector<int> axes;  // none: ranks hold all of it
    dumps::SplitOrder order = dumps::SplitOrder::kContiguous;
    int64_t blocks = 1;
  };
  std::vector<Dimension> dimensions;
  std::vector<int> partial;  // axes over whose ranks values are added up
  double factor = 1;         // what ranks hold is this multiple
};

// Without a rule ranks hold the whole. InvalidArgument: what is wrong, for axes that the mesh has
// not or that are named twice, and dimensions that the tensor has not.
absl::StatusOr<Division> DivisionOf(const dumps::TensorRule* rule, const Mesh& mesh,
                                    size_t dimensions);

// What was found wrong with a tensor of a run.
enum class DumpFinding : uint8_t {
  kNone,
  kDiffers,         // from the reference by more than round-off
  kReplicasDiffer,  // ranks that hold the same part hold different values
  kShapes,          // what a rank holds is no part of the tensor
  kOmitted,         // no rank holds some of it
  kOverlaps,        // ranks together hold more than there is
  kLacking,         // a rank does not have it, although others in its place do
  kMissing,         // no rank has it
};

struct Held {
  int rank = 0;
  sdfg::Shape shape;
};

// A part: of one rank, or of several whose values add up to it.
struct HeldPart {
  std::vector<int> ranks;
  sdfg::Shape shape;
  std::vector<sdfg::IndexMap> map;  // from indices of the part to those of the whole
};

struct Parts {
  std::vector<HeldPart> parts;  // none if something is wrong
  DumpFinding finding = DumpFinding::kNone;
  std::string what;        // is wrong, in words
  std::vector<int> ranks;  // that it concerns, if not all
};

// Of a whole of this shape. Contiguous parts may have different sizes; they lie one after another.
Parts PartsOf(const Division& division, const Mesh& mesh, const std::vector<Held>& held,
              const sdfg::Shape& whole);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_HELD_PARTS_H_
