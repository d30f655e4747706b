// Finds which tensors of a program lie in one memory: those for which the plan names a buffer, and
// those around an operator that overwrites its operand ("inplace"), whose result takes the
// operand's place.
//
// What rearranges a tensor (a view, a slice, a transpose) may give another tensor or another name
// for the same memory, which depends on the framework. So where an operator overwrites a tensor,
// all tensors that are the same memory by then are overwritten with it, unless the plan gives them
// a buffer of their own.
//
// Around a tensor that merely lies in a buffer, a tensor without a buffer has memory of its own.
// Views::kOfBuffers asks what if it had not.
#ifndef PLANPROOF_STAGES_SCHEDULE_SHARED_MEMORY_H_
#define PLANPROOF_STAGES_SCHEDULE_SHARED_MEMORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stages/schedule/step_order.h"

namespace planproof::stages {

struct Region {
  std::string name;  // for people: "buffer \"b\"", "the memory of h"
  int32_t slots = 1;
};

enum class Views { kAsStated, kOfBuffers };

class SharedMemory {
 public:
  SharedMemory(const StepOrder& order, Views views);

  bool empty() const { return region_of_.empty(); }
  // Null: the tensor has memory of its own.
  const Region* RegionOf(sdfg::TensorId tensor) const;
  // The tensor lies where the operands of its producer lie, and leaves them as they are.
  bool IsView(sdfg::TensorId tensor) const { return views_.count(tensor) > 0; }
  // Element i of both, in row-major order, lies at one place. Otherwise, in one memory, nothing is
  // known: a transposed view, or a part.
  bool SamePlaces(sdfg::TensorId a, sdfg::TensorId b) const;
  // Tensors with a region, ascending.
  const std::map<sdfg::TensorId, const Region*>& tensors() const { return region_of_; }
  // The plan puts an operator's operand and result, which are one memory, into two buffers.
  const std::optional<Violation>& violation() const { return violation_; }

 private:
  // Sets of tensors.
  class Groups {
   public:
    sdfg::TensorId Root(sdfg::TensorId tensor);
    void Join(sdfg::TensorId a, sdfg::TensorId b) { parent_[Root(b)] = Root(a); }
    std::map<sdfg::TensorId, std::vector<sdfg::TensorId>> Members();

   private:
    std::map<sdfg::TensorId, sdfg::TensorId> parent_;
  };

  void JoinOverwritten(const StepOrder& order);
  void AddViewsOfBuffers(const StepOrder& order);
  void JoinPlaces(const StepOrder& order);

  std::map<std::pair<int32_t, std::string>, Region> buffers_;  // by program and name
  std::map<sdfg::TensorId, Region> regions_;                   // by first tensor
  std::map<sdfg::TensorId, const Region*> region_of_;
  std::set<sdfg::TensorId> views_;
  std::map<sdfg::TensorId, sdfg::TensorId> places_;  // with one number: at the same places
  std::optional<Violation> violation_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_SHARED_MEMORY_H_
