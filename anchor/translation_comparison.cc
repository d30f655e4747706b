#include "anchor/translation_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "anchor/expected_rounding.h"
#include "anchor/sketch.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedProgram;
using frontend::RecordedResult;
using runtime_check::Values;
using sdfg::TensorId;

// By position of the operator and number of its result: the tensor of the graph.
std::map<std::pair<int32_t, int32_t>, TensorId> MadeTensors(const RecordedProgram& program) {
  std::map<std::pair<int32_t, int32_t>, TensorId> tensors;
  for (const frontend::RecordedOperatorResult& made : program.made)
    tensors[{made.position, made.number}] = made.tensor;
  return tensors;
}

// Whether sums of a recorded tensor are those of a computed one, up to rounding: a signed sum of
// independent changes is about as large as the root of the sum of their squares.
bool SameSketch(const RecordedValues::Sketch& recorded, sdfg::DType dtype,
                const ComputedTensor& computed, size_t* worst) {
  const std::array<double, 5> own = SketchOf(computed.values);
  RoundingMeasure measure(sdfg::DType::kFloat64);
  double change = 0;
  for (size_t i = 0; i < computed.changes.size(); ++i) {
    const double unit = RelativeSpacing(dtype) * std::fabs(computed.values.At(i));
    if (std::isfinite(unit)) change += std::max(computed.changes[i], unit * unit);
  }
  for (size_t k = 0; k < own.size(); ++k) measure.Add(k, recorded.numbers.at(k), own.at(k), change);
  *worst = static_cast<size_t>(std::max<int64_t>(measure.position(), 0));
  return !measure.differs();
}

// Numbers that left tensors: graphs are run with the recorded numbers behind Python's functions, so
// what stands before these shows here alone.
void CompareItems(const RecordedProgram& program, const ComputedTensors& computed,
                  TranslationComparison* comparison) {
  for (const frontend::RecordedItem& item : program.items) {
    const auto found = computed.find(item.tensor);
    if (found == computed.end() || found->second.values.size() != 1) continue;
    const ComputedTensor& tensor = found->second;
    RoundingMeasure measure(tensor.dtype);
    measure.Add(0, item.value, tensor.values.At(0), tensor.changes[0]);
    ++comparison->compared;
    comparison->blind += measure.blind() && !measure.differs();
    if (!measure.differs()) continue;
    stages::RecordedDifference& difference = comparison->differences.emplace_back();
    difference.tensor = "the number that Python read";
    difference.source = item.place;
    if (program.rank >= 0) difference.ranks = {program.rank};
    difference.value = NumberText(item.value, tensor.values.At(0));
    difference.expected = NumberText(tensor.values.At(0), item.value);
  }
}

}  // namespace

absl::StatusOr<TranslationComparison> CompareTranslation(const RecordedProgram& program,
                                                         const ComputedTensors& computed,
                                                         RecordedValues* values) {
  TranslationComparison comparison;
  for (size_t k = 0; k < program.results.size(); ++k) {
    const RecordedResult& result = program.results[k];
    if (!result.has_values) continue;
    const auto found = computed.find(result.tensor);
    if (found == computed.end()) {
      return absl::InternalError(absl::StrCat(result.what, " is in no graph"));
    }
    const ComputedTensor& tensor = found->second;
    PLAN_ASSIGN_OR_RETURN(const Values recorded, values->Result(static_cast<int32_t>(k)));
    if (recorded.size() != tensor.values.size()) {
      return absl::InternalError(absl::StrCat(result.what, ": recorded in another size"));
    }
    RoundingMeasure measure(result.dtype);
    for (int64_t i = 0; i < recorded.size(); ++i)
      measure.Add(i, recorded.At(i), tensor.values.At(i), tensor.changes[i]);
    ++comparison.compared;
    comparison.blind += measure.blind() && !measure.differs();
    if (!measure.differs()) {
      if (std::isfinite(measure.error()) && !measure.blind())
        comparison.error = std::max(comparison.error, measure.error());
      continue;
    }
    if (comparison.first < 0) comparison.first = static_cast<int32_t>(k);
    stages::RecordedDifference& difference = comparison.differences.emplace_back();
    difference.tensor = result.what;
    if (program.rank >= 0) difference.ranks = {program.rank};
    if (measure.position() >= 0)
      difference.index = runtime_check::IndexAt(recorded.shape, measure.position());
    difference.value = NumberText(measure.value(), measure.expected());
    difference.expected = NumberText(measure.expected(), measure.value());
  }
  CompareItems(program, computed, &comparison);
  return comparison;
}

absl::StatusOr<std::vector<TensorId>> SketchedTensors(const RecordedProgram& program,
                                                      RecordedValues* values) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<RecordedValues::Sketch> sketches, values->Sketches());
  const auto made = MadeTensors(program);
  std::vector<TensorId> tensors;
  for (const RecordedValues::Sketch& sketch : sketches) {
    const auto found = made.find({sketch.position, sketch.number});
    if (found != made.end()) tensors.push_back(found->second);
  }
  return tensors;
}

absl::StatusOr<bool> FindOperator(const RecordedProgram& program, const sdfg::Graph& graph,
                                  const ComputedTensors& computed, RecordedValues* values,
                                  stages::RecordedDifference* difference) {
  PLAN_ASSIGN_OR_RETURN(std::vector<RecordedValues::Sketch> sketches, values->Sketches());
  std::stable_sort(sketches.begin(), sketches.end(),
                   [](const auto& a, const auto& b) { return a.position < b.position; });
  const auto made = MadeTensors(program);
  for (const RecordedValues::Sketch& sketch : sketches) {
    const auto tensor = made.find({sketch.position, sketch.number});
    if (tensor == made.end()) continue;
    const auto own = computed.find(tensor->second);
    if (own == computed.end()) continue;
    size_t worst = 0;
    if (SameSketch(sketch, graph.tensors[tensor->second].dtype, own->second, &worst)) continue;
    const frontend::RecordedOperator& op = program.operators[sketch.position];
    difference->op = op.name;
    difference->source = op.source;
    difference->tensor = absl::StrCat("the ", worst == 0 ? "norm" : "signed sum", " of result ",
                                      sketch.number, " of ", op.name);
    difference->index.clear();
    const double recorded = sketch.numbers.at(worst);
    const double computed_number = SketchOf(own->second.values).at(worst);
    difference->value = NumberText(recorded, computed_number);
    difference->expected = NumberText(computed_number, recorded);
    return true;
  }
  return false;
}

void DescribeTranslation(stages::RecordedDifference* difference) {
  std::string where = difference->tensor;
  if (!difference->index.empty())
    absl::StrAppend(&where, " at [", absl::StrJoin(difference->index, ", "), "]");
  const std::string whose =
      difference->ranks.empty() ? "the reference" : absl::StrCat("rank ", difference->ranks[0]);
  const std::string what =
      difference->op.empty()
          ? absl::StrCat("how ", difference->tensor, " is computed",
                         difference->source.empty() ? "" : ", at ", difference->source)
          : absl::StrCat("operator ", difference->op, difference->source.empty() ? "" : " at ",
                         difference->source, ", or did not see how its operands were changed");
  difference->text =
      absl::StrCat("the reader does not understand ", what, ": ", where, " was recorded on ", whose,
                   " as ", difference->value, ", and what was read of it gives ",
                   difference->expected, "; please report this with the traces and their values");
}

}  // namespace planproof::anchor
