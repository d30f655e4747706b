// Says how the tensors of a sharded run are those of the reference (docs/compare.md).
#ifndef PLANPROOF_DUMPS_ANNOTATIONS_H_
#define PLANPROOF_DUMPS_ANNOTATIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dumps/name_pattern.h"

namespace planproof::dumps {

// How a dimension is divided among n ranks.
enum class SplitOrder : uint8_t {
  kContiguous,  // rank r holds the r-th part; parts may have different sizes
  kBlocks,      // of each of some equal blocks, the r-th part (fused projections)
  kZigzag,      // of 2 n equal parts, parts r and 2 n - 1 - r (causal context parallelism)
  kRoundRobin,  // elements r, r + n, r + 2 n, ...
};

struct Split {
  int64_t dimension = 0;          // negative: from the last one
  std::vector<std::string> axes;  // outermost first
  SplitOrder order = SplitOrder::kContiguous;
  int64_t blocks = 1;  // kBlocks
};

// What is said of the tensors of the reference with these names. Along axes that are not mentioned
// ranks hold the same.
struct TensorRule {
  int line = 0;
  std::vector<NamePattern> names;
  std::vector<Split> splits;
  std::vector<std::string> partial;  // axes over whose ranks the values are added up
  // What ranks hold is this multiple of the reference's: `factor` times the sizes of axes.
  std::vector<std::string> times;
  double factor = 1;
};

// The ranks' names of what the reference calls otherwise.
struct NameRule {
  int line = 0;
  NamePattern candidate, reference;  // with the same wildcards
  struct OnAxis {
    std::string axis;
    int64_t value = 0;
  };
  std::vector<OnAxis> where;    // only ranks with these coordinates
  int64_t offset = 0;           // added to numbers
  std::vector<OnAxis> offsets;  // and `value` times the coordinate
};

struct Annotations {
  std::string file;                 // for messages
  std::vector<TensorRule> tensors;  // the first that names a tensor holds
  std::vector<NameRule> names;      // the first that matches a name holds
  std::vector<NamePattern> skip;    // names of the reference, or of ranks, that are not compared
};

// "FILE:LINE".
std::string PlaceOf(const Annotations& annotations, int line);

// InvalidArgument: "FILE:LINE: what is wrong".
absl::StatusOr<Annotations> ParseAnnotations(std::string_view text, const std::string& file);
// NotFound if there is no such file.
absl::StatusOr<Annotations> ReadAnnotations(const std::string& path);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_ANNOTATIONS_H_
