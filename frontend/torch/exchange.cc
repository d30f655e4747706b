#include "frontend/torch/exchange.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/strided.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::TensorId;

bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kReduceScatter;
}

// Shapes that lay the same elements out alike: extents of 1 do not count, and a flat buffer takes
// any tensor of as many elements.
bool SameLayout(const sdfg::Shape& a, const sdfg::Shape& b) {
  if (ElementsOf(a) != ElementsOf(b)) return false;
  const auto extents = [](const sdfg::Shape& shape) {
    sdfg::Shape longer;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(longer),
                 [](int64_t extent) { return extent != 1; });
    return longer;
  };
  const sdfg::Shape of_a = extents(a), of_b = extents(b);
  return of_a == of_b || of_a.size() <= 1 || of_b.size() <= 1;
}

class ExchangeCheck {
 public:
  ExchangeCheck(const sdfg::Graph& graph, const Exchange& exchange)
      : graph_(graph),
        exchange_(exchange),
        group_(exchange.channel.ranks),
        first_(exchange.parts.begin()->second) {}

  absl::Status Run() const {
    PLAN_RETURN_IF_ERROR(CheckMembers());
    PLAN_RETURN_IF_ERROR(CheckPresence());
    if (exchange_.channel.point_to_point) {
      PLAN_RETURN_IF_ERROR(CheckMessage());
      return CheckLayouts();
    }
    for (const auto& [rank, part] : exchange_.parts) PLAN_RETURN_IF_ERROR(CheckCall(part));
    for (size_t position = 0; position < group_.size(); ++position) {
      PLAN_RETURN_IF_ERROR(CheckTensors(position));
    }
    return CheckLayouts();
  }

 private:
  const Participant& Of(size_t position) const { return exchange_.parts.at(group_[position]); }
  CollectiveKind kind() const { return first_.collective->kind; }

  std::string TypeOf(TensorId id) const {
    const sdfg::Tensor& tensor = graph_.tensors[id];
    return absl::StrCat(sdfg::DTypeName(tensor.dtype), "[", absl::StrJoin(tensor.shape, ","), "]");
  }

