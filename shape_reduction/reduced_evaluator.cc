#include "shape_reduction/reduced_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "lineage/map_range.h"
#include "shape_reduction/block_evaluator.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/domain_interval.h"
#include "shape_reduction/domain_mpfi.h"
#include "shape_reduction/guarded_read.h"
#include "shape_reduction/program_partition.h"

namespace planproof::shape_reduction {
namespace {

constexpr size_t kMaxSelections = 8;  // of one tensor, each on what those before keep

// The body is the input itself, index by index.
bool IsIdentity(const ScalarProgram& program) {
  const sdfg::Node& body = program.nodes[program.body];
  if (body.op != sdfg::Op::kElement && body.op != sdfg::Op::kIntElement) return false;
  if (body.args.size() != program.dims.size() || !program.premises.empty()) return false;
  for (size_t d = 0; d < body.args.size(); ++d) {
    const IndexForm& form = program.forms[body.args[d]];
    const sdfg::VarId var = program.dims[d];
    const bool unit = program.vars[var].extent == 1 && form.IsConstant() && form.constant == 0;
    const bool same = form.constant == 0 && form.atoms.empty() && form.terms.size() == 1 &&
                      form.terms[0].var == var && form.terms[0].div == 1 &&
                      form.terms[0].scale == 1 && form.terms[0].extent == program.vars[var].extent;
    if (!unit && !same) return false;
  }
  return true;
}

// The same partitions and the same bits.
template <typename D>
bool SameContent(const BlockTensor<typename D::Value>& a, const BlockTensor<typename D::Value>& b) {
  if (a.int_valued != b.int_valued || a.ints != b.ints || a.dims.size() != b.dims.size() ||
      a.values.size() != b.values.size()) {
    return false;
  }
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (a.dims[d] != b.dims[d] && !(*a.dims[d] == *b.dims[d])) return false;
  }
  const auto same = [](const auto& x, const auto& y) {
    return std::bit_cast<uint64_t>(D::Lower(x)) == std::bit_cast<uint64_t>(D::Lower(y)) &&
           std::bit_cast<uint64_t>(D::Upper(x)) == std::bit_cast<uint64_t>(D::Upper(y));
  };
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), same);
}

}  // namespace

template <typename V>
BlockTensorPtr<V> ConstantTensor(const sdfg::Shape& shape, V value) {
  auto tensor = std::make_shared<BlockTensor<V>>();
  int64_t blocks = 1;
  for (int64_t extent : shape) {
    tensor->dims.push_back(std::make_shared<const DimPartition>(extent));
    blocks *= tensor->dims.back()->blocks();
  }
  tensor->values.assign(blocks, std::move(value));
  return tensor;
}

template <typename D>
typename ReducedEvaluator<D>::Ptr ReducedEvaluator<D>::Intern(Ptr tensor) {
  // Only here are bounds in doubles the whole content.
  if (!enclose_ || !std::is_same_v<D, IntervalDomain>) return tensor;
  uint64_t hash = tensor->int_valued ? 1 : 0;
  const auto mix = [&hash](uint64_t x) {
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  for (const PartitionPtr& dim : tensor->dims) {
    mix(static_cast<uint64_t>(dim->extent()));
    mix(static_cast<uint64_t>(dim->blocks()));
  }
  for (int64_t x : tensor->ints) mix(static_cast<uint64_t>(x));
  for (const V& x : tensor->values) {
    mix(std::bit_cast<uint64_t>(D::Lower(x)));
    mix(std::bit_cast<uint64_t>(D::Upper(x)));
  }
  const auto [begin, end] = interned_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (Ptr known = at->second.lock(); known != nullptr && SameContent<D>(*known, *tensor)) {
      return known;
    }
  }
  interned_.emplace(hash, tensor);
  return tensor;
}

