#include "frontend/plan/collective_keys.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::plan {
namespace {

std::vector<std::string> KeysOf(const std::string& op) {
  if (op == "all_reduce" || op == "accumulate") return {"reduce"};
  if (op == "all_gather" || op == "chunk") return {"dim"};
  if (op == "reduce_scatter") return {"dim", "reduce"};
  if (op == "all_to_all") return {"split_dim", "concat_dim"};
  if (op == "broadcast" || op == "reduce") return {"root"};
  if (op == "permute") return {"shift", "pairs"};
  return {};
}

// The keys that are there, but for those with their default.
std::vector<std::string> KeysIn(const Operator& op) {
  const Collective& c = op.collective();
  std::vector<std::string> keys;
  for (const auto& [key, there] :
       {std::pair("dim", c.dim() != 0), std::pair("split_dim", c.split_dim() != 0),
        std::pair("concat_dim", c.concat_dim() != 0),
        // The operator of that name adds up.
        std::pair("reduce", !c.reduce().empty() && (op.op() != "reduce" || c.reduce() != "sum")),
        std::pair("root", c.root() != 0), std::pair("shift", c.has_shift()),
        std::pair("pairs", c.pairs_size() > 0)}) {
    if (there) keys.emplace_back(key);
  }
  return keys;
}

}  // namespace

absl::Status CheckCollectiveKeys(const Operator& op, bool collective) {
  if (!collective) {
    if (!op.has_collective()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(op.op().empty() ? "a backward operator" : op.op(),
                     " is no collective and has no keys such as \"over\" and \"dim\"; attributes "
                     "stand under \"attrs\""));
  }
  const std::string& reduce = op.collective().reduce();
  if (!reduce.empty() && reduce != "sum" && reduce != "max" && reduce != "min" && reduce != "avg") {
    return absl::InvalidArgumentError(
        absl::StrCat(op.op(), ": \"reduce\" is \"", reduce, "\"; expected sum, max, min or avg"));
  }
  const std::vector<std::string> known = KeysOf(op.op());
  for (const std::string& key : KeysIn(op)) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(op.op(), " has no key \"", key, "\"; ",
                     known.empty() ? "it has none of the keys of collectives"
                                   : absl::StrCat("it has ", absl::StrJoin(known, " and "))));
  }
  return absl::OkStatus();
}

std::string ExchangeText(const Operator& op) {
  const Collective& c = op.collective();
  std::vector<std::string> what;
  if (op.op() == "all_reduce" || op.op() == "reduce_scatter") {
    what.push_back(c.reduce().empty() ? "sum" : c.reduce());
  }
  if (op.op() == "reduce_scatter") what.push_back(absl::StrCat("dim ", c.dim()));
  if (op.op() == "all_to_all") {
    what.push_back(absl::StrCat("split_dim ", c.split_dim()));
    what.push_back(absl::StrCat("concat_dim ", c.concat_dim()));
  }
  if (what.empty()) return op.op();
  return absl::StrCat(op.op(), " (", absl::StrJoin(what, ", "), ")");
}

}  // namespace planproof::plan
