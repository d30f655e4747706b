#include "frontend/torch/unnamed_states.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/listed_constant.h"
#include "frontend/torch/state_uses.h"
#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {
namespace {

// Values that were computed in another order differ by rounding: by less than this part of the
// largest. A mean over a rank's own data is near to that over all of them, and another state.
double RoundingOf(sdfg::DType dtype) {
  const bool narrow = dtype != sdfg::DType::kFloat32 && dtype != sdfg::DType::kFloat64;
  return narrow ? 2e-2 : 1e-4;
}

// The place in front of a line's text: "train.py:12" of "train.py:12: loss.backward()".
std::string PlaceOf(const StateUse& use) {
  const std::string place = use.source.substr(0, use.source.find(": "));
  return place.empty() ? use.op : place;
}

std::string InWords(const StateRegion& region) {
  return absl::StrCat(region.uses[0].op, region.uses[0].source.empty() ? "" : " at ",
                      region.uses[0].source.empty() ? "" : PlaceOf(region.uses[0]));
}

// Whether lists of values are equal but for rounding. What has no list is not compared.
bool Agree(const Storage& a, const Storage& b) {
  if (a.values.empty() || a.values.size() != b.values.size()) return true;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i].ToDouble(), y = b.values[i].ToDouble();
    largest = std::max({largest, std::abs(x), std::abs(y)});
    difference = std::max(difference, std::abs(x - y));
  }
  return difference <= RoundingOf(a.dtype) * largest;
}

using StateKey = std::tuple<std::vector<StateUse>, std::set<std::string>>;
StateKey KeyOf(const StateRegion& region) { return {region.uses, region.beside}; }

// Regions by how they are used; of several that are used alike it is not known which is which.
std::map<StateKey, std::vector<StateRegion*>> ByUse(std::vector<StateRegion>* regions) {
  std::map<StateKey, std::vector<StateRegion*>> by_use;
  for (StateRegion& region : *regions) {
    if (region.written && !region.uses.empty()) by_use[KeyOf(region)].push_back(&region);
  }
  return by_use;
}

// A state of a rank and its counterpart: regions by position among those of their traces.
struct Match {
  size_t rank = 0;
  StateRegion here, there;
  Part part;
};

// All that is kept in a storage is matched, or nothing of it: what the storage is recorded to hold
// is forgotten as a whole.
class StoragesInFull {
 public:
  explicit StoragesInFull(const std::vector<StateRegion>& regions) {
    for (const StateRegion& region : regions) ++regions_[region.storage];
  }
  void Matched(const StateRegion& region) { matched_[region.storage].insert(region.begin); }
  bool Has(StorageId storage) const {
    const auto all = regions_.find(storage);
    const auto matched = matched_.find(storage);
    return all != regions_.end() && matched != matched_.end() &&
           all->second == matched->second.size();
  }

 private:
  std::map<StorageId, size_t> regions_;
  std::map<StorageId, std::set<int64_t>> matched_;  // by where they begin
};

class Naming {
 public:
  Naming(Trace* reference, std::vector<Trace>* ranks)
      : reference_(*reference), ranks_(*ranks), regions_(StateRegionsOf(*reference)) {
    for (const Input& input : reference->inputs) taken_.insert(input.name);
  }

