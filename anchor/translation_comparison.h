// Compares what the graphs compute with what the programs were recorded to compute.
//
// The graphs are what a reader understood of a recording. Run on the recorded initial values, they
// must give the recorded results, up to rounding. Where they do not, the reader has misread an
// operator, or the programs were misrecorded, and nothing that was proved of the graphs is said of
// the programs.
#ifndef PLANPROOF_ANCHOR_TRANSLATION_COMPARISON_H_
#define PLANPROOF_ANCHOR_TRANSLATION_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "anchor/graph_runs.h"
#include "anchor/recorded_values.h"
#include "frontend/recording.h"
#include "sdfg/graph.h"
#include "stages/anchor_report.h"

namespace planproof::anchor {

struct TranslationComparison {
  int64_t compared = 0;  // results and numbers
  int64_t blind = 0;     // of them
  double error = 0;      // the largest relative difference of those that agree
  int32_t first = -1;    // the result that the first difference is about; -1: a number
  std::vector<stages::RecordedDifference> differences;
};

// Compares one program's results, and the numbers that Python read of tensors as far as `computed`
// has these. It has the tensors of all results, with changes. Errors are those of RecordedValues.
absl::StatusOr<TranslationComparison> CompareTranslation(const frontend::RecordedProgram& program,
                                                         const ComputedTensors& computed,
                                                         RecordedValues* values);

// Finds the first operator of the program whose result is not what was recorded, by the sketches of
// results, and fills in operator and line of the difference. `graph` is as the operators were
// translated. Returns false if there are no sketches, or none differs. Errors are those of
// RecordedValues.
absl::StatusOr<bool> FindOperator(const frontend::RecordedProgram& program,
                                  const sdfg::Graph& graph, const ComputedTensors& computed,
                                  RecordedValues* values, stages::RecordedDifference* difference);

// Returns the tensors of the graph of which the program has sketches.
absl::StatusOr<std::vector<sdfg::TensorId>> SketchedTensors(
    const frontend::RecordedProgram& program, RecordedValues* values);

// Completes the text of a difference: what the reader does not understand, both values, and where
// to report it.
void DescribeTranslation(stages::RecordedDifference* difference);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_TRANSLATION_COMPARISON_H_
