#include "frontend/torch/wrapper_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

constexpr std::array<const char*, 5> kWrappers = {
    "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod", "_forward_module", "module"};

class Names {
 public:
  explicit Names(const Trace& reference) {
    for (const Input& input : reference.inputs) Add(input.name);
    for (const TraceResult& result : reference.results) {
      if (result.kind != ResultKind::kOutput) Add(result.name);
    }
  }

  // Gives the tensors of one rank their names in the reference.
  absl::Status Rename(Trace* rank) {
    std::map<std::string, std::string> given;  // by name in the reference
    std::set<std::string> own;
    for (const Input& input : rank->inputs) own.insert(input.name);
    for (const std::string& name : own) {
      PLAN_ASSIGN_OR_RETURN(const std::string here, InReference(*rank, name));
      const auto [at, is_new] = given.emplace(here, name);
      if (!is_new) {
        return absl::InvalidArgumentError(
            absl::StrCat(rank->path, ": ", name, ": is the same name as ", at->second,
                         " without the wrappers' components; say which is which with rename="));
      }
    }
    for (Input& input : rank->inputs) {
      PLAN_RETURN_IF_ERROR(Replace(*rank, &input.name));
      PLAN_RETURN_IF_ERROR(Replace(*rank, &input.parameter));
    }
    for (TraceResult& result : rank->results) {
      if (result.kind != ResultKind::kOutput) PLAN_RETURN_IF_ERROR(Replace(*rank, &result.name));
    }
    return absl::OkStatus();
  }

  const std::map<std::string, std::string>& replaced() const { return replaced_; }

 private:
  void Add(const std::string& name) {
    exact_.insert(name);
    without_[WithoutWrappers(name)].insert(name);
  }

  absl::StatusOr<std::string> InReference(const Trace& rank, const std::string& name) const {
    if (exact_.count(name) != 0) return name;
    const auto found = without_.find(WithoutWrappers(name));
    if (found == without_.end()) return name;
    if (found->second.size() == 1) return *found->second.begin();
    return absl::InvalidArgumentError(
        absl::StrCat(rank.path, ": ", name, ": may be ", absl::StrJoin(found->second, " or "),
                     " of the reference, which are one name without the wrappers' components; say "
                     "which it is with rename="));
  }

  absl::Status Replace(const Trace& rank, std::string* name) {
    PLAN_ASSIGN_OR_RETURN(std::string other, InReference(rank, *name));
    if (other == *name) return absl::OkStatus();
    replaced_.emplace(*name, other);
    *name = std::move(other);
    return absl::OkStatus();
  }

  std::set<std::string> exact_;
  std::map<std::string, std::set<std::string>> without_;
  std::map<std::string, std::string> replaced_;
};

}  // namespace

std::string WithoutWrappers(const std::string& name) {
  std::vector<std::string> components = absl::StrSplit(name, '.');
  components.erase(std::remove_if(components.begin(), components.end(),
                                  [](const std::string& component) {
                                    return std::find(kWrappers.begin(), kWrappers.end(),
                                                     component) != kWrappers.end();
                                  }),
                   components.end());
  return absl::StrJoin(components, ".");
}

absl::Status NameAsTheReference(const Trace& reference, std::vector<Trace>* ranks,
                                std::vector<std::string>* assumptions) {
  Names names(reference);
  for (Trace& rank : *ranks) PLAN_RETURN_IF_ERROR(names.Rename(&rank));
  if (names.replaced().empty()) return absl::OkStatus();
  const auto& [wrapped, plain] = *names.replaced().begin();
  assumptions->push_back(
      absl::StrCat("what wrappers insert into names means nothing: ", names.replaced().size(),
                   " names, the first ", wrapped, ", which is ", plain));
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
