// Repairs about terms: what is added is missing, counts too much or too little, or comes from
// the wrong place.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxContributions = 64;
constexpr size_t kMaxContributionOperands = 8;
constexpr int64_t kMaxOfFraction = 8;     // of the smaller of its numbers
constexpr int kMaxContributionSteps = 3;  // from what is read to what should be read

Values Times(double factor, const Values& value) {
  auto product = std::make_shared<shape_reduction::BlockTensor<double>>(*value);
  for (double& x : product->values) x = factor == 0 ? 0 : factor * x;
  return product;
}

double LargestOf(const std::vector<double>& values) {
  double largest = 0;
  for (double x : values) largest = std::max(largest, std::fabs(x));
  return largest;
}

// x + y of whole tensors, or null.
std::shared_ptr<const sdfg::IndexFunction> Sum(const sdfg::Tensor& tensor) {
  sdfg::IndexFunctionBuilder builder("add");
  const int x = builder.AddInput("x", tensor.shape, tensor.dtype);
  const int y = builder.AddInput("y", tensor.shape, tensor.dtype);
  const int sum = builder.AddOutput("sum", tensor.shape, tensor.dtype);
  std::vector<sdfg::ExprId> at;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(builder.OutputDims(sum))) {
    at.push_back(builder.Index(var));
  }
  builder.SetBody(sum,
                  builder.Binary(sdfg::Op::kAdd, builder.Element(x, at), builder.Element(y, at)));
  sdfg::IndexFunction function;
  if (!builder.Finish(&function).ok()) return nullptr;
  return std::make_shared<const sdfg::IndexFunction>(std::move(function));
}

}  // namespace

std::string RepairSearch::Term(TensorId tensor) const {
  const sdfg::Tensor& t = graph_.tensors[tensor];
  const bool others = std::any_of(graph_.tensors.begin(), graph_.tensors.end(), [&](const auto& o) {
    return o.device != t.device && o.name == t.name;
  });
  return others ? Place(tensor) : t.name;
}

// An operand adds something to the result, and a multiple of that would be right.
void RepairSearch::TryContributions() {
  for (size_t o = subject_.operators.size(); o-- > 0;) {
    const OperatorId id = subject_.operators[o];
    const sdfg::Operator& op = graph_.operators[id];
    for (size_t k = 0; k < std::min(op.inputs.size(), kMaxContributionOperands); ++k) {
      const Values& value = replay_.Parallel(op.inputs[k]);
      if (Late() || value == nullptr || value->int_valued) continue;
      const Values without = WithOperand(id, static_cast<int>(k), Times(0, value));
      if (without == nullptr) continue;
      const std::vector<double> rest = AtPoints(without);
      const std::vector<double> is = Combine(actual_at_, -1, rest);
      const std::vector<double> wanted = Combine(claimed_at_, -1, rest);
      const double size = LargestOf(is), all = LargestOf(actual_at_);
      // Without it nothing is left: a factor of the whole; or it adds nothing.
      if (!(size > 1e-6 * all) || !(LargestOf(rest) > 1e-6 * all)) continue;
      const size_t most =
          std::max_element(is.begin(), is.end(),
                           [](double a, double b) { return std::fabs(a) < std::fabs(b); }) -
          is.begin();
      const double ratio = wanted[most] / is[most];
      const std::set<double> different(is.begin(), is.end());
      const bool gone = std::fabs(ratio) < 1e-7;
      const auto [above, below] =
          gone ? std::pair<int64_t, int64_t>{0, 1} : SimpleFraction(ratio, 64);
      const bool simple = std::min(std::abs(above), below) <= kMaxOfFraction;
      // Of one number there is always such a multiple: it has to be the same on other inputs.
      const bool of_one_number = is.size() == 1;
      if ((above == 0 && !gone) || above == below || !simple) continue;
      if (different.size() < 2 && !of_one_number) continue;
      const double factor = static_cast<double>(above) / static_cast<double>(below);
      if (!AgreeNumbers(Combine(rest, factor, is), claimed_at_)) continue;
      // What is added is halved with the operand; a maximum, or an exponent, is not.
      const Values halved = WithOperand(id, static_cast<int>(k), Times(0.5, value));
      if (halved == nullptr) continue;
      const std::vector<double> with_half = AtPoints(halved);
      if (!AgreeNumbers(Combine(rest, 0.5, is), with_half)) continue;
      const std::string name = Term(op.inputs[k]);
      const std::string sizes = above == 1 ? SizesThatAre(below) : "";
      if (gone) {
        Found(absl::StrCat("contribution of ", name, " counted once too often"), id);
      } else if (above == -1 && below == 1) {
        Found(absl::StrCat(name, " counts with the wrong sign"), id);
      } else if (!sizes.empty()) {
        Found(absl::StrCat(name, " is added ", below, " times", sizes), id);
      } else {
        const std::string part = above == 1    ? absl::StrCat(below)
                                 : above > 0   ? absl::StrCat(below, "/", above)
                                 : above == -1 ? absl::StrCat(-below)
                                               : absl::StrCat(-below, "/", -above);
        const bool more = below >= std::abs(above);
        Found(absl::StrCat(name, " counts ", part, more ? " times" : " of", " what it must"), id);
      }
      causes_.back().of_one_number = of_one_number;
      return;
    }
  }
}