  static absl::Status Wrong(const Participant& part, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(part.place, ": ", what));
  }

  absl::Status Disagree(const char* what, const Participant& a, const std::string& of_a,
                        const Participant& b, const std::string& of_b) const {
    return absl::InvalidArgumentError(absl::StrCat("participants of ", CollectiveName(kind()),
                                                   " disagree in ", what, ": ", a.place, " (", of_a,
                                                   "); ", b.place, " (", of_b, ")"));
  }

  // Whoever takes part is a member of the group.
  absl::Status CheckMembers() const {
    const bool message = exchange_.channel.point_to_point;
    const std::vector<int32_t>& group = message ? exchange_.channel.group : group_;
    const auto is_member = [&](int32_t rank) {
      return std::find(group.begin(), group.end(), rank) != group.end();
    };
    for (const auto& [slot, part] : exchange_.parts) {
      const CollectiveKind called = part.collective->kind;
      if (!is_member(part.rank)) {
        return Wrong(part, absl::StrCat(CollectiveName(called), " among ranks ",
                                        absl::StrJoin(group, ", "), ", in which rank ", part.rank,
                                        " takes part that is not one of them"));
      }
      if (message && part.collective->peer == part.rank) {
        return Wrong(part, absl::StrCat(CollectiveName(called),
                                        " to itself: a rank's peer is another rank"));
      }
      if (message && !is_member(part.collective->peer)) {
        return Wrong(part, absl::StrCat(CollectiveName(called), " among ranks ",
                                        absl::StrJoin(group, ", "), ", of which its peer, rank ",
                                        part.collective->peer, ", is not one"));
      }
      if (HasRoot(called) && !is_member(part.collective->root)) {
        return Wrong(part, absl::StrCat(CollectiveName(called), " among ranks ",
                                        absl::StrJoin(group, ", "), ", of which its root, rank ",
                                        part.collective->root, ", is not one"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckPresence() const {
    if (exchange_.parts.size() == group_.size()) return absl::OkStatus();
    std::vector<int32_t> missing;
    for (size_t i = 0; i < group_.size(); ++i) {
      const int32_t slot = exchange_.channel.point_to_point ? static_cast<int32_t>(i) : group_[i];
      if (exchange_.parts.count(slot) == 0) missing.push_back(group_[i]);
    }
    return Wrong(first_, absl::StrCat(CollectiveName(kind()), " among ranks ",
                                      absl::StrJoin(group_, ", "), ", in which rank ",
                                      absl::StrJoin(missing, ", "), " never takes part"));
  }

  // What all members say of the call, and how many tensors each passes.
  absl::Status CheckCall(const Participant& part) const {
    const Collective &a = *first_.collective, &b = *part.collective;
    const char* what = nullptr;
    if (a.kind != b.kind)
      what = "kind";
    else if (a.reduce != b.reduce || a.factor != b.factor)
      what = "reduction";
    else if (HasRoot(a.kind) && a.root != b.root)
      what = "root";
    if (what != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "participants of a collective disagree in its ", what, ": ", first_.place, " (",
          CollectiveName(a.kind), "); ", part.place, " (", CollectiveName(b.kind), ")"));
    }
    if (b.factor && !Reduces(b.kind)) {
      return Wrong(part, absl::StrCat(CollectiveName(b.kind),
                                      " with a factor, which stands at "
                                      "reductions only"));
    }
    return CheckCounts(part);
  }

  absl::Status CheckCounts(const Participant& part) const {
    const size_t in = part.inputs.size(), out = part.outputs.size(), all = group_.size();
    const bool root = part.collective->root == part.rank;
    bool right = false;
    switch (part.collective->kind) {
      case CollectiveKind::kBarrier:
        right = true;
        break;
      case CollectiveKind::kAllReduce:
        right = in == 1 && out == 1;
        break;
      case CollectiveKind::kReduce:
        right = in == 1 && out == (root ? 1U : 0U);
        break;
      case CollectiveKind::kBroadcast:
        right = root ? in == 1 && out <= 1 : in <= 1 && out == 1;
        break;
      case CollectiveKind::kScatter:
        right = in == (root ? all : 0U) && out == 1;
        break;
      case CollectiveKind::kGather:
        right = in == 1 && out == (root ? all : 0U);
        break;
      case CollectiveKind::kAllGather:
        right = in == 1 && (out == 1 || out == all);
        break;
      case CollectiveKind::kReduceScatter:
        right = (in == 1 || in == all) && out == 1;
        break;
      case CollectiveKind::kAllToAll:
        right = (in == 1 && out == 1) || (in == all && out == all);
        break;
      case CollectiveKind::kSend:
        right = in == 1 && out == 0;
        break;
      case CollectiveKind::kReceive:
        right = in == 0 && out == 1;
        break;
    }
    if (right) return absl::OkStatus();
    return Wrong(part, absl::StrCat(CollectiveName(part.collective->kind), " among ", all,
                                    " ranks takes ", in, " tensors and gives ", out));
  }

  // `received`, of one rank, gets what another sends, or is reduced with it.
  absl::Status Fits(const Participant& from, TensorId sent, const Participant& to,
                    TensorId received) const {
    const sdfg::Tensor &a = graph_.tensors[sent], &b = graph_.tensors[received];
    if (a.dtype != b.dtype) return Disagree("type", from, TypeOf(sent), to, TypeOf(received));
    if (SameLayout(a.shape, b.shape)) return absl::OkStatus();
    return Disagree("shape", from, TypeOf(sent), to, TypeOf(received));
  }
  // The same of `times` tensors like `sent`, whose elements `received` has one after another.
  absl::Status FitsTimes(size_t times, const Participant& from, TensorId sent,
                         const Participant& to, TensorId received) const {
    const sdfg::Tensor &a = graph_.tensors[sent], &b = graph_.tensors[received];
    if (a.dtype != b.dtype) return Disagree("type", from, TypeOf(sent), to, TypeOf(received));
    if (ElementsOf(a.shape) * static_cast<int64_t>(times) == ElementsOf(b.shape)) {
      return absl::OkStatus();
    }
    return Disagree("count", from, absl::StrCat(times, " times ", TypeOf(sent)), to,
                    TypeOf(received));
  }

  absl::Status CheckMessage() const {
    const Participant& from = exchange_.parts.at(0);
    const Participant& to = exchange_.parts.at(1);
    PLAN_RETURN_IF_ERROR(CheckCounts(from));
    PLAN_RETURN_IF_ERROR(CheckCounts(to));
    return Fits(from, from.inputs[0], to, to.outputs[0]);
  }

  // Runtimes exchange memory, not elements: gloo does so whatever strides are, others refuse. It is
  // the same where elements lie in their order, and where nothing is cut and all lie alike.
  absl::Status CheckLayouts() const {
    const Strided* other = nullptr;
    const Participant* whose = nullptr;
    for (const auto& [slot, part] : exchange_.parts) {
      for (const Strided& layout : part.layouts) {
        const bool in_order = SamePositions(layout, Contiguous(0, layout.shape));
        if (in_order || layout.empty()) continue;
        if (whose == nullptr) whose = &part;
        if (other == nullptr) other = &layout;
      }
    }
    if (whose == nullptr) return absl::OkStatus();
    bool alike = kind() == CollectiveKind::kAllReduce || kind() == CollectiveKind::kReduce ||
                 kind() == CollectiveKind::kBroadcast || exchange_.channel.point_to_point;
    for (const auto& [slot, part] : exchange_.parts) {
      for (const Strided& layout : part.layouts) {
        alike = alike && (layout.empty() || (IsDense(layout) && SamePositions(layout, *other)));
      }
    }
    if (alike) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        whose->place, ": ", CollectiveName(whose->collective->kind),
        " of a tensor that is not contiguous: where its elements lie in memory decides which are "
        "exchanged; pass contiguous tensors, results too (torch.empty_like keeps strides)"));
  }

  // Integers wrap around, averages of them are cut off and bools saturate, each as the runtime
  // likes.
  absl::Status CheckReduction(const Participant& part, TensorId input) const {
    const sdfg::DType dtype = graph_.tensors[input].dtype;
    if (sdfg::IsFloating(dtype)) return absl::OkStatus();
    const Collective& collective = *part.collective;
    const char* what = nullptr;
    if (collective.reduce == Reduction::kAverage)
      what = "an average";
    else if (collective.factor)
      what = "a factor";
    else if (collective.reduce == Reduction::kSum && dtype != sdfg::DType::kInt32 &&
             dtype != sdfg::DType::kInt64)
      what = "a sum";
    if (what == nullptr) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(part.place, ": ", CollectiveName(kind()), " with ", what, " of ",
                     TypeOf(input), " has no declared meaning; reduce in int64 or in a real type"));
  }

  // What the member at `position` passes and gets.
  absl::Status CheckTensors(size_t position) const {
    const Participant& part = Of(position);
    const size_t all = group_.size();
    if (Reduces(kind())) {
      for (TensorId input : part.inputs) PLAN_RETURN_IF_ERROR(CheckReduction(part, input));
    }
    switch (kind()) {
      case CollectiveKind::kBarrier:
      case CollectiveKind::kSend:
      case CollectiveKind::kReceive:
        return absl::OkStatus();
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce:
        PLAN_RETURN_IF_ERROR(SameShape(Of(0), Of(0).inputs[0], part, part.inputs[0]));
        if (part.outputs.empty()) return absl::OkStatus();
        return Fits(part, part.inputs[0], part, part.outputs[0]);
      case CollectiveKind::kBroadcast: {
        const Participant& root = exchange_.parts.at(part.collective->root);
        for (const std::vector<TensorId>& tensors : {part.inputs, part.outputs}) {
          for (TensorId tensor : tensors) {
            PLAN_RETURN_IF_ERROR(Fits(root, root.inputs[0], part, tensor));
          }
        }
        return absl::OkStatus();
      }
      case CollectiveKind::kScatter: {
        const Participant& root = exchange_.parts.at(part.collective->root);
        return Fits(root, root.inputs[position], part, part.outputs[0]);
      }
      case CollectiveKind::kGather:
        return CheckList(part);
      case CollectiveKind::kAllGather:
        if (part.outputs.size() == all) return CheckList(part);
        PLAN_RETURN_IF_ERROR(SameShape(Of(0), Of(0).inputs[0], part, part.inputs[0]));
        return FitsTimes(all, part, part.inputs[0], part, part.outputs[0]);
      case CollectiveKind::kReduceScatter:
        return CheckReduceScatter(part, position);
      case CollectiveKind::kAllToAll:
        return CheckAllToAll(part, position);
    }
    return absl::OkStatus();
  }

  absl::Status SameShape(const Participant& a, TensorId of_a, const Participant& b,
                         TensorId of_b) const {
    const sdfg::Tensor &first = graph_.tensors[of_a], &second = graph_.tensors[of_b];
    if (first.dtype != second.dtype) return Disagree("type", a, TypeOf(of_a), b, TypeOf(of_b));
    if (first.shape == second.shape) return absl::OkStatus();
    return Disagree("shape", a, TypeOf(of_a), b, TypeOf(of_b));
  }

  // Each output gets the tensor of one member.
  absl::Status CheckList(const Participant& part) const {
    for (size_t i = 0; i < part.outputs.size(); ++i) {
      PLAN_RETURN_IF_ERROR(Fits(Of(i), Of(i).inputs[0], part, part.outputs[i]));
    }
    return absl::OkStatus();
  }

  absl::Status CheckReduceScatter(const Participant& part, size_t position) const {
    if (part.inputs.size() != Of(0).inputs.size()) {
      return Disagree("number of tensors", Of(0), absl::StrCat(Of(0).inputs.size()), part,
                      absl::StrCat(part.inputs.size()));
    }
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      PLAN_RETURN_IF_ERROR(SameShape(Of(0), Of(0).inputs[i], part, part.inputs[i]));
    }
    if (part.inputs.size() == group_.size()) {
      return Fits(part, part.inputs[position], part, part.outputs[0]);
    }
    const sdfg::Tensor &in = graph_.tensors[part.inputs[0]], &out = graph_.tensors[part.outputs[0]];
    if (in.dtype != out.dtype) {
      return Disagree("type", part, TypeOf(part.inputs[0]), part, TypeOf(part.outputs[0]));
    }
    if (ElementsOf(in.shape) == ElementsOf(out.shape) * static_cast<int64_t>(group_.size())) {
      return absl::OkStatus();
    }
    return Disagree("count", part, TypeOf(part.inputs[0]), part,
                    absl::StrCat(group_.size(), " times ", TypeOf(part.outputs[0])));
  }

  // Rows of dimension 0 that go to each member, or come from each.
  absl::StatusOr<std::vector<int64_t>> SplitsOf(const Participant& part, TensorId tensor,
                                                std::vector<int64_t> splits) const {
    const sdfg::Shape& shape = graph_.tensors[tensor].shape;
    const int64_t rows = shape.empty() ? 0 : shape[0];
    const auto size = static_cast<int64_t>(group_.size());
    if (splits.empty() && rows % size == 0) splits.assign(size, rows / size);
    if (shape.empty() || static_cast<int64_t>(splits.size()) != size ||
        std::accumulate(splits.begin(), splits.end(), int64_t{0}) != rows) {
      return Wrong(part, absl::StrCat("the parts of dimension 0 do not add up to it: [",
                                      absl::StrJoin(splits, ","), "] of ", TypeOf(tensor)));
    }
    return splits;
  }

  absl::Status CheckAllToAll(const Participant& part, size_t position) const {
    if (part.inputs.size() != Of(0).inputs.size()) {
      return Disagree("number of tensors", Of(0), absl::StrCat(Of(0).inputs.size()), part,
                      absl::StrCat(part.inputs.size()));
    }
    if (part.inputs.size() == group_.size() && group_.size() > 1) {
      for (size_t i = 0; i < group_.size(); ++i) {
        PLAN_RETURN_IF_ERROR(Fits(Of(i), Of(i).inputs[position], part, part.outputs[i]));
      }
      return absl::OkStatus();
    }
    const TensorId out = part.outputs[0];
    PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> received,
                          SplitsOf(part, out, part.collective->out_splits));
    for (size_t i = 0; i < group_.size(); ++i) {
      const Participant& from = Of(i);
      const TensorId in = from.inputs[0];
      PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sent,
                            SplitsOf(from, in, from.collective->in_splits));
      const sdfg::Tensor &a = graph_.tensors[in], &b = graph_.tensors[out];
      if (a.dtype != b.dtype) return Disagree("type", from, TypeOf(in), part, TypeOf(out));
      const sdfg::Shape row_a(a.shape.begin() + 1, a.shape.end());
      const sdfg::Shape row_b(b.shape.begin() + 1, b.shape.end());
      if (row_a != row_b) return Disagree("shape", from, TypeOf(in), part, TypeOf(out));
      if (sent[position] == received[i]) continue;
      return Disagree(
          "count", from,
          absl::StrCat(sent[position], " rows to rank ", part.rank, " of ", TypeOf(in)), part,
          absl::StrCat(received[i], " rows from rank ", from.rank, " into ", TypeOf(out)));
    }
    return absl::OkStatus();
  }

  const sdfg::Graph& graph_;
  const Exchange& exchange_;
  const std::vector<int32_t>& group_;
  const Participant& first_;
};

}  // namespace

absl::Status CheckExchange(const sdfg::Graph& graph, const Exchange& exchange) {
  return ExchangeCheck(graph, exchange).Run();
}

}  // namespace planproof::frontend::torch
