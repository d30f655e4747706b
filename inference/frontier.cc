#include "inference/frontier.h"

#include <utility>

#include "sdfg/operator_library.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::Representation;
using sdfg::TensorId;

bool Frontier::Transparent(TensorId logical) const {
  const sdfg::Tensor& tensor = problem_.logical.tensors[logical];
  if (tensor.producer == kNone) return false;
  if (static_cast<size_t>(logical) >= down_to_.size()) return true;  // a multiple, added since
  if (known_.Masked(logical) || known_.MultipleOf(logical) != kNone) return true;
  const sdfg::Operator& op = problem_.logical.operators[tensor.producer];
  return sdfg::OperatorLibrary::IsDataMovement(*op.function);
}

void Frontier::OpenDownTo(std::vector<TensorId> tensors) {
  CloseAll();
  opened_down_to_ = std::move(tensors);
  for (const TensorId t : opened_down_to_) down_to_[t] = true;
  open_ = true;
}

void Frontier::OpenAlso(std::vector<TensorId> tensors) { also_ = std::move(tensors); }

void Frontier::CloseAll() {
  also_.clear();
  for (const TensorId t : opened_down_to_) down_to_[t] = false;
  opened_down_to_.clear();
  open_ = false;
}

Representation Frontier::Of(sdfg::TensorRef tensor) {
  Representation r;
  if (tensor.graph == stages::kParallel) {
    if (!Related(tensor.tensor)) return r;
    const lineage::Lineage& l = problem_.lineage[tensor.tensor];
    r.kind = Representation::Kind::kAlias;
    r.alias = {stages::kLogical, l.logical};
    r.map = &l.map;
    return r;
  }
  const bool computed = problem_.logical.tensors[tensor.tensor].producer != kNone;
  if (computed &&
      (open_ ? !IsEnd(tensor.tensor) : Transparent(tensor.tensor) || IsAlsoOpen(tensor.tensor)))
    return r;
  r.kind = Representation::Kind::kAtom;
  r.tag = static_cast<uint32_t>(tensor.tensor);
  r.int_range = known_.IntRangeOf(tensor.tensor);
  if (regions_ != nullptr) {
    const auto region = regions_->find(tensor.tensor);
    if (region != regions_->end()) r.zero_unless = &region->second;
  }
  return r;
}

}  // namespace planproof::inference
