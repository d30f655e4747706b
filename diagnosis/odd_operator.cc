#include "diagnosis/odd_operator.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "lineage/multiple.h"
#include "solver/hash_mix.h"

namespace planproof::diagnosis {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::TensorId;
using solver::MixHash;

namespace {

constexpr uint64_t kUnknownOperand = 0x6f70;

uint64_t HashOfFunction(const Operator& op) {
  return reinterpret_cast<uintptr_t>(op.function.get());  // equal functions share one object
}

// Of what layers have in common of a name: all but the numbers in it, and the program before a
// colon.
uint64_t HashOfName(const sdfg::Graph& graph, const Operator& op) {
  uint64_t hash = 0;
  for (const TensorId t : op.outputs) {
    if (t == kNone) continue;
    const std::string& name = graph.tensors[t].name;
    const size_t colon = name.rfind(':');
    for (size_t c = colon == name.npos ? 0 : colon + 1; c < name.size(); ++c) {
      if (name[c] < '0' || name[c] > '9') hash = MixHash(hash, static_cast<uint8_t>(name[c]));
    }
  }
  return hash;
}

// What reads a tensor, as functions and places of operands: alike in all layers.
std::vector<uint64_t> HashesOfReaders(const sdfg::Graph& graph) {
  std::vector<uint64_t> readers(graph.tensors.size(), 0);
  for (const Operator& op : graph.operators) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != kNone) readers[op.inputs[i]] += MixHash(HashOfFunction(op), i);
    }
  }
  return readers;
}

// What a tensor of the model is, without saying of which layer.
std::vector<uint64_t> HashesOfLogical(const sdfg::Graph& graph) {
  const std::vector<uint64_t> readers = HashesOfReaders(graph);
  std::vector<uint64_t> hashes(graph.tensors.size());
  for (size_t t = 0; t < hashes.size(); ++t) {
    const sdfg::Tensor& tensor = graph.tensors[t];
    hashes[t] = MixHash(readers[t], absl::HashOf(tensor.shape));
    if (tensor.producer == kNone) continue;
    hashes[t] = MixHash(hashes[t], MixHash(HashOfFunction(graph.operators[tensor.producer]),
                                           tensor.producer_output));
  }
  // And what reads what is computed from it: keys and values have other readers' readers.
  std::vector<uint64_t> further = hashes;
  for (const Operator& op : graph.operators) {
    for (const TensorId from : op.inputs) {
      for (const TensorId to : op.outputs) {
        if (from != kNone && to != kNone) further[from] += MixHash(readers[to], 0xf0);
      }
    }
  }
  return further;
}

uint64_t HashOfMap(const std::vector<sdfg::IndexMap>& map) {
  uint64_t hash = map.size();
  for (const sdfg::IndexMap& dimension : map) {
    hash = MixHash(hash, dimension.constant);
    for (const sdfg::IndexTerm& t : dimension.terms) {
      hash = MixHash(hash, absl::HashOf(t.dim, t.scale, t.div, t.mod, t.offset, t.gate.dim,
                                        t.gate.div, t.gate.mod, t.gate.offset));
    }
  }
  return hash;
}

