#include "inference/duplicates.h"

#include <algorithm>
#include <tuple>

namespace planproof::inference {

using sdfg::kNone;
using sdfg::TensorId;

Duplicates::Duplicates(const sdfg::Graph& logical) : class_(logical.tensors.size()) {
  std::map<std::tuple<const sdfg::IndexFunction*, size_t, std::vector<size_t>>, size_t> classes;
  const auto add = [&](TensorId tensor, size_t of) {
    if (of == alike_.size()) alike_.emplace_back();
    class_[tensor] = of;
    alike_[of].push_back(tensor);
  };
  for (size_t t = 0; t < logical.tensors.size(); ++t) {
    if (logical.tensors[t].producer == kNone) add(static_cast<TensorId>(t), alike_.size());
  }
  for (const sdfg::Operator& op : logical.operators) {
    std::vector<size_t> operands;
    for (const TensorId t : op.inputs) operands.push_back(t == kNone ? SIZE_MAX : class_[t]);
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone) continue;
      const auto [found, fresh] =
          classes.try_emplace({op.function.get(), o, operands}, alike_.size());
      add(op.outputs[o], found->second);
    }
  }
}

TensorId Duplicates::Next(TensorId tensor, sdfg::Device device) {
  if (tensor >= static_cast<TensorId>(class_.size())) return tensor;  // a multiple, added since
  const std::vector<TensorId>& alike = alike_[class_[tensor]];
  if (alike.size() == 1) return tensor;
  size_t& taken = taken_[{class_[tensor], device}];
  return alike[std::min(taken++, alike.size() - 1)];
}

}  // namespace planproof::inference