// A tensor that nothing reads, added, makes the result right.
void RepairSearch::TryForgottenTerms() {
  std::vector<bool> read(graph_.tensors.size(), false);
  for (const sdfg::Operator& op : graph_.operators) {
    for (const TensorId input : op.inputs) read[input] = true;
  }
  for (const auto& required : problem_.required) read[required.parallel] = true;
  size_t tried = 0;
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    const TensorId term = static_cast<TensorId>(t);
    const sdfg::Tensor& tensor = graph_.tensors[t];
    const Values& value = replay_.Parallel(term);
    if (read[t] || tensor.producer == kNone || value == nullptr || value->int_valued) continue;
    for (size_t o = subject_.operators.size(); o-- > 0;) {
      for (const TensorId to : graph_.operators[subject_.operators[o]].outputs) {
        if (to == kNone || to == term || graph_.tensors[to].shape != tensor.shape ||
            graph_.tensors[to].axes != tensor.axes || graph_.tensors[to].device != tensor.device) {
          continue;
        }
        if (++tried > kMaxContributions || Late()) return;
        sdfg::Operator add;
        add.function = Sum(tensor);
        add.lifted = false;
        add.inputs = {to, term};
        add.outputs = {to};
        if (add.function == nullptr) continue;
        const Values sum = RunStage({.tensors = {{to, [&](const Values& is) {
                                                    return replay_.Apply(add, 0, {is, value});
                                                  }}}});
        if (!Agree(sum, claimed_)) continue;
        Found(absl::StrCat(tensor.name, ", which nothing reads, is not added",
                           to == subject_.tensor ? "" : " to ",
                           to == subject_.tensor ? "" : graph_.tensors[to].name),
              graph_.tensors[to].producer);
        return;
      }
    }
  }
}

// What the model adds up to the tensor, and the sums of parts of it.
std::vector<TensorId> RepairSearch::ModelTerms() const {
  constexpr size_t kMaxTerms = 12;
  const sdfg::Graph& model = problem_.logical;
  const sdfg::Tensor& result = model.tensors[subject_.lineage.logical];
  std::vector<TensorId> terms = {subject_.lineage.logical};
  for (size_t t = 0; t < terms.size() && terms.size() < kMaxTerms; ++t) {
    const OperatorId producer = model.tensors[terms[t]].producer;
    if (producer == kNone) continue;
    const sdfg::IndexFunction& function = *model.operators[producer].function;
    if (function.outputs.size() != 1) continue;
    const sdfg::Node& body = function.nodes[function.outputs[0].body];
    if (body.op != sdfg::Op::kAdd) continue;
    for (const TensorId term : model.operators[producer].inputs) {
      if (model.tensors[term].shape == result.shape) terms.push_back(term);
    }
  }
  terms.erase(terms.begin());
  return terms;
}

// The model adds something that is missing here, or that stands here in place of another term.
void RepairSearch::TryModelTerms() {
  if (points_.empty()) return;
  const std::vector<TensorId> terms = ModelTerms();
  const std::vector<double> missing = Combine(claimed_at_, -1, actual_at_);
  std::vector<std::vector<double>> at;
  for (const TensorId term : terms) {
    lineage::Lineage part = subject_.lineage;
    part.logical = term;
    const Values value = replay_.Claimed(graph_.tensors[subject_.tensor].shape, part);
    if (value == nullptr || value->int_valued) return;
    at.push_back(AtPoints(value));
  }
  const auto name = [&](size_t t) { return problem_.logical.tensors[terms[t]].name; };
  for (size_t t = 0; t < terms.size(); ++t) {
    if (std::any_of(at[t].begin(), at[t].end(), [](double x) { return x != 0; }) &&
        AgreeNumbers(missing, at[t])) {
      Found(absl::StrCat("the term ", name(t), " is missing"));
      return;
    }
  }
  for (size_t t = 0; t < terms.size(); ++t) {
    for (size_t twice = 0; twice < terms.size(); ++twice) {
      if (twice == t || !AgreeNumbers(missing, Combine(at[t], -1, at[twice]))) continue;
      Found(absl::StrCat(name(twice), " is added twice, in place of ", name(t)));
      return;
    }
  }
}

// An operand is read from before something was done to it: such as a gradient before it is
// averaged.
void RepairSearch::TryLaterOperands() {
  std::multimap<TensorId, TensorId> makes;  // of operators of one operand
  for (const sdfg::Operator& op : graph_.operators) {
    if (op.inputs.size() == 1 && op.outputs.size() == 1 && op.outputs[0] != kNone) {
      makes.emplace(op.inputs[0], op.outputs[0]);
    }
  }
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    for (size_t k = 0; k < std::min(op.inputs.size(), kMaxContributionOperands); ++k) {
      const sdfg::Tensor& old = graph_.tensors[op.inputs[k]];
      if (sdfg::IsInteger(old.dtype)) continue;
      std::vector<TensorId> level = {op.inputs[k]};
      for (int step = 0; step < kMaxContributionSteps && !level.empty(); ++step) {
        std::vector<TensorId> next;
        for (const TensorId from : level) {
          const auto [first, last] = makes.equal_range(from);
          for (auto made = first; made != last; ++made) {
            if (graph_.tensors[made->second].producer != id) next.push_back(made->second);
          }
        }
        for (const TensorId later : next) {
          const sdfg::Tensor& tensor = graph_.tensors[later];
          if (Late() || tensor.local_rank() != old.local_rank() ||
              !std::equal(tensor.shape.end() - tensor.local_rank(), tensor.shape.end(),
                          old.shape.end() - old.local_rank())) {
            continue;
          }
          sdfg::Operator changed = op;
          changed.inputs[k] = later;
          if (!Agree(With(id, changed), claimed_)) continue;
          Found(absl::StrCat(Name(id), " reads ", old.name, " from before ", Name(tensor.producer)),
                id);
          return;
        }
        level = std::move(next);
      }
    }
  }
}

}  // namespace planproof::diagnosis