class Search {
 public:
  Search(const lineage::Problem& problem, const std::vector<bool>& among,
         const std::vector<bool>& right)
      : problem_(problem),
        graph_(problem.parallel),
        among_(among),
        right_(right),
        logical_(HashesOfLogical(problem.logical)),
        readers_(HashesOfReaders(graph_)),
        weight_(graph_.tensors.size(), false),
        hashes_(graph_.tensors.size(), kUnknownOperand),
        clean_(graph_.tensors.size(), true) {
    for (size_t t = 0; t < hashes_.size(); ++t) {
      if (graph_.tensors[t].producer != kNone) continue;
      hashes_[t] = HashOfSource(static_cast<TensorId>(t));
      weight_[t] = graph_.tensors[t].role == sdfg::TensorRole::kParameter;
    }
    for (const Operator& op : graph_.operators) {
      const bool weight = std::all_of(op.inputs.begin(), op.inputs.end(),
                                      [&](TensorId t) { return t == kNone || weight_[t]; });
      for (const TensorId t : op.outputs) {
        if (t != kNone) weight_[t] = weight && !op.inputs.empty();
      }
      names_.push_back(HashOfName(graph_, op));
      whole_.push_back(HashOfOperator(op));
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        if (op.outputs[o] != kNone) hashes_[op.outputs[o]] = MixHash(whole_.back(), o);
      }
      Learn(op);
    }
  }

  std::optional<OddOperator> Find() {
    for (size_t o = 0; o < graph_.operators.size(); ++o) {
      const auto id = static_cast<OperatorId>(o);
      const Operator& op = graph_.operators[o];
      const bool clean = std::all_of(op.inputs.begin(), op.inputs.end(),
                                     [&](TensorId t) { return t == kNone || clean_[t]; });
      const bool alike = Others(alike_, whole_[o], id) != kNone;
      for (const TensorId t : op.outputs) {
        if (t != kNone) clean_[t] = right_[t] || (clean && alike);
      }
      if (!clean || alike || op.inputs.empty() || !IsAmong(op) || IsRight(op)) continue;
      if (auto odd = CompareWithCounterpart(id)) return odd;
    }
    return std::nullopt;
  }

 private:
  // At most two operators of each hash.
  struct Two {
    OperatorId first = kNone, second = kNone;
  };
  using ByHash = std::unordered_map<uint64_t, Two>;

  static void Add(uint64_t hash, OperatorId id, ByHash* to) {
    Two& two = (*to)[hash];
    (two.first == kNone ? two.first : two.second) = id;
  }
  static OperatorId Others(const ByHash& in, uint64_t hash, OperatorId than) {
    const auto found = in.find(hash);
    if (found == in.end()) return kNone;
    return found->second.first == than ? found->second.second : found->second.first;
  }

  OperatorId IdOf(const Operator& op) const {
    return static_cast<OperatorId>(&op - graph_.operators.data());
  }

  void Learn(const Operator& op) {
    const OperatorId id = IdOf(op);
    const uint64_t place = HashOfPlace(op);
    Add(whole_[id], id, &alike_);
    Add(MixHash(place, HashOfOperator(op, kAllOperands, false)), id, &other_function_);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      Add(MixHash(MixHash(place, i), HashOfOperator(op, i)), id, &other_operand_);
    }
  }

  uint64_t HashOfSource(TensorId t) const {
    const lineage::Lineage& l = problem_.lineage[t];
    const uint64_t type = absl::HashOf(graph_.tensors[t].shape);
    if (l.kind != LineageKind::kFull) return MixHash(0x50, type);
    return MixHash(logical_[lineage::AsMultiple(problem_.logical, l.logical).of],
                   MixHash(HashOfMap(l.map), type));
  }

  // All that it computes from, but for one operand or its function. What is computed with a weight
  // is told by the weight alone: what else goes into it differs from layer to layer.
  uint64_t HashOfOperator(const Operator& op, size_t without = kAllOperands,
                          bool with_function = true) const {
    uint64_t hash = MixHash(with_function ? HashOfFunction(op) : 0x0f, names_[IdOf(op)]);
    const bool weights = HasWeight(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId t = op.inputs[i];
      const bool unknown = i == without || t == kNone || (weights && !weight_[t]);
      hash = MixHash(hash, unknown ? kUnknownOperand : hashes_[t]);
    }
    return hash;
  }

  bool HasWeight(const Operator& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId t) { return t != kNone && weight_[t]; });
  }

  // The place of an operator: what reads its results.
  uint64_t HashOfPlace(const Operator& op) const {
    uint64_t hash = op.outputs.size();
    for (const TensorId t : op.outputs) {
      const uint64_t output =
          t == kNone ? 0 : MixHash(readers_[t], absl::HashOf(graph_.tensors[t].shape));
      hash = MixHash(hash, output);
    }
    return hash;
  }

  bool IsAmong(const Operator& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(),
                       [&](TensorId t) { return t != kNone && among_[t]; });
  }
  bool IsRight(const Operator& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(),
                       [&](TensorId t) { return t != kNone && right_[t]; });
  }

  std::optional<OddOperator> CompareWithCounterpart(OperatorId id) const {
    const Operator& op = graph_.operators[id];
    const uint64_t place = HashOfPlace(op);
    const OperatorId like =
        Others(other_function_, MixHash(place, HashOfOperator(op, kAllOperands, false)), id);
    if (like != kNone && !ComputesFrom(like, id)) {
      return OddOperator{id, like,
                         absl::StrCat("is another function than ", graph_.Describe(like))};
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const OperatorId other =
          Others(other_operand_, MixHash(MixHash(place, i), HashOfOperator(op, i)), id);
      if (other == kNone || ComputesFrom(other, id)) continue;
      return OddOperator{
          id, other,
          absl::StrCat("reads ", NameOf(op.inputs[i]), " where ", graph_.Describe(other), " reads ",
                       NameOf(graph_.operators[other].inputs[i]))};
    }
    return std::nullopt;
  }

  // Back to where weights come in. A later step of the same chain looks alike, and is no
  // counterpart.
  bool ComputesFrom(OperatorId later, OperatorId earlier) const {
    std::vector<OperatorId> work = {later};
    std::unordered_set<OperatorId> seen = {later};
    while (!work.empty()) {
      const Operator& op = graph_.operators[work.back()];
      work.pop_back();
      for (const TensorId t : op.inputs) {
        if (t == kNone || (HasWeight(op) && !weight_[t])) continue;
        const OperatorId producer = graph_.tensors[t].producer;
        if (producer == earlier) return true;
        // Operators are in dataflow order.
        if (producer > earlier && seen.insert(producer).second) work.push_back(producer);
      }
    }
    return false;
  }

  std::string NameOf(TensorId t) const { return t == kNone ? "nothing" : graph_.tensors[t].name; }

  static constexpr size_t kAllOperands = ~size_t{0};
  const lineage::Problem& problem_;
  const sdfg::Graph& graph_;
  const std::vector<bool>& among_;
  const std::vector<bool>& right_;
  const std::vector<uint64_t> logical_, readers_;
  std::vector<bool> weight_;             // by parallel tensor: computed from parameters alone
  std::vector<uint64_t> hashes_;         // by parallel tensor
  std::vector<bool> clean_;              // by parallel tensor: right, or computed as others are
  std::vector<uint64_t> names_, whole_;  // by operator
  ByHash alike_, other_function_, other_operand_;
};

}  // namespace

std::optional<OddOperator> FindOddOperator(const lineage::Problem& problem,
                                           const std::vector<bool>& among,
                                           const std::vector<bool>& right) {
  return Search(problem, among, right).Find();
}

}  // namespace planproof::diagnosis
