#include "frontend/torch/lost_gradients.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/mesh_coordinates.h"
#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {
namespace {

bool HasStates(const Trace& trace) {
  return std::any_of(trace.inputs.begin(), trace.inputs.end(),
                     [](const Input& input) { return input.role == InputRole::kState; });
}

bool HasGradients(const Trace& trace) {
  return std::any_of(trace.results.begin(), trace.results.end(), [](const TraceResult& result) {
    return result.kind == ResultKind::kGradient;
  });
}

bool ChangesStates(const Trace& trace) {
  std::set<std::string> states;
  for (const Input& input : trace.inputs) {
    if (input.role == InputRole::kState) states.insert(input.name);
  }
  return std::any_of(trace.results.begin(), trace.results.end(), [&](const TraceResult& result) {
    return result.kind == ResultKind::kUpdated && states.count(result.name) != 0;
  });
}

// Ranks with which the rank exchanges tensors of more than one element: others are losses, norms.
std::vector<int32_t> Partners(const Trace& trace, const Collective& collective) {
  const auto is_number = [&](TensorNumber tensor) {
    return ElementsOf(trace.tensors[tensor].shape) <= 1;
  };
  if (collective.kind == CollectiveKind::kBarrier ||
      (std::all_of(collective.in.begin(), collective.in.end(), is_number) &&
       std::all_of(collective.out.begin(), collective.out.end(), is_number))) {
    return {};
  }
  const bool message =
      collective.kind == CollectiveKind::kSend || collective.kind == CollectiveKind::kReceive;
  return message ? std::vector<int32_t>{collective.peer} : trace.groups[collective.group];
}

// Names of the axes over which ranks exchange nothing.
std::vector<std::string> SilentAxes(const std::vector<Trace>& ranks) {
  const MeshCoordinates mesh(ranks[0].axes);
  std::vector<std::string> silent;
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    bool spoken = mesh.Extent(axis) < 2;
    for (const Trace& trace : ranks) {
      for (const Executed& executed : trace.operators) {
        if (spoken || !executed.collective) continue;
        const std::vector<int32_t> partners = Partners(trace, *executed.collective);
        spoken = std::any_of(partners.begin(), partners.end(), [&](int32_t partner) {
          return mesh.Of(partner, axis) != mesh.Of(trace.rank, axis);
        });
      }
    }
    if (!spoken) silent.push_back(mesh.Name(axis));
  }
  return silent;
}

}  // namespace

absl::Status CheckGradientsReachOptimizer(const Trace& reference, const std::vector<Trace>& ranks) {
  if (ranks.empty() || !HasGradients(reference) || !ChangesStates(reference)) {
    return absl::OkStatus();
  }
  for (const Trace& rank : ranks) {
    if (HasGradients(rank) || HasStates(rank)) return absl::OkStatus();
  }
  size_t gradients = 0;
  std::string first;
  for (const TraceResult& result : reference.results) {
    if (result.kind != ResultKind::kGradient) continue;
    if (gradients++ == 0) first = result.name;
  }
  const std::vector<std::string> silent = SilentAxes(ranks);
  const std::string over = silent.empty() ? ""
                                          : absl::StrCat("sum over ", absl::StrJoin(silent, ", "),
                                                         " missing in gradients, nothing is "
                                                         "communicated over it: ");
  return absl::InvalidArgumentError(absl::StrCat(
      ranks[0].path, ": ", over, "no rank has a gradient of the ", gradients,
      " parameters that the reference has one of, the first ", first,
      ", or a state of an optimizer, so no parameter is updated; reduce gradients before the "
      "optimizer's step (FSDP: set_requires_gradient_sync, set_requires_all_reduce), and keep them "
      "until the step returns"));
}

}  // namespace planproof::frontend::torch
