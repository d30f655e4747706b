#include "frontend/plan/collective_keys.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::plan {
namespace {

struct KnownKeys {
  std::vector<std::string> needed;
  std::vector<std::string> optional;
};

KnownKeys KeysOf(const std::string& op) {
  if (op == "all_reduce" || op == "accumulate") return {{}, {"reduce"}};
  if (op == "all_gather" || op == "chunk") return {{"dim"}, {}};
  if (op == "reduce_scatter") return {{"dim"}, {"reduce"}};
  if (op == "all_to_all") return {{"split_dim", "concat_dim"}, {}};
  if (op == "broadcast" || op == "reduce") return {{"root"}, {}};
  if (op == "permute") return {{}, {"shift", "pairs"}};
  return {};
}

// The keys that are there, and what they say, but for "over".
std::vector<std::pair<std::string, std::string>> KeysIn(const Operator& op) {
  const Collective& c = op.collective();
  std::vector<std::pair<std::string, std::string>> keys;
  if (c.has_dim()) keys.emplace_back("dim", absl::StrCat(c.dim()));
  if (c.has_split_dim()) keys.emplace_back("split_dim", absl::StrCat(c.split_dim()));
  if (c.has_concat_dim()) keys.emplace_back("concat_dim", absl::StrCat(c.concat_dim()));
  // The operator of that name adds up.
  if (!c.reduce().empty() && (op.op() != "reduce" || c.reduce() != "sum")) {
    keys.emplace_back("reduce", absl::StrCat("\"", c.reduce(), "\""));
  }
  if (c.has_root()) keys.emplace_back("root", absl::StrCat(c.root()));
  if (c.has_shift()) keys.emplace_back("shift", absl::StrCat(c.shift()));
  if (c.pairs_size() > 0) keys.emplace_back("pairs", "...");
  return keys;
}

absl::Status KeysOutsideAttributes(const Operator& op) {
  const std::string name = op.op().empty() ? "a backward operator" : op.op();
  const std::vector<std::pair<std::string, std::string>> keys = KeysIn(op);
  if (op.collective().over_size() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " is no collective and has no \"over\"; all_reduce, all_gather, reduce_scatter, "
        "all_to_all, broadcast, reduce, permute and chunk run over an axis"));
  }
  if (keys.empty()) return absl::OkStatus();
  if (op.op().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has no \"", keys[0].first, "\"; it has the attributes of its forward operator"));
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", keys[0].first, "\" is an attribute of ",
                                                 name, ": write \"attrs\": {\"", keys[0].first,
                                                 "\": ", keys[0].second, "}"));
}

}  // namespace

absl::Status CheckCollectiveKeys(const Operator& op, bool collective) {
  if (!collective) return KeysOutsideAttributes(op);
  const std::string& reduce = op.collective().reduce();
  if (!reduce.empty() && reduce != "sum" && reduce != "max" && reduce != "min" && reduce != "avg") {
    return absl::InvalidArgumentError(
        absl::StrCat(op.op(), ": \"reduce\" is \"", reduce, "\"; expected sum, max, min or avg"));
  }
  const KnownKeys known = KeysOf(op.op());
  std::vector<std::string> all = known.needed;
  all.insert(all.end(), known.optional.begin(), known.optional.end());
  std::vector<std::string> there;
  for (const auto& [key, value] : KeysIn(op)) {
    there.push_back(key);
    if (std::find(all.begin(), all.end(), key) != all.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(op.op(), " has no key \"", key, "\"; ",
                     all.empty() ? "it has none of the keys of collectives"
                                 : absl::StrCat("it has ", absl::StrJoin(all, " and "))));
  }
  for (const std::string& key : known.needed) {
    if (std::find(there.begin(), there.end(), key) != there.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        op.op(), " needs the key \"", key,
        "\": ", key == "root" ? "the number of a rank of the axis" : "a dimension of its tensor",
        ", as in \"", key, "\": 0"));
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
