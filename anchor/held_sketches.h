// Compares large tensors that ranks hold, which were recorded as sketches without values.
//
// A sketch adds up a rank's elements with signs that depend on where an element stands in the whole
// (sketch.h), so ranks that hold the same part have the same sketch, and parts that together are
// the whole have sketches that add up to the reference's. Which element differs a sketch does not
// say.
#ifndef PLANPROOF_ANCHOR_HELD_SKETCHES_H_
#define PLANPROOF_ANCHOR_HELD_SKETCHES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sdfg/index_map.h"
#include "stages/anchor_report.h"

namespace planproof::anchor {

// One tensor, with the sketches of what ranks hold of it.
struct SketchedTensor {
  struct Part {
    int32_t rank = 0;
    int64_t elements = 0;
    std::vector<sdfg::IndexMap> map;
    std::array<double, 4> sketch = {};
  };
  std::string name;
  int64_t elements = 0;  // of the whole
  std::array<double, 4> sketch = {};
  std::vector<Part> parts;
};

// Returns the difference of one tensor, or none. Sets `compared` to false if the parts overlap, or
// are not all of it: then only ranks that hold the same are compared.
std::vector<stages::RecordedDifference> DifferencesOf(const SketchedTensor& tensor, bool* compared);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_SKETCHES_H_
