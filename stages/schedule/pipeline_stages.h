// Reads the pipeline that a plan's programs form off its phases and off what the passes of one
// program read of those of others.
//
// A phase F0, F1, ... of a program is the forward pass of one of its chunks of layers, B0, B1, ...
// the backward pass ("F" and "B" if it has one chunk). Whatever is computed for a microbatch from
// parameters belongs to a pass; other phases prepare, communicate, wait, or update. A schedule says
// something about such plans only, so everything else is an error here.
#ifndef PLANPROOF_STAGES_SCHEDULE_PIPELINE_STAGES_H_
#define PLANPROOF_STAGES_SCHEDULE_PIPELINE_STAGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stages/schedule/step_order.h"

namespace planproof::stages {

// A forward or backward pass of one chunk.
struct Pass {
  bool backward = false;
  int64_t chunk = 0;
  friend bool operator==(const Pass&, const Pass&) = default;
  friend bool operator<(const Pass& a, const Pass& b) {
    return std::tie(a.backward, a.chunk) < std::tie(b.backward, b.chunk);
  }
};
// The pass whose phase has this name, if any.
std::optional<Pass> PassNamed(const std::string& phase);

// Why a plan is no pipeline: of which program, and what.
struct NoPipeline {
  size_t program = 0;
  std::string what;
};

class PipelineStages {
 public:
  // `order` has passed CheckOnce.
  explicit PipelineStages(const StepOrder& order);

  const std::optional<NoPipeline>& error() const { return error_; }
  // Whether the program has operators; nothing is known of one that has none.
  bool used(size_t program) const { return used_[program]; }
  // By how many programs its forward pass is behind a program that receives from no other one.
  int64_t stage(size_t program) const { return stage_[Component(program)]; }
  int64_t stages() const { return stages_; }
  int64_t chunks() const { return chunks_; }

 private:
  // A pass of a program.
  using Origin = std::pair<int32_t, Pass>;

  std::string Quoted(size_t program) const;
  bool Fail(size_t program, std::string what);
  // These return false if there is an error.
  bool FindUsed();
  bool CheckPasses(size_t program);
  bool CheckContents();
  bool CheckNeeded();
  void FindFlows();
  void JoinCollective(const sdfg::Operator& op, int program);
  bool NumberStages();
  bool CheckFlows();

  std::optional<Pass> PassOf(lineage::Place place) const;
  size_t Component(size_t program) const;
  // The place of a pass in the whole pipeline, chunk after chunk.
  int64_t Rank(const Origin& origin) const {
    return origin.second.chunk * stages_ + stage(origin.first);
  }

  const StepOrder& order_;
  const sdfg::Graph& graph_;
  std::vector<bool> used_;
  std::vector<bool> needed_;                   // by tensor: a required output depends on it
  std::vector<std::vector<Origin>> computed_;  // by tensor: in which passes
  std::map<std::pair<Origin, Origin>, sdfg::OperatorId> flows_;  // from, to: an example
  std::vector<size_t> component_;  // programs that share a stage, as union-find
  std::vector<int64_t> stage_;     // by first program of a component
  int64_t stages_ = 1;
  int64_t chunks_ = 0;
  std::optional<NoPipeline> error_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_PIPELINE_STAGES_H_
