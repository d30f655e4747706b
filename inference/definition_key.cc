#include "inference/definition_key.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

constexpr int kMaxLogicalOperators = 200;
// A value at which a definition ends, by its place in the list; others count from 0 upwards.
constexpr int32_t kFirstValue = 1 << 24;

}  // namespace

void DefinitionKeys::Begin() {
  bytes_.clear();
  for (const TensorId t : met_logical_) logical_[t] = -1;
  for (const TensorId t : met_parallel_) parallel_[t] = -1;
  met_logical_.clear();
  met_parallel_.clear();
  used_.clear();
  operators_ = 0;
  failed_ = false;
}

void DefinitionKeys::Put(int64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void DefinitionKeys::PutTensor(const sdfg::Tensor& tensor) {
  Put(static_cast<int64_t>(tensor.role));
  Put(static_cast<int64_t>(tensor.dtype));
  Put(static_cast<int64_t>(tensor.shape.size()));
  for (const int64_t extent : tensor.shape) Put(extent);
  Put(static_cast<int64_t>(tensor.axes.size()));
  for (const sdfg::AxisId axis : tensor.axes) Put(axis);
}

void DefinitionKeys::PutMap(const std::vector<sdfg::IndexMap>& map) {
  Put(static_cast<int64_t>(map.size()));
  for (const sdfg::IndexMap& expression : map) {
    Put(expression.constant);
    Put(static_cast<int64_t>(expression.terms.size()));
    for (const sdfg::IndexTerm& term : expression.terms) {
      for (const int64_t part :
           {int64_t{term.dim}, term.scale, term.div, term.mod, term.offset, int64_t{term.gate.dim},
            term.gate.div, term.gate.mod, term.gate.offset}) {
        Put(part);
      }
    }
  }
}

void DefinitionKeys::PutFunction(const sdfg::Operator& op, int output) {
  const auto [known, inserted] =
      functions_.try_emplace(op.function.get(), static_cast<int64_t>(functions_.size()));
  Put(known->second);
  Put(op.lifted);
  Put(output);
  Put(static_cast<int64_t>(op.inputs.size()));
}

void DefinitionKeys::PutRelated(TensorId logical) {
  if (static_cast<size_t>(logical) >= logical_.size()) logical_.resize(logical + 1, -1);
  const bool known = logical_[logical] >= 0;
  if (!known) {
    logical_[logical] = static_cast<int32_t>(met_logical_.size());
    met_logical_.push_back(logical);
  }
  Put(logical_[logical]);
  if (known) return;
  const sdfg::Tensor& tensor = problem_.logical.tensors[logical];
  PutTensor(tensor);
  Put(tensor.producer != kNone);
  const bool through = frontier_.Transparent(logical);
  Put(through);
  if (!through) {
    values_->push_back(logical);
    return;
  }
  if (++operators_ > max_operators_) failed_ = true;
  if (failed_) return;
  const sdfg::Operator& op = problem_.logical.operators[tensor.producer];
  PutFunction(op, tensor.producer_output);
  for (const TensorId operand : operands_.Of(problem_.logical, logical)) PutRelated(operand);
}

void DefinitionKeys::PutParallel(TensorId t) {
  const bool known = parallel_[t] >= 0;
  if (!known) {
    parallel_[t] = static_cast<int32_t>(met_parallel_.size());
    met_parallel_.push_back(t);
  }
  Put(parallel_[t]);
  if (known) return;
  const sdfg::Tensor& tensor = problem_.parallel.tensors[t];
  PutTensor(tensor);
  const bool related = frontier_.Related(t);
  Put(related);
  if (related) {
    const lineage::Lineage& lineage = frontier_.LineageOf(t);
    PutMap(lineage.map);
    PutRelated(lineage.logical);
    return;
  }
  if (tensor.producer == kNone || ++operators_ > max_operators_ ||
      too_large_.find(t) != too_large_.end()) {
    failed_ = true;
  }
  if (failed_) return;
  const sdfg::Operator& op = problem_.parallel.operators[tensor.producer];
  PutFunction(op, tensor.producer_output);
  for (const TensorId operand : operands_.Of(problem_.parallel, t)) PutParallel(operand);
}

std::string DefinitionKeys::OfParallel(TensorId t, int max_operators,
                                       std::vector<TensorId>* values) {
  Begin();
  max_operators_ = max_operators;
  values_ = values;
  values->clear();
  PutParallel(t);
  return failed_ ? std::string() : bytes_;
}

void DefinitionKeys::PutLogical(TensorId t) {
  if (failed_) return;
  const bool known = logical_[t] >= 0;
  if (!known) {
    logical_[t] = static_cast<int32_t>(met_logical_.size());
    met_logical_.push_back(t);
  }
  Put(logical_[t]);
  if (logical_[t] >= kFirstValue) used_.insert(t);
  if (known) return;
  const sdfg::Tensor& tensor = problem_.logical.tensors[t];
  PutTensor(tensor);
  if (tensor.producer == kNone) {
    const bool constant =
        tensor.role == sdfg::TensorRole::kOne || tensor.role == sdfg::TensorRole::kZero;
    if (!constant) failed_ = true;
    return;
  }
  if (++operators_ > kMaxLogicalOperators) failed_ = true;
  if (failed_) return;
  const sdfg::Operator& op = problem_.logical.operators[tensor.producer];
  PutFunction(op, tensor.producer_output);
  for (const TensorId operand : operands_.Of(problem_.logical, t)) PutLogical(operand);
}

std::string DefinitionKeys::OfLogical(TensorId t, const std::vector<TensorId>& values) {
  Begin();
  for (size_t i = 0; i < values.size(); ++i) {
    logical_[values[i]] = kFirstValue + static_cast<int32_t>(i);
  }
  const bool itself = logical_[t] >= 0;
  if (!itself) PutLogical(t);
  for (const TensorId v : values) logical_[v] = -1;
  const bool all = used_.size() == values.size();
  return failed_ || itself || !all ? std::string() : bytes_;
}

}  // namespace planproof::inference
