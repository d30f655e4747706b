// Tensors of the model that are computed twice.
#ifndef PLANPROOF_INFERENCE_DUPLICATES_H_
#define PLANPROOF_INFERENCE_DUPLICATES_H_

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::inference {

// A model may compute the same again, the angles of rotary embeddings for queries and for keys. A
// plan does so in the same order, and what it computes from the second is what the model computes
// from the second: of equal tensors, each is taken in its turn.
class Duplicates {
 public:
  explicit Duplicates(const sdfg::Graph& logical);

  // Of those that are computed like `tensor`: the next one for this device, and the last one again
  // and again.
  sdfg::TensorId Next(sdfg::TensorId tensor, sdfg::Device device);

 private:
  std::vector<size_t> class_;                       // by tensor
  std::vector<std::vector<sdfg::TensorId>> alike_;  // by class
  std::map<std::pair<size_t, sdfg::Device>, size_t> taken_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_DUPLICATES_H_
