// Checks that the ranks have what the reference is for.
//
// The reference decides what is required: each of its outputs is on some rank, each new value on
// every rank that holds the tensor, and each gradient on every rank that holds the parameter. A
// program that lost one of them may not be proved by what is left.
//
// Frameworks free gradients, or keep them only where the optimizer needs them. A gradient may
// therefore be missing where the parameter's new value is required and computed from it, and where
// the traces show that the framework does so: no rank has any gradient, or the rank's part of the
// parameter's optimizer states is smaller than its part of the parameter.
#ifndef PLANPROOF_FRONTEND_TORCH_REQUIRED_RESULTS_H_
#define PLANPROOF_FRONTEND_TORCH_REQUIRED_RESULTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"
#include "sdfg/graph.h"

namespace planproof::frontend::torch {

// Tensors of the model's graph by kind and name.
using ResultTensors = std::map<std::pair<ResultKind, std::string>, sdfg::TensorId>;

// `model` is the reference's graph, `results` what its results are in it. Adds to `assumptions`
// which gradients are not required, and why. InvalidArgument, with file and name, where a result of
// the reference is missing or stands twice.
absl::Status CheckResultsArePresent(const Trace& reference, const std::vector<Trace>& ranks,
                                    const sdfg::Graph& model, const ResultTensors& results,
                                    std::vector<std::string>* assumptions);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_REQUIRED_RESULTS_H_