template <typename D>
absl::Status ReducedEvaluator<D>::Apply(const ScalarProgram& program,
                                        const std::vector<Ptr>& inputs, int64_t max_elements,
                                        Ptr* result, PremiseCheck* premises) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i >= program.input_ranks.size() ||
        inputs[i]->dims.size() != static_cast<size_t>(program.input_ranks[i])) {
      return absl::InternalError("an operand has not as many dimensions as the operator reads");
    }
  }
  if (IsIdentity(program)) {
    const Ptr& input = inputs[program.nodes[program.body].input];
    bool same = input->int_valued == program.int_valued;
    for (size_t d = 0; d < program.dims.size(); ++d) {
      same &= input->dims[d]->extent() == program.vars[program.dims[d]].extent;
    }
    if (same) {
      *result = input;
      return absl::OkStatus();
    }
  }
  std::vector<const void*> key = {&program};
  for (const Ptr& input : inputs) key.push_back(input.get());
  Remembered& remembered = remembered_[key];
  bool alive = remembered.inputs.size() == inputs.size();
  for (size_t i = 0; alive && i < inputs.size(); ++i) {
    alive = remembered.inputs[i].lock() == inputs[i];
  }
  if (alive) {
    *result = remembered.result.lock();
    *premises = remembered.premises;
    if (*result != nullptr) return absl::OkStatus();
  }
  std::vector<InputBlocks> blocks;
  std::vector<const BlockTensor<V>*> raw;
  for (const Ptr& input : inputs) {
    blocks.push_back({input->dims, input->int_valued ? &input->ints : nullptr});
    raw.push_back(input.get());
  }
  LooseComparisons loose{.nodes = {}, .otherwise = &compared_};
  const std::vector<DimPartition> partitions =
      DerivePartitions(program, blocks, enclose_ ? &loose : nullptr);
  auto output = std::make_shared<BlockTensor<V>>();
  PremiseCheck check;
  absl::Status status =
      BlockEvaluator<D>(program, partitions, raw, max_elements, enclose_ ? &loose.nodes : nullptr)
          .Run(output.get(), &check);
  if (!status.ok()) return status;
  remembered.inputs.assign(inputs.begin(), inputs.end());
  remembered.premises = check;
  *premises = check;
  *result = Intern(std::move(output));
  remembered.result = *result;
  return absl::OkStatus();
}

template <typename D>
absl::Status ReducedEvaluator<D>::Read(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                                       const std::vector<lineage::IndexMap>& map, const Ptr& value,
                                       int64_t max_elements, Ptr* result) {
  const ScalarProgram& program = programs_.GetRead(parallel, logical, map, value->int_valued);
  bool inside = map.size() == logical.size();
  for (size_t d = 0; inside && d < logical.size(); ++d) {
    __int128 low, high;
    inside =
        lineage::RangeOfMap(map[d], parallel, &low, &high).ok() && low >= 0 && high < logical[d];
  }
  if (!inside && std::find(parallel.begin(), parallel.end(), 0) == parallel.end()) {
    return absl::InvalidArgumentError("the lineage reaches beyond the logical tensor");
  }
  PremiseCheck unused;
  return Apply(program, {value}, max_elements, result, &unused);
}

template <typename D>
void ReducedEvaluator<D>::Remember(const sdfg::Operator& op, const ScalarProgram& program,
                                   const std::vector<Ptr>& inputs, sdfg::TensorId output,
                                   int64_t max_elements, SelectedByTensor* selected) {
  const auto of = [&](int input) {
    const auto it = selected->find(op.inputs[input]);
    return it == selected->end() ? std::vector<Selected>() : it->second;
  };
  std::vector<Selected> own;
  if (IsIdentity(program)) {
    own = of(program.nodes[program.body].input);
  } else if (const int input = KeptInput(program); input >= 0) {
    own.push_back({&op, &program, inputs[input]});
    // What was selected before, where this selection keeps it.
    for (Selected before : of(input)) {
      if (own.size() == kMaxSelections) break;
      std::unique_ptr<ScalarProgram>& with_kept = with_kept_[&program];
      if (with_kept == nullptr) with_kept = std::make_unique<ScalarProgram>(WithKeptInput(program));
      std::vector<Ptr> operands = inputs;
      operands.push_back(before.kept);
      PremiseCheck unused;
      const absl::Status status = Apply(*with_kept, operands, max_elements, &before.kept, &unused);
      if (status.ok()) own.push_back(std::move(before));  // else it is read as it is masked
    }
  }
  if (!own.empty()) selected->emplace(output, std::move(own));
}

template <typename D>
std::vector<BlockTensorPtr<typename D::Value>> ReducedEvaluator<D>::KeptInputs(
    const sdfg::Operator& op, const ScalarProgram& program, const SelectedByTensor& selected,
    std::vector<Ptr> inputs) {
  if (selected.empty()) return inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto it = selected.find(op.inputs[i]);
    if (it == selected.end()) continue;
    for (const Selected& s : it->second) {
      if (!IsGuardedAlike(program, op.inputs, static_cast<int>(i), *s.program, s.op->inputs)) {
        continue;
      }
      inputs[i] = s.kept;
      break;
    }
  }
  return inputs;
}

