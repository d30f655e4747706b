// Defines lineage: which slice of which logical tensor a parallel tensor is.
//
// A lineage maps the full index of a parallel tensor (coordinates of its axes first, then local
// indices) to an index of the logical tensor by integer expressions: affine maps for plain shards,
// with div and mod by constants where a local merge is strided globally (boxes in digits). Its kind
// says whether the elements *are* the logical values (full) or one term of a sum or maximum that
// yields them (partial). What a lineage claims is never trusted: full lineages are proved, partial
// ones serve the report and the cover check.
#ifndef PLANPROOF_LINEAGE_LINEAGE_H_
#define PLANPROOF_LINEAGE_LINEAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lineage/sampled_inputs.h"
#include "lineage/schedule.h"
#include "sdfg/graph.h"
#include "sdfg/index_map.h"
#include "solver/rational.h"

namespace planproof::lineage {

using sdfg::IndexMap;
using sdfg::IndexTerm;

enum class LineageKind : uint8_t { kNone, kFull, kPartialSum, kPartialMax };

// Who says so. Whether it is true is another question (stages/relations.h): whatever its
// provenance, a lineage of a computed tensor is a claim.
enum class Provenance : uint8_t {
  kGiven,     // the files: the specification for inputs and outputs, the plan for the rest
  kInferred,  // a guess of ours, from names or numbers
  kAssumed,   // the user, on the command line: approved without proof (assumptions.h)
};

struct Lineage {
  LineageKind kind = LineageKind::kNone;
  Provenance provenance = Provenance::kGiven;
  sdfg::TensorId logical = sdfg::kNone;
  std::vector<IndexMap> map;  // one per logical dimension
  // Partial kinds: which term of how many, as the file declares it (for messages).
  int64_t term = 0;
  int64_t terms = 1;

  // Where the map leads from an index of the parallel tensor.
  std::vector<int64_t> LogicalIndex(const std::vector<int64_t>& index) const {
    std::vector<int64_t> result;
    for (const IndexMap& dim : map) result.push_back(dim.ValueAt(index));
    return result;
  }
};

// What the specification requires of one parallel tensor: each of its elements is the logical
// element at `lineage.map` (kind kFull).
struct RequiredRelation {
  sdfg::TensorId parallel = sdfg::kNone;
  Lineage lineage;
  std::string what;  // "loss of each copy and microbatch", "gradient of layers.0.wq on device 3"
};

// Everything a verification run decides about: two graphs and how they are related.
// An axis of the mesh of ranks: rank / stride % extent is the coordinate.
struct MeshAxis {
  std::string name;
  int64_t extent = 1, stride = 1;
};

struct Problem {
  sdfg::Graph logical;
  sdfg::Graph parallel;
  // Per parallel tensor. A parallel tensor without producer (input, parameter, buffer, one) must
  // have a full lineage: this is the input relation, part of the specification.
  std::vector<Lineage> lineage;
  std::vector<RequiredRelation> required;
  // Real-arithmetic premises that the specification declares on logical inputs.
  struct InputPremise {
    sdfg::TensorId tensor = sdfg::kNone;
    enum class Kind : uint8_t {
      kPositive,
      kNonNegative,
      kNonZero,
      kIntegerRange,
      kNoTie,
      kRowUnmasked
    } kind;
    int64_t low = 0, high = 0;  // kIntegerRange: low <= element < high
  };
  std::vector<InputPremise> premises;
  // Elements of inputs of the model that are constants of a recorded program, in row-major order.
  // What is proved holds for all values; numbers that refute are of these.
  std::map<sdfg::TensorId, std::vector<solver::Rational>> recorded;
  // Inputs on which the model was run, in its numbers of tensors; null: there are none.
  std::shared_ptr<const SampledInputs> sample;
  Schedule schedule;  // of the parallel graph
  // A tensor of the plan that is named like one of the model is meant to be it.
  bool names_tell = true;
  // What coordinates of ranks that are not written as axes are called; may be empty.
  std::vector<MeshAxis> mesh;
  std::vector<std::string> assumptions;  // listed in the report
  std::vector<std::string> warnings;
};

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_LINEAGE_H_
