#include "generator/gradient_norm.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace planproof::generator {
namespace {

constexpr char kSumOf[] = "sum_of_";

// The sum of some parameters' squares.
struct Sum {
  std::string name;  // in the logical graph
  std::vector<Value> parameters;
};

class SquaredNorm {
 public:
  SquaredNorm(const std::map<Value, Value>& gradients, Emitter* emitter)
      : gradients_(gradients), emitter_(*emitter), trace_(*emitter->trace()) {
    Group();
  }

  void WriteLogical() {
    std::vector<std::string> layers, terms;
    for (const Sum& layer : layers_) {
      std::vector<std::string> squares;
      for (Value parameter : layer.parameters) squares.push_back(SquareOf(parameter));
      trace_.Write(/*stage=*/0, absl::StrCat(kSumOf, squares.size()), squares, layer.name);
      layers.push_back(layer.name);
    }
    AddInPairs(/*stage=*/0, std::move(layers), &terms);
    for (const Sum& other : others_) terms.push_back(SquareOf(other.parameters[0]));
    trace_.Write(/*stage=*/0, absl::StrCat(kSumOf, terms.size()), terms, kSquaredNorm);
  }

  void WriteParallel() {
    const int stages = static_cast<int>(trace_.layout.stages());
    std::vector<std::string> participants;
    for (int stage = 0; stage < stages; ++stage) {
      std::vector<std::string> layers, terms;
      for (const Sum& layer : layers_) {
        layers.push_back(IsHeld(stage, layer) ? WholeSum(stage, layer) : "");
      }
      AddInPairs(stage, std::move(layers), &terms);
      for (const Sum& other : others_) {
        if (IsHeld(stage, other)) terms.push_back(WholeSum(stage, other));
      }
      const std::string own = SumOf(stage, terms, stages == 1 ? kSquaredNorm : "squares.stage");
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
  // "layers.3.attention.q.weight" belongs to layer 3. A parameter of no layer is by itself.
  void Group() {
    constexpr char kLayers[] = "layers.";
    for (Value parameter : trace_.parameters) {
      const ValueInfo& info = trace_.values[parameter];
      if (info.counted_elsewhere) continue;
      if (!absl::StartsWith(info.name, kLayers)) {
        others_.push_back({absl::StrCat("square.", info.name), {parameter}});
        continue;
      }
      const std::string layer = info.name.substr(0, info.name.find('.', sizeof(kLayers) - 1));
      const std::string name = absl::StrCat("squares.", layer);
      if (layers_.empty() || layers_.back().name != name) layers_.push_back({name, {}});
      layers_.back().parameters.push_back(parameter);
    }
  }

  bool IsHeld(int stage, const Sum& sum) const {
    return trace_.values[sum.parameters[0]].stage == stage;
  }

  // Adds neighbours, then neighbouring sums, where the stage holds both ("" stands for what it does
  // not hold). `rest` receives what no sum holds then.
  void AddInPairs(int stage, std::vector<std::string> sums, std::vector<std::string>* rest) {
    for (size_t layers = 2; sums.size() > 1; layers *= 2) {
      std::vector<std::string> next;
      for (size_t i = 0; i < sums.size(); i += 2) {
        if (i + 1 == sums.size()) {
          next.push_back(sums[i]);
        } else if (!sums[i].empty() && !sums[i + 1].empty()) {
          next.push_back(absl::StrCat("squares.", layers, ".layers.", next.size()));
          trace_.Write(stage, "add", {sums[i], sums[i + 1]}, next.back());
          trace_.WriteLineage(stage, next.back(), next.back(), Scalar(), {});
        } else {
          if (!sums[i].empty()) rest->push_back(sums[i]);
          if (!sums[i + 1].empty()) rest->push_back(sums[i + 1]);
          next.emplace_back();
        }
      }
      sums = std::move(next);
    }
    if (!sums.empty() && !sums[0].empty()) rest->push_back(sums[0]);
  }

  const Dims& GradientDims(Value parameter) const {
    return emitter_.DimsOf(gradients_.at(parameter));
  }

  // The name of the sum of a gradient's squares, on each rank of what it holds.
  std::string SquareOf(Value parameter) {
    const ValueInfo info = trace_.values[parameter];
    emitter_.SetStage(info.stage);
    const Value square = emitter_.ApplyTerm({"grad_norm", {gradients_.at(parameter)}},
                                            {absl::StrCat("square.", info.name), Scalar()},
                                            AxesOf(GradientDims(parameter)));
    return trace_.values[square].name;
  }

  // The name of the sum on every rank of the stage. Each rank sums the squares of what it holds,
  // apart for the axes that cut it: what all ranks of an axis hold counts once.
  std::string WholeSum(int stage, const Sum& sum) {
    std::map<Axes, std::vector<std::string>> by_cut;
    for (Value parameter : sum.parameters) {
      by_cut[AxesOf(GradientDims(parameter))].push_back(SquareOf(parameter));
    }
    std::vector<std::string> parts;
    for (const auto& [cut, squares] : by_cut) {
      const std::string part =
          by_cut.size() == 1 ? sum.name : absl::StrCat(sum.name, ".", parts.size());
      parts.push_back(cut.empty() ? SumOf(stage, squares, part) : part);
      if (cut.empty()) continue;
      const std::string held = SumOf(stage, squares, absl::StrCat(part, ".held"));
      trace_.WriteAllReduce(stage, cut, held, part);
    }
    const std::string whole = SumOf(stage, parts, sum.name);
    const bool written = sum.parameters.size() > 1 || !by_cut.begin()->first.empty();
    if (written) trace_.WriteLineage(stage, whole, sum.name, Scalar(), {});
    return whole;
  }

  // One term is its sum.
  std::string SumOf(int stage, const std::vector<std::string>& terms, const std::string& name) {
    if (terms.size() == 1) return terms[0];
    trace_.WriteSum(stage, terms, name);
    return name;
  }

  const std::map<Value, Value>& gradients_;
  Emitter& emitter_;
  Trace& trace_;
  std::vector<Sum> layers_;  // in their order
  std::vector<Sum> others_;
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

}  // namespace planproof::generator
