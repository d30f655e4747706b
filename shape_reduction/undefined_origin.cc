#include "shape_reduction/undefined_origin.h"

namespace planproof::shape_reduction {

using sdfg::TensorId;

UndefinedBy AnyUndefined(const BlockTensor<Interval>& tensor) {
  for (const Interval& value : tensor.values) {
    const UndefinedBy by = IntervalDomain::CertainlyUndefined(value);
    if (by != UndefinedBy::kNothing) return by;
  }
  return UndefinedBy::kNothing;
}

UndefinedOrigin FindUndefinedOrigin(const sdfg::Graph& graph, TensorId root,
                                    const std::vector<TensorId>& proved,
                                    const std::function<UndefinedBy(TensorId)>& undefined) {
  std::vector<char> done(graph.tensors.size(), 0);
  for (TensorId id : proved) done[id] = 1;
  std::vector<TensorId> work = {root};
  while (!work.empty()) {
    const TensorId id = work.back();
    work.pop_back();
    if (done[id] || undefined(id) == UndefinedBy::kNothing) continue;
    done[id] = 1;
    const sdfg::OperatorId producer = graph.tensors[id].producer;
    if (producer == sdfg::kNone) continue;
    bool passed_on = false;
    for (TensorId input : graph.operators[producer].inputs) {
      if (undefined(input) == UndefinedBy::kNothing) continue;
      passed_on = true;
      work.push_back(input);
    }
    if (!passed_on) return {id, undefined(id)};
  }
  return {};
}

std::string InWords(UndefinedBy by) {
  switch (by) {
    case UndefinedBy::kRootOfNegative:
      return "root of a negative number";
    case UndefinedBy::kLogarithm:
      return "logarithm of a number that is not positive";
    case UndefinedBy::kDivisionByZero:
      return "division by zero";
    case UndefinedBy::kMaskTimesZero:
      return "product of 0 and a mask's -infinity";
    case UndefinedBy::kBothInfinities:
      return "sum of infinities of both signs, which a mask's -infinity has become";
    case UndefinedBy::kInfinityByInfinity:
      return "quotient of infinities, which a mask's -infinity has become";
    case UndefinedBy::kNothing:
      break;
  }
  return "";
}

}  // namespace planproof::shape_reduction
