// Records what an emitter has written so far: tensors with their layout, the order in which the
// forward pass computed them, and the programs (one per pipeline stage; the logical graph is one
// program).
#ifndef PLANPROOF_GENERATOR_TRACE_H_
#define PLANPROOF_GENERATOR_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/plan/plan.pb.h"
#include "generator/layout.h"
#include "generator/schedule.h"

namespace planproof::generator {

using Value = int32_t;
inline constexpr Value kNoValue = -1;

// A tensor of one stage's program.
struct ValueInfo {
  std::string name;
  std::string logical;  // the logical tensor of which it is a slice
  Dims dims;
  int stage = 0;
  int chunk = 0;  // of the stage's layers
  bool differentiable = false;
  bool parameter = false;
  bool weight = false;             // a parameter gathered from its shards
  bool local = false;              // the logical graph has no such tensor, and none of its gradient
  bool local_gradient = false;     // none of its gradient
  bool counted_elsewhere = false;  // a parameter that counts on another stage in the norm
  Axes partial;                    // it is one term of the sum over these
  // Its gradient: the name, and the axes over whose ranks it is a sum, because they hold the same
  // value and use it differently.
  std::string gradient;
  Axes gradient_partial;
  Value branch_of = kNoValue;  // its gradient is one contribution to the gradient of this tensor

  // The backward pass.
  int uses = 0;                            // how many contributions there will be
  std::vector<std::string> contributions;  // tensors, in order
};

// One step of the forward pass, as the backward pass needs it.
struct Step {
  enum class Kind : uint8_t {
    kOperator,
    kAllReduce,         // backward: nothing, all ranks use the sum alike
    kReduceScatter,     // backward: all_gather
    kAllGather,         // backward: reduce_scatter, each rank uses the whole in its own way
    kGatherReplicated,  // backward: chunk, all ranks use the whole alike
    kSplitReplicated,   // backward: all_gather
    kCopy,              // no operator; ranks use their copies differently; backward: all_reduce
    kAllToAll,          // backward: all_to_all with the dimensions exchanged
    kShift,             // to the next rank of the ring; backward: to the one before
    kMove               // to another stage; backward: move back
  };
  Kind kind = Kind::kOperator;
  std::vector<Value> inputs;  // tensor operands, in order
  std::vector<Value> outputs;
  Axes over;       // of a collective
  int dim = 0;     // that it gathers, scatters or splits
  int concat = 0;  // kAllToAll: along which it joins
};

// Steps, and the operators that they wrote to one stage's program, that run again in the backward
// pass.
struct RecomputedRegion {
  int stage = 0;
  int first_step = 0;
  int first_operator = 0;
  int end_step = 0;
  int end_operator = 0;
};

// A tensor that nothing computes.
struct Declaration {
  std::string name;
  plan::Role role = plan::ROLE_INPUT;
  std::string dtype = "float32";
  Dims dims;
  bool nonnegative = false;
  int64_t below = 0;  // integers: 0 <= element < below
};

struct Trace {
  Layout layout;
  bool logical = false;  // the logical graph: no lineage is written
  std::vector<ValueInfo> values;
  std::vector<Step> steps;
  std::vector<RecomputedRegion> recomputed;  // in order
  std::vector<Declaration> declarations;
  std::vector<plan::Program> programs;
  std::vector<Value> parameters;  // in the order of their first use
  std::string gradient_factor;    // of all gradients that are written; empty: 1

  PhaseMarks phases;

  // The operators that follow are of this phase; "F2" is the forward pass of chunk 2.
  void BeginPhase(int stage, const std::string& phase) {
    phases.Begin(stage, programs[stage], phase);
  }
  void BeginBackward(Value value) {
    BeginPhase(values[value].stage, "B" + std::to_string(values[value].chunk));
  }
  // The name of this rank's program of a stage.
  std::string StageName(int stage) const { return StageName(stage, {}); }
  // An operator with the one output `out` appended to the stage's program.
  plan::Operator* Write(int stage, const std::string& op, const std::vector<std::string>& in,
                        const std::string& out);
  // A collective of the stage's ranks over `axes`: of one program, or between the programs of the
  // ranks that have their own. The reduction over the axis microbatch is an
  // accumulation. Without axes the result is a copy only if `in` and `out` differ.
  void WriteAllReduce(int stage, const Axes& axes, const std::string& in, const std::string& out,
                      const std::string& reduce = "sum");
  // all_gather or reduce_scatter.
  void WriteAlong(int stage, const std::string& op, const Axes& axes, int dim,
                  const std::string& in, const std::string& out);
  // Every rank of the axis sends `of` or its gradient to the one `shift` ranks further, around the
  // ring.
  void WriteShift(int stage, const std::string& axis, int64_t shift, Value of,
                  const std::string& in, const std::string& out);
  void WriteAllToAll(int stage, const Axes& axes, int split, int concat, const std::string& in,
                     const std::string& out);
  // out = sum of `terms`, which are at least one.
  void WriteSum(int stage, const std::vector<std::string>& terms, const std::string& out);
  void WriteLineage(const ValueInfo& info) {
    if (!info.local) WriteLineage(info.stage, info.name, info.logical, info.dims, info.partial);
  }
  void WriteLineage(int stage, const std::string& name, const std::string& logical,
                    const Dims& dims, const Axes& partial);
  // How the dimensions are cut; for an input also what is left, where that must be said.
  void WriteCuts(const Dims& dims, bool input, plan::Relation* relation) const;

 private:
  // Of the ranks `others`; of the axes that are not named, of this rank.
  std::string StageName(int stage, const Layout::Ranks& others) const;
  // A collective over `axes`; between programs if their ranks have programs of their own.
  plan::Collective* WriteCollective(int stage, const std::string& op, const Axes& axes,
                                    const std::string& in, const std::string& out);
  // This rank's chunk of its own tensor, of as many equal ones as the axis has ranks.
  void WriteOwnChunk(int stage, const std::string& axis, int dim, const std::string& in,
                     const std::string& out);
};

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_TRACE_H_
