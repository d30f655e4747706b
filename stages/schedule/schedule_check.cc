#include "stages/schedule/schedule_check.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/schedule/buffer_check.h"
#include "stages/schedule/rendezvous.h"

namespace planproof::stages {
namespace {

using lineage::Place;
using sdfg::kNone;
using sdfg::TensorId;

// How an operator of one phase reads what another phase computes.
struct Dependency {
  Place reader;
  Place source;
  bool reader_varies = false;
  bool source_varies = false;
  bool same = false;  // the same microbatch only
  auto Key() const {
    return std::make_tuple(reader.program, reader.phase, source.phase, reader_varies, source_varies,
                           same);
  }
};

class DependencyCheck {
 public:
  DependencyCheck(const StepOrder& order, size_t most) : order_(order), most_(most) {}

  std::vector<Violation> Run() {
    const sdfg::Graph& graph = order_.problem().parallel;
    for (const sdfg::Operator& op : graph.operators) {
      const std::vector<bool> same = order_.ReadsSameMicrobatch(op);
      for (size_t i = 0; i < op.inputs.size() && found_.size() < most_; ++i) {
        const TensorId input = op.inputs[i];
        if (graph.tensors[input].producer == kNone) continue;
        const Dependency d{order_.PlaceOf(op), order_.PlaceOf(input), order_.VariesOperator(op),
                           order_.Varies(input), same[i]};
        if (d.reader.program != d.source.program || !seen_.insert(d.Key()).second) continue;
        Check(d, op, input);
      }
    }
    return std::move(found_);
  }

 private:
  void Check(const Dependency& d, const sdfg::Operator& op, TensorId input) {
    const bool by_microbatch = d.reader_varies && !order_.Once(d.reader);
    const int64_t instances = by_microbatch ? order_.microbatches() : 1;
    for (int64_t m = 0; m < instances; ++m) {
      const int64_t runs = order_.Computed(d.reader, by_microbatch, m);
      const bool all = d.source_varies && (!d.same || !by_microbatch);
      const int64_t there =
          all ? order_.Last(d.source) : order_.Computed(d.source, d.source_varies, m);
      // Within one step operators run in the order of the graph.
      if (there <= runs) continue;
      const int64_t microbatch = all ? order_.Steps(d.source.program)[there].microbatch : m;
      Report(op, input, d.reader.program, runs, there, microbatch);
      return;
    }
  }

  void Report(const sdfg::Operator& op, TensorId input, int program, int64_t runs, int64_t there,
              int64_t microbatch) {
    const sdfg::Graph& graph = order_.problem().parallel;
    const sdfg::Operator& producer = graph.operators[graph.tensors[input].producer];
    const std::string tensor = order_.TensorText(input, microbatch);
    Violation v =
        OrderViolation("read before it is computed",
                       absl::StrCat("program \"", order_.ProgramName(program),
                                    "\": ", order_.StepText(program, runs), " reads ", tensor,
                                    ", which ", order_.StepText(program, there), " computes"),
                       absl::StrCat(order_.OperatorText(op), " in ", order_.StepText(program, runs),
                                    " reads ", tensor, ", which ", order_.OperatorText(producer),
                                    " computes in ", order_.StepText(program, there)));
    Concerns(op, &v);
    Concerns(producer, &v);
    if (order_.Varies(input)) v.microbatches = absl::StrCat(microbatch);
    found_.push_back(std::move(v));
  }

  const StepOrder& order_;
  const size_t most_;
  std::vector<Violation> found_;
  std::set<decltype(Dependency().Key())> seen_;
};

}  // namespace

std::vector<Violation> CheckSchedule(StepOrder* order, size_t most) {
  const lineage::Problem& problem = order->problem();
  if (problem.schedule.programs.empty()) return {};
  if (problem.schedule.places.size() < problem.parallel.tensors.size()) {
    return {OrderViolation("malformed plan", "a tensor belongs to no program",
                           "the schedule does not say where every tensor is computed")};
  }
  if (auto violation = order->CheckOnce()) return {*std::move(violation)};
  std::vector<Violation> found = DependencyCheck(*order, most).Run();
  if (!found.empty()) return found;
  if (auto violation = CheckRendezvous(*order)) return {*std::move(violation)};
  if (auto violation = CheckBuffers(*order)) return {*std::move(violation)};
  return {};
}

MemoryRemarks RemarksOnMemory(const StepOrder& order) {
  MemoryRemarks remarks;
  const lineage::Problem& problem = order.problem();
  const auto& operators = problem.parallel.operators;
  const bool in_place = std::any_of(operators.begin(), operators.end(),
                                    [](const auto& op) { return op.memory.overwrites != kNone; });
  if (problem.schedule.programs.empty()) return remarks;
  if (problem.schedule.storage.empty() && !in_place) return remarks;
  if (const auto violation = CheckBuffers(order, Views::kOfBuffers)) {
    remarks.assumptions.push_back(
        absl::StrCat("what is cut or rearranged from a tensor in a buffer is a copy, unless it has "
                     "a buffer, too; else ",
                     violation->cause));
  }
  remarks.warnings = LostConstants(order);
  return remarks;
}

}  // namespace planproof::stages
