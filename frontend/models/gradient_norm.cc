#include "frontend/models/gradient_norm.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace planproof::models {
namespace {

constexpr char kSumOf[] = "sum_of_";

Dims Scalar() { return {Layout::Whole(1)}; }

// The parameters of a layer; one that belongs to no layer is by itself.
struct Group {
  std::string sum;  // the tensor that is the sum of their squares
  std::vector<Value> parameters;
};

class SquaredNorm {
 public:
  SquaredNorm(const std::map<Value, Value>& gradients, Emitter* emitter)
      : gradients_(gradients), emitter_(*emitter), trace_(*emitter->trace()) {}

  void WriteLogical() {
    std::vector<Argument> sums;
    for (const Group& group : Groups(/*stage=*/0)) {
      std::vector<Argument> squares;
      for (Value parameter : group.parameters) squares.push_back(SquareOf(parameter));
      sums.push_back(squares.size() == 1 ? squares[0] : LogicalSum(squares, group.sum));
    }
    LogicalSum(std::move(sums), kSquaredNorm);
  }

  void WriteParallel() {
    const int stages = static_cast<int>(trace_.layout.stages());
    std::vector<std::string> participants;
    for (int stage = 0; stage < stages; ++stage) {
      std::vector<std::string> sums;
      for (const Group& group : Groups(stage)) sums.push_back(WholeSum(stage, group));
      const std::string own = Sum(stage, sums, stages == 1 ? kSquaredNorm : "squares.stage");
      participants.push_back(absl::StrCat(trace_.StageName(stage), ":", own));
    }
    for (int stage = 0; stage < stages; ++stage) {
      if (stages > 1) {
        trace_.Write(stage, "all_reduce", participants, kSquaredNorm)->mutable_collective();
      }
      trace_.WriteLineage(stage, kSquaredNorm, kSquaredNorm, Scalar(), {});
    }
  }

 private:
  // "layers.3.attention.q.weight" belongs to layer 3.
  std::vector<Group> Groups(int stage) const {
    constexpr char kLayers[] = "layers.";
    std::vector<Group> groups;
    std::map<std::string, size_t> layers;
    for (Value parameter : trace_.parameters) {
      const ValueInfo& info = trace_.values[parameter];
      if (info.stage != stage || info.counted_elsewhere) continue;
      if (!absl::StartsWith(info.name, kLayers)) {
        groups.push_back({absl::StrCat("square.", info.name), {parameter}});
        continue;
      }
      const std::string layer = info.name.substr(0, info.name.find('.', sizeof(kLayers) - 1));
      const auto [at, fresh] = layers.emplace(layer, groups.size());
      if (fresh) groups.push_back({absl::StrCat("squares.", layer), {}});
      groups[at->second].parameters.push_back(parameter);
    }
    return groups;
  }

  const Dims& GradientDims(Value parameter) const {
    return emitter_.DimsOf(gradients_.at(parameter));
  }

  Value SquareOf(Value parameter) {
    const ValueInfo info = trace_.values[parameter];
    emitter_.SetStage(info.stage);
    return emitter_.ApplyTerm({"grad_norm", {gradients_.at(parameter)}},
                              {absl::StrCat("square.", info.name), Scalar()},
                              AxesOf(GradientDims(parameter)));
  }

  // A tree of sums: a declaration has a bounded number of operands.
  Value LogicalSum(std::vector<Argument> terms, const std::string& name) {
    constexpr size_t kMostTerms = 32;
    for (int level = 0; terms.size() > kMostTerms; ++level) {
      std::vector<Argument> sums;
      for (size_t i = 0; i < terms.size(); i += kMostTerms) {
        const std::vector<Argument> some(terms.begin() + i,
                                         terms.begin() + std::min(terms.size(), i + kMostTerms));
        sums.push_back(
            emitter_.Apply({absl::StrCat(kSumOf, some.size()), some},
                           {absl::StrCat(name, ".", level, ".", sums.size()), Scalar()}));
      }
      terms = std::move(sums);
    }
    return emitter_.Apply({absl::StrCat(kSumOf, terms.size()), terms}, {name, Scalar()});
  }

  // The name of the group's sum on every rank of the stage. Each rank sums the squares of what it
  // holds, apart for the axes that cut it: what all ranks of an axis hold counts once.
  std::string WholeSum(int stage, const Group& group) {
    std::map<Axes, std::vector<std::string>> by_cut;
    for (Value parameter : group.parameters) {
      by_cut[AxesOf(GradientDims(parameter))].push_back(trace_.values[SquareOf(parameter)].name);
    }
    std::vector<std::string> sums;
    for (const auto& [cut, squares] : by_cut) {
      const bool all = by_cut.size() == 1;  // of the group
      const std::string name = all ? group.sum : absl::StrCat(group.sum, ".", sums.size());
      sums.push_back(cut.empty() ? Sum(stage, squares, name) : name);
      if (cut.empty()) continue;
      const std::string held = Sum(stage, squares, absl::StrCat(name, ".held"));
      trace_.WriteAllReduce(stage, cut, held, name);
    }
    const std::string sum = Sum(stage, sums, group.sum);
    const bool written = group.parameters.size() > 1 || !by_cut.begin()->first.empty();
    if (written) trace_.WriteLineage(stage, sum, group.sum, Scalar(), {});
    return sum;
  }

  // One term is its sum.
  std::string Sum(int stage, const std::vector<std::string>& terms, const std::string& name) {
    if (terms.size() == 1) return terms[0];
    trace_.WriteSum(stage, terms, name);
    return name;
  }

  const std::map<Value, Value>& gradients_;
  Emitter& emitter_;
  Trace& trace_;
};

}  // namespace

void WriteSquaredNorm(const std::map<Value, Value>& gradients, Emitter* emitter) {
  SquaredNorm norm(gradients, emitter);
  if (emitter->trace()->logical) {
    norm.WriteLogical();
  } else {
    norm.WriteParallel();
  }
}

std::string SumDeclarations(const Trace& trace) {
  std::set<std::string> names;
  std::string text;
  for (const plan::Program& program : trace.programs) {
    for (const plan::Operator& op : program.operators()) {
      if (!absl::StartsWith(op.op(), kSumOf) || !names.insert(op.op()).second) continue;
      absl::StrAppend(&text, "op ", op.op(), "(");
      for (int i = 0; i < op.inputs_size(); ++i) absl::StrAppend(&text, i ? ", x" : "x", i);
      absl::StrAppend(&text, ") -> y = ");
      for (int i = 0; i < op.inputs_size(); ++i) absl::StrAppend(&text, i ? " + x" : "x", i);
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

}  // namespace planproof::models
