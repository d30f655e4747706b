#include "stages/class_key.h"

#include "sdfg/stack_room.h"

namespace planproof::stages {
namespace {

constexpr int kMaxKeyDepth = 4000;
constexpr size_t kMaxBytes = 1 << 20;

}  // namespace

void ClassKeys::Put(int64_t value) {
  // Variable length, self-delimiting.
  uint64_t u = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  while (u >= 0x80) {
    bytes_.push_back(static_cast<char>(u | 0x80));
    u >>= 7;
  }
  bytes_.push_back(static_cast<char>(u));
}

void ClassKeys::PutText(const std::string& text) {
  Put(static_cast<int64_t>(text.size()));
  bytes_ += text;
}

void ClassKeys::PutFunction(const sdfg::IndexFunction* function) {
  if (by_content_) {
    auto [at, fresh] =
        functions_of_claim_.try_emplace(function, static_cast<int64_t>(functions_of_claim_.size()));
    Put(at->second);
    if (!fresh) return;
    std::string& content = serialized_[function];
    if (content.empty()) content = function->Serialize();
    PutText(function->operator_name);
    PutText(content);
    return;
  }
  auto [it, inserted] = functions_.try_emplace(function, static_cast<int64_t>(functions_.size()));
  Put(it->second);
}

void ClassKeys::PutMap(const std::vector<sdfg::IndexMap>& map) {
  Put(static_cast<int64_t>(map.size()));
  for (const sdfg::IndexMap& m : map) {
    Put(m.constant);
    Put(static_cast<int64_t>(m.terms.size()));
    for (const sdfg::IndexTerm& t : m.terms) {
      Put(t.dim);
      Put(t.scale);
      Put(t.div);
      Put(t.mod);
      Put(t.offset);
      Put(t.gate.dim);
      if (!t.gated()) continue;
      Put(t.gate.div);
      Put(t.gate.mod);
      Put(t.gate.offset);
    }
  }
}

void ClassKeys::PutLogical(sdfg::TensorId t, int depth) {
  const bool inserted = logical_.Add(t);
  Put(logical_.Of(t));
  if (!inserted) return;
  const sdfg::Tensor& tensor = problem_.logical.tensors[t];
  Put(static_cast<int64_t>(tensor.role));
  Put(static_cast<int64_t>(tensor.dtype));
  Put(static_cast<int64_t>(tensor.shape.size()));
  for (int64_t extent : tensor.shape) Put(extent);
  Put(static_cast<int64_t>(tensor.axes.size()));
  for (sdfg::AxisId axis : tensor.axes) Put(axis);
  Put(relations_.Masked(t));
  Put(relations_.Positive(t));
  Put(relations_.NonNegative(t));
  Put(relations_.Zero(t));
  const std::vector<sdfg::IndexMap>* zero_unless = relations_.ZeroUnless(t);
  PutMap(zero_unless != nullptr ? *zero_unless : std::vector<sdfg::IndexMap>());
  Put(relations_.InModelCone(t));
  const solver::IntRange range = relations_.IntRangeOf(t);
  Put(range.low);
  Put(range.high);
  const bool is_value = !relations_.Masked(t) && !sdfg::IsInteger(tensor.dtype);
  const bool through =
      relations_.Inlined(t) && tensor.producer != sdfg::kNone && (through_values_ || !is_value);
  Put(through);
  if (through) PutLogicalDefinition(t, depth + 1);
}

void ClassKeys::PutLogicalDefinition(sdfg::TensorId t, int depth) {
  const sdfg::Tensor& tensor = problem_.logical.tensors[t];
  if (depth > kMaxKeyDepth || sdfg::StackIsShort() || bytes_.size() > kMaxBytes) {
    too_deep_ = true;
    return;
  }
  Put(tensor.producer != sdfg::kNone);
  if (tensor.producer == sdfg::kNone) return;
  const sdfg::Operator& op = problem_.logical.operators[tensor.producer];
  PutFunction(op.function.get());
  Put(op.lifted);
  Put(tensor.producer_output);
  for (sdfg::TensorId input : op.inputs) PutLogical(input, depth);
}

void ClassKeys::PutParallel(sdfg::TensorId t, int depth) {
  const bool inserted = parallel_.Add(t);
  Put(parallel_.Of(t));
  if (!inserted) return;
  const sdfg::Tensor& tensor = problem_.parallel.tensors[t];
  Put(static_cast<int64_t>(tensor.role));
  Put(static_cast<int64_t>(tensor.dtype));
  Put(static_cast<int64_t>(tensor.shape.size()));
  for (int64_t extent : tensor.shape) Put(extent);
  Put(static_cast<int64_t>(tensor.axes.size()));
  for (sdfg::AxisId axis : tensor.axes) Put(axis);
  const bool related = relations_.Related(t);
  Put(related);
  if (related) {
    const lineage::Lineage& l = problem_.lineage[t];
    PutMap(l.map);
    PutLogical(l.logical, depth + 1);
  } else {
    PutParallelDefinition(t, depth + 1);
  }
}

void ClassKeys::PutParallelDefinition(sdfg::TensorId t, int depth) {
  const sdfg::Tensor& tensor = problem_.parallel.tensors[t];
  if (depth > kMaxKeyDepth || sdfg::StackIsShort() || bytes_.size() > kMaxBytes) {
    too_deep_ = true;
    return;
  }
  Put(tensor.producer != sdfg::kNone);
  if (tensor.producer == sdfg::kNone) return;
  const sdfg::Operator& op = problem_.parallel.operators[tensor.producer];
  PutFunction(op.function.get());
  Put(op.lifted);
  Put(tensor.producer_output);
  for (sdfg::TensorId input : op.inputs) PutParallel(input, depth);
}

std::string ClassKeys::Of(const Claim& claim) {
  by_content_ = false;
  PutClaim(claim);
  return too_deep_ ? std::string() : bytes_;
}

std::string ClassKeys::ContentOf(const Claim& claim) {
  by_content_ = true;
  functions_of_claim_.clear();
  PutClaim(claim);
  return too_deep_ ? std::string() : bytes_;
}

std::string ClassKeys::LogicalNames() const {
  std::string names;
  for (const sdfg::TensorId tensor : logical_.order()) {
    const std::string& name = problem_.logical.tensors[tensor].name;
    names += std::to_string(name.size()) + ":" + name;
  }
  return names;
}

std::string ClassKeys::OfLogical(sdfg::TensorId t) {
  by_content_ = false;
  Clear();
  PutLogical(t, 0);
  PutLogicalDefinition(t, 0);
  return too_deep_ ? std::string() : bytes_;
}

std::string ClassKeys::OfLogicalOperator(sdfg::TensorId t) {
  through_values_ = false;
  std::string key = OfLogical(t);
  through_values_ = true;
  return key;
}

void ClassKeys::Clear() {
  bytes_.clear();
  logical_.Clear();
  parallel_.Clear();
  too_deep_ = false;
}

void ClassKeys::PutClaim(const Claim& claim) {
  Clear();
  const sdfg::Tensor& p = problem_.parallel.tensors[claim.parallel];
  Put(static_cast<int64_t>(p.shape.size()));
  for (int64_t extent : p.shape) Put(extent);
  Put(static_cast<int64_t>(p.axes.size()));
  for (sdfg::AxisId axis : p.axes) Put(axis);
  PutMap(claim.target.map);
  // The target: its own descriptor and its definition.
  PutLogical(claim.target.logical, 0);
  PutLogicalDefinition(claim.target.logical, 0);
  // A multiple is decided by the definition of the tensor that it multiplies.
  const sdfg::TensorId of = relations_.MultipleOf(claim.target.logical);
  Put(of != sdfg::kNone);
  if (of != sdfg::kNone) PutLogicalDefinition(of, 0);
  // The claimed tensor by its definition; a tensor without producer by what it is said to be.
  if (p.producer == sdfg::kNone) {
    PutParallel(claim.parallel, 0);
  } else {
    PutParallelDefinition(claim.parallel, 0);
  }
}

}  // namespace planproof::stages
