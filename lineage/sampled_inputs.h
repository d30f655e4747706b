// Holds inputs of a model on which a program of it was run.
#ifndef PLANPROOF_LINEAGE_SAMPLED_INPUTS_H_
#define PLANPROOF_LINEAGE_SAMPLED_INPUTS_H_

#include <map>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::lineage {

// Elements of inputs of the model, by tensor of its graph, in row-major order. A proof holds for
// all inputs that meet its premises, and these may meet them: nothing else is believed of them, and
// who uses them checks that they do.
struct SampledInputs {
  std::map<sdfg::TensorId, std::vector<double>> elements;
};

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_SAMPLED_INPUTS_H_
