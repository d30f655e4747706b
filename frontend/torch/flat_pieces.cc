#include "frontend/torch/flat_pieces.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/strided.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using Group = std::vector<int32_t>;
using Range = std::pair<int64_t, int64_t>;

bool IsPart(const Part& part) { return part.whole || !part.place.empty() || part.flat; }

// Where buffers are gathered from: by storage the ranges of elements, and the group.
class GatheredBuffers {
 public:
  explicit GatheredBuffers(const Trace& trace) {
    for (const Executed& executed : trace.operators) {
      if (!executed.collective || executed.collective->kind != CollectiveKind::kAllGather) continue;
      const Group& group = trace.groups[executed.collective->group];
      if (group.size() < 2) continue;
      for (TensorNumber number : executed.collective->in) {
        const Tensor& tensor = trace.tensors[number];
        buffers_[tensor.storage].push_back(
            {{tensor.offset, tensor.offset + ElementsOf(tensor.shape)}, &group});
      }
    }
  }

  // nullptr: the tensor is in no buffer that is gathered.
  const Group* GroupOf(const Tensor& tensor) const {
    const auto found = buffers_.find(tensor.storage);
    if (found == buffers_.end()) return nullptr;
    const int64_t end = tensor.offset + ElementsOf(tensor.shape);
    for (const auto& [range, group] : found->second) {
      if (tensor.offset >= range.first && end <= range.second) return group;
    }
    return nullptr;
  }

 private:
  std::map<StorageId, std::vector<std::pair<Range, const Group*>>> buffers_;
};

class FlatPieces {
 public:
  FlatPieces(const Trace& reference, std::vector<Trace>* ranks) : ranks_(*ranks) {
    for (const Input& input : reference.inputs) {
      shapes_[input.name] = reference.tensors[input.tensor].shape;
    }
    for (Trace& rank : ranks_) {
      by_rank_[rank.rank] = &rank;
      gathered_.emplace_back(rank);
    }
  }

  absl::Status Run(std::vector<std::string>* assumptions) {
    for (const std::string& name : Candidates()) PLAN_RETURN_IF_ERROR(Place(name));
    if (placed_.empty()) return absl::OkStatus();
    for (Trace& rank : ranks_) PlaceStates(&rank);
    assumptions->push_back(absl::StrCat("the flat pieces of ", placed_.size(),
                                        " parameters, the first ", *placed_.begin(),
                                        ", follow one another in the order in which the ranks "
                                        "gather the buffers that they lie in"));
    return absl::OkStatus();
  }

 private:
  // A parameter of which some rank has a flat piece in a buffer that is gathered.
  std::set<std::string> Candidates() const {
    std::set<std::string> names;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (const Input& input : ranks_[r].inputs) {
        const Tensor& tensor = ranks_[r].tensors[input.tensor];
        const auto whole = shapes_.find(input.name);
        if (input.role == InputRole::kParameter && !IsPart(input.part) && whole != shapes_.end() &&
            tensor.shape.size() == 1 && !tensor.complex && ElementsOf(tensor.shape) > 0 &&
            tensor.shape[0] <= ElementsOf(whole->second) &&
            gathered_[r].GroupOf(tensor) != nullptr) {
          names.insert(input.name);
        }
      }
    }
    return names;
  }

  static Input* Find(Trace* rank, const std::string& name) {
    for (Input& input : rank->inputs) {
      if (input.name == name) return &input;
    }
    return nullptr;
  }

  absl::Status Place(const std::string& name) {
    const sdfg::Shape& whole = shapes_.at(name);
    std::set<Group> groups;
    bool flat = false;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Input* input = Find(&ranks_[r], name);
      if (input == nullptr) continue;
      const Tensor& tensor = ranks_[r].tensors[input->tensor];
      flat = flat || tensor.shape != whole;
      // All of them are pieces, or none is.
      if (IsPart(input->part) || tensor.shape.size() != 1) return absl::OkStatus();
      const Group* group = gathered_[r].GroupOf(tensor);
      if (group != nullptr && tensor.shape[0] > 0) groups.insert(*group);
    }
    if (!flat) return absl::OkStatus();
    std::map<int32_t, Range> places;
    for (const Group& group : groups) {
      int64_t next = 0;
      for (int32_t rank : group) {
        const auto trace = by_rank_.find(rank);
        const Input* input = trace == by_rank_.end() ? nullptr : Find(trace->second, name);
        const int64_t length =
            input == nullptr ? 0 : trace->second->tensors[input->tensor].shape[0];
        if (input == nullptr || !places.emplace(rank, Range{next, length}).second) {
          return Unclear(name, group);
        }
        next += length;
      }
      if (next != ElementsOf(whole)) return Unclear(name, group);
    }
    for (Trace& rank : ranks_) {
      Input* input = Find(&rank, name);
      if (input == nullptr) continue;
      const auto place = places.find(rank.rank);
      input->part.whole = whole;
      input->part.flat = place == places.end() ? Range{0, 0} : place->second;
      if (place == places.end() && rank.tensors[input->tensor].shape[0] > 0) {
        return Unclear(name, {rank.rank});
      }
    }
    placed_.insert(name);
    return absl::OkStatus();
  }

  absl::Status Unclear(const std::string& name, const Group& group) const {
    return absl::InvalidArgumentError(absl::StrCat(
        ranks_[0].path, ": ", name, ": the flat pieces of it on ranks ", absl::StrJoin(group, ", "),
        " are not all of it, so which elements they are is not known; say it with placement="));
  }

  // States of as many elements lie as their parameter does.
  void PlaceStates(Trace* rank) {
    std::map<std::string, const Input*> parameters;
    for (const Input& input : rank->inputs) {
      if (placed_.count(input.name) != 0) parameters[input.name] = &input;
    }
    for (Input& input : rank->inputs) {
      const auto parameter = parameters.find(input.parameter);
      if (parameter == parameters.end() || IsPart(input.part)) continue;
      const auto whole = shapes_.find(input.name);
      if (whole == shapes_.end() || whole->second != shapes_.at(input.parameter) ||
          rank->tensors[input.tensor].shape != rank->tensors[parameter->second->tensor].shape) {
        continue;
      }
      input.part = parameter->second->part;
    }
  }

  std::vector<Trace>& ranks_;
  std::map<std::string, sdfg::Shape> shapes_;  // of the reference's tensors
  std::map<int32_t, Trace*> by_rank_;
  std::vector<GatheredBuffers> gathered_;  // by position in ranks_
  std::set<std::string> placed_;
};

}  // namespace

absl::Status PlaceFlatPieces(const Trace& reference, std::vector<Trace>* ranks,
                             std::vector<std::string>* assumptions) {
  return FlatPieces(reference, ranks).Run(assumptions);
}

}  // namespace planproof::frontend::torch