template <typename D>
absl::Status ReducedEvaluator<D>::Evaluate(const sdfg::Graph& graph, const ReducedOptions& options,
                                           std::vector<Ptr>* values,
                                           std::vector<OpenPremise>* open_premises) {
  values->resize(graph.tensors.size());
  std::vector<char> needed(graph.tensors.size(), options.cone_of.empty());
  std::vector<char> kept = needed;
  for (sdfg::TensorId id : options.cone_of) needed[id] = kept[id] = 1;
  std::vector<int> uses(graph.tensors.size(), 0);
  auto open = [&](sdfg::TensorId id) {
    return id != sdfg::kNone && needed[id] && (*values)[id] == nullptr;
  };
  for (size_t o = graph.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[o];
    const bool used = std::any_of(op.outputs.begin(), op.outputs.end(), open);
    if (!used) continue;
    for (sdfg::TensorId id : op.inputs) {
      needed[id] = 1;
      ++uses[id];
    }
  }
  for (size_t id = 0; id < graph.tensors.size(); ++id) {
    const sdfg::Tensor& tensor = graph.tensors[id];
    if ((*values)[id] != nullptr || tensor.producer != sdfg::kNone || !needed[id]) continue;
    if (tensor.role == sdfg::TensorRole::kOne || tensor.role == sdfg::TensorRole::kZero) {
      const bool one = tensor.role == sdfg::TensorRole::kOne;
      (*values)[id] = Intern(ConstantTensor<V>(tensor.shape, D::FromInt(one)));
    } else {
      return absl::InvalidArgumentError("no value for tensor " + tensor.name);
    }
  }
  SelectedByTensor selected;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    const sdfg::Operator& op = graph.operators[o];
    const bool used = std::any_of(op.outputs.begin(), op.outputs.end(), open);
    if (!used) continue;
    if (WorkClock::now() > options.deadline) {
      return absl::DeadlineExceededError("out of time at " +
                                         graph.Describe(static_cast<sdfg::OperatorId>(o)));
    }
    std::vector<Ptr> inputs;
    bool missing = false;
    for (sdfg::TensorId id : op.inputs) {
      if ((*values)[id] == nullptr) {
        missing = options.skip_too_fine;
        if (missing) break;
        return absl::InvalidArgumentError("no value for tensor " + graph.tensors[id].name);
      }
      inputs.push_back((*values)[id]);
    }
    for (size_t k = 0; k < op.outputs.size() && !missing; ++k) {
      const sdfg::TensorId id = op.outputs[k];
      if (!open(id)) continue;
      PremiseCheck check;
      const ScalarProgram& program = programs_.Get(graph, op, static_cast<int>(k));
      const std::vector<Ptr> read = enclose_ ? KeptInputs(op, program, selected, inputs) : inputs;
      absl::Status status = Apply(program, read, options.max_elements, &(*values)[id], &check);
      if (enclose_ && status.ok()) {
        Remember(op, program, read, id, options.max_elements, &selected);
      }
      if (options.skip_too_fine && absl::IsResourceExhausted(status)) {
        (*values)[id] = nullptr;
        continue;
      }
      if (!status.ok()) {
        const std::string where = graph.Describe(static_cast<sdfg::OperatorId>(o)) + ", tensor " +
                                  graph.tensors[id].name + ": " + std::string(status.message());
        return absl::Status(status.code(), where);
      }
      if (check.violated || check.undecided) {
        open_premises->push_back({static_cast<sdfg::OperatorId>(o), check});
      }
      if (options.on_produced && !options.on_produced(id)) return absl::OkStatus();
    }
    if (!options.free_intermediates) continue;
    for (sdfg::TensorId id : op.inputs) {
      const bool source = graph.tensors[id].producer == sdfg::kNone;
      if (--uses[id] != 0 || kept[id] || source) continue;
      (*values)[id] = nullptr;
      selected.erase(id);
    }
  }
  return absl::OkStatus();
}

template class ReducedEvaluator<DoubleDomain>;
template class ReducedEvaluator<LongDoubleDomain>;
template class ReducedEvaluator<IntervalDomain>;
template class ReducedEvaluator<MpfiDomain>;
template BlockTensorPtr<double> ConstantTensor(const sdfg::Shape&, double);
template BlockTensorPtr<long double> ConstantTensor(const sdfg::Shape&, long double);
template BlockTensorPtr<Interval> ConstantTensor(const sdfg::Shape&, Interval);
template BlockTensorPtr<MpfiValue> ConstantTensor(const sdfg::Shape&, MpfiValue);

}  // namespace planproof::shape_reduction
