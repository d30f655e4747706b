// Makes a problem of traces: the reference's graph, the ranks' graphs, and how they are related.
#ifndef PLANPROOF_FRONTEND_TORCH_PROBLEM_OF_TRACES_H_
#define PLANPROOF_FRONTEND_TORCH_PROBLEM_OF_TRACES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/relations.h"
#include "frontend/torch/trace.h"
#include "lineage/problem_builder.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

// Errors, with the place in the program: Unimplemented for what has no declared meaning, else
// InvalidArgument.
//
// `recording`: RecordingOfTraces of them, which is told what tensors of the graphs are; may be
// null.
absl::StatusOr<lineage::Problem> ProblemOfTraces(const Trace& reference,
                                                 const std::vector<Trace>& ranks,
                                                 const sdfg::OperatorLibrary& operators,
                                                 Recording* recording = nullptr);

// What the reference computes, into the builder's model, and what its tensors are called into
// `relations`. `chosen`: whether
// rows that data chose are followed (chosen_rows.h). `decided`: places at which Python read numbers
// (Execution::unused_items). `recording` as above.
absl::Status AddReference(const Trace& reference, const sdfg::OperatorLibrary& operators,
                          lineage::ProblemBuilder* problem, Relations* relations, bool chosen,
                          std::set<std::string>* decided, Recording* recording = nullptr);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_PROBLEM_OF_TRACES_H_
