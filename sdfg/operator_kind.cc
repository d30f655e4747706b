#include "sdfg/operator_kind.h"

#include <utility>

namespace planproof::sdfg {

std::optional<OperatorKind> CommunicationFromName(std::string_view name) {
  static constexpr std::pair<std::string_view, OperatorKind> kNames[] = {
      {"accumulate", OperatorKind::kAccumulate},
      {"all_gather", OperatorKind::kAllGather},
      {"all_reduce", OperatorKind::kAllReduce},
      {"all_to_all", OperatorKind::kAllToAll},
      {"broadcast", OperatorKind::kBroadcast},
      {"chunk", OperatorKind::kChunk},
      {"move", OperatorKind::kMove},
      {"permute", OperatorKind::kPermute},
      {"reduce", OperatorKind::kReduce},
      {"reduce_scatter", OperatorKind::kReduceScatter},
      {"wait", OperatorKind::kWait},
  };
  for (const auto& [known, kind] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

bool IsCommunication(OperatorKind kind) {
  return kind != OperatorKind::kCompute && kind != OperatorKind::kRankOverride &&
         kind != OperatorKind::kMultiple && kind != OperatorKind::kUninitialised;
}

bool ReducesInPlace(OperatorKind kind) {
  return kind == OperatorKind::kAllReduce || kind == OperatorKind::kAccumulate ||
         kind == OperatorKind::kBroadcast || kind == OperatorKind::kReduce;
}

}  // namespace planproof::sdfg
