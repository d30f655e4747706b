#include "inference/copies.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "inference/movement.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::inference {

namespace {

using sdfg::DenseTensor;
using sdfg::Graph;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::TensorId;

// So many elements are followed one by one.
constexpr int64_t kMaxElements = 1 << 16;

// The operand that the output is elements of, by its definition.
TensorId MovedFrom(const Operator& op, int output) {
  const sdfg::IndexFunction& f = *op.function;
  const sdfg::ExprId body = f.outputs[output].body;
  if (body == sdfg::kNoExpr || f.nodes[body].op != sdfg::Op::kElement) return kNone;
  return op.inputs[f.nodes[body].input];
}

class Copies {
 public:
  explicit Copies(const Graph& graph) : graph_(graph), from_(graph.tensors.size()) {}

  std::vector<TensorId> Find() {
    first_.resize(graph_.tensors.size());
    std::iota(first_.begin(), first_.end(), 0);
    for (const Operator& op : graph_.operators) {
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        if (op.outputs[o] == kNone) continue;
        const TensorId source = MovedFrom(op, static_cast<int>(o));
        if (source != kNone && from_[source].empty()) {
          first_[op.outputs[o]] = first_[source];
        } else if (TakesElementsByPlace(*op.function)) {
          Follow(op.outputs[o], op);
        }
      }
    }
    return std::move(first_);
  }

 private:
  // Elements are numbers of their own: those of a tensor that nothing was joined to are
  // consecutive.
  void Follow(TensorId id, const Operator& op) {
    if (sdfg::ElementCount(graph_.tensors[id].shape) > kMaxElements) return;
    std::vector<DenseTensor> operands;
    for (const TensorId t : op.inputs) {
      if (t == kNone || sdfg::ElementCount(graph_.tensors[t].shape) > kMaxElements) return;
      operands.push_back({graph_.tensors[t].shape, Elements(t)});
    }
    const auto results = sdfg::EvaluateDense(*op.function, operands);
    if (!results.ok()) return;
    const std::vector<double>& own = (*results)[graph_.tensors[id].producer_output].data;
    const auto owner_of = [&](double element) {
      return std::prev(std::upper_bound(begins_.begin(), begins_.end(),
                                        std::make_pair(element, graph_.tensors.size())))
          ->second;
    };
    if (begins_.empty() || own.empty()) return;
    const bool of_one = std::all_of(own.begin(), own.end(), [&](double element) {
      return element >= kFirst && owner_of(element) == owner_of(own[0]);
    });
    if (of_one) {
      first_[id] = static_cast<TensorId>(owner_of(own[0]));
    } else {
      from_[id] = own;
    }
  }

  // Where the elements of the tensor come from.
  std::vector<double> Elements(TensorId id) {
    if (!from_[id].empty()) return from_[id];
    const auto count = sdfg::ElementCount(graph_.tensors[id].shape);
    begins_.emplace_back(next_, first_[id]);
    std::vector<double> elements(count);
    for (double& element : elements) element = next_++;
    return elements;
  }

  // Above what constants usually are.
  static constexpr double kFirst = 1e9;

  const Graph& graph_;
  std::vector<TensorId> first_;
  std::vector<std::vector<double>> from_;          // by tensor that several were joined to
  std::vector<std::pair<double, size_t>> begins_;  // of elements that were numbered, and of what
  double next_ = kFirst;
};

}  // namespace

std::vector<TensorId> FirstOfCopies(const Graph& graph) { return Copies(graph).Find(); }

}  // namespace planproof::inference