  void Run(std::vector<std::string>* assumptions) {
    const auto by_use = ByUse(&regions_);
    StoragesInFull of_reference(regions_);
    std::vector<StoragesInFull> of_ranks;
    std::vector<Match> matches;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      std::vector<StateRegion> regions = StateRegionsOf(ranks_[r]);
      const auto here = ByUse(&regions);
      of_ranks.emplace_back(regions);
      for (const auto& [key, alike] : here) {
        const auto there = by_use.find(key);
        if (there == by_use.end() || alike.size() != 1 || there->second.size() != 1) continue;
        std::optional<Part> part = PartOf(ranks_[r], *alike[0], *there->second[0]);
        if (!part) continue;
        matches.push_back({r, *alike[0], *there->second[0], *std::move(part)});
        of_ranks[r].Matched(*alike[0]);
        of_reference.Matched(*there->second[0]);
      }
    }
    for (const Match& match : matches) {
      if (!of_ranks[match.rank].Has(match.here.storage)) continue;
      if (match.there.input < 0 && !of_reference.Has(match.there.storage)) continue;
      Name(match);
    }
    if (named_ == 0) return;
    assumptions->push_back(absl::StrCat(
        named_,
        " states of ranks without a name are the reference's that are used alike, the first, ",
        first_));
  }

 private:
  // The rank's part of the reference's; nothing if it is not that.
  std::optional<Part> PartOf(const Trace& rank, const StateRegion& region,
                             const StateRegion& of) const {
    if (region.input >= 0) return std::nullopt;
    const Storage& here = rank.storages[region.storage];
    const Storage& there = reference_.storages[of.storage];
    if (of.input >= 0) {
      const std::string& name = reference_.inputs[of.input].name;
      if (Find(rank, name) != nullptr) return std::nullopt;
    } else if (here.uniform || there.uniform) {
      return std::nullopt;  // one number is meant unless the reference names it as a state
    }
    const Tensor& local = rank.tensors[region.tensor];
    const Tensor& whole = reference_.tensors[of.tensor];
    if (local.complex || whole.complex || local.dtype != whole.dtype) return std::nullopt;
    if (local.shape == whole.shape) {
      return of.input >= 0 || Agree(here, there) ? std::optional<Part>(Part()) : std::nullopt;
    }
    if (region.beside.size() != 1) return std::nullopt;
    const Input* parameter = Find(rank, *region.beside.begin());
    const Input* original = Find(reference_, *region.beside.begin());
    if (parameter == nullptr || original == nullptr ||
        rank.tensors[parameter->tensor].shape != local.shape ||
        reference_.tensors[original->tensor].shape != whole.shape) {
      return std::nullopt;
    }
    return parameter->part;
  }

  static const Input* Find(const Trace& trace, const std::string& name) {
    for (const Input& input : trace.inputs) {
      if (input.name == name) return &input;
    }
    return nullptr;
  }

  void Name(const Match& match) {
    const std::string name = NameInReference(match.there);
    const Input of = *Find(reference_, name);
    const bool updated = std::any_of(
        reference_.results.begin(), reference_.results.end(), [&](const TraceResult& result) {
          return result.kind == ResultKind::kUpdated && result.name == name;
        });
    AddState(name, of.parameter, match.here, match.part, updated, &ranks_[match.rank]);
    if (named_++ == 0) first_ = absl::StrCat("read by ", InWords(match.here), ", is ", name);
  }

  std::string NameInReference(const StateRegion& region) {
    if (region.input >= 0) return reference_.inputs[region.input].name;
    std::string& name = names_[{region.storage, region.begin}];
    if (!name.empty()) return name;
    const std::string base =
        absl::StrCat("state", region.beside.empty() ? "" : " of ",
                     absl::StrJoin(region.beside, ", "), " read by ", InWords(region));
    name = base;
    for (int number = 2; !taken_.insert(name).second; ++number) {
      name = absl::StrCat(base, " #", number);
    }
    AddState(name, "", region, {}, true, &reference_);
    return name;
  }

  static void AddState(const std::string& name, const std::string& parameter,
                       const StateRegion& region, const Part& part, bool updated, Trace* trace) {
    Storage& storage = trace->storages[region.storage];
    storage.uniform.reset();
    storage.values.clear();
    storage.minus_infinity.clear();
    storage.digest.clear();
    Input& input = trace->inputs.emplace_back();
    input.role = InputRole::kState;
    input.recorded = false;
    input.name = name;
    input.parameter = parameter;
    input.tensor = region.tensor;
    input.part = part;
    if (!updated) return;
    TraceResult& result = trace->results.emplace_back();
    result.kind = ResultKind::kUpdated;
    result.recorded = false;
    result.name = name;
    result.tensor = region.tensor;
    result.part = part;
  }

  Trace& reference_;
  std::vector<Trace>& ranks_;
  std::vector<StateRegion> regions_;                            // of the reference
  std::set<std::string> taken_;                                 // names of it
  std::map<std::pair<StorageId, int64_t>, std::string> names_;  // new ones
  size_t named_ = 0;
  std::string first_;
};

}  // namespace

void NameStates(Trace* reference, std::vector<Trace>* ranks,
                std::vector<std::string>* assumptions) {
  Naming(reference, ranks).Run(assumptions);
}

std::map<StorageId, std::string> UncertainStorages(const Trace& reference, const Trace& rank) {
  std::set<std::string> contents;
  for (const Storage& storage : reference.storages) {
    if (!storage.values.empty() || !storage.digest.empty()) contents.insert(ContentOf(storage));
  }
  std::map<StorageId, std::string> uncertain;
  const bool all_known =
      std::all_of(rank.storages.begin(), rank.storages.end(), [&](const Storage& storage) {
        return (storage.values.empty() && storage.digest.empty()) ||
               !sdfg::IsFloating(storage.dtype) || contents.count(ContentOf(storage)) != 0;
      });
  if (all_known) return uncertain;
  for (const StateRegion& region : StateRegionsOf(rank)) {
    const Storage& storage = rank.storages[region.storage];
    if (region.input >= 0 || storage.uniform || region.uses.empty() ||
        contents.count(ContentOf(storage)) != 0) {
      continue;
    }
    const bool nearly = std::any_of(
        reference.storages.begin(), reference.storages.end(), [&](const Storage& constant) {
          return !storage.values.empty() && constant.dtype == storage.dtype &&
                 constant.values.size() == storage.values.size() && Agree(constant, storage);
        });
    if (region.written || nearly || !storage.digest.empty()) {
      uncertain[region.storage] = absl::StrCat(rank.path, ": ", InWords(region));
    }
  }
  return uncertain;
}

}  // namespace planproof::frontend::torch
