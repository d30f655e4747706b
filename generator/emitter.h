// Writes the forward pass of a model as operators and collectives. One description of a model
// serves both graphs: with the default layout the emitter writes the logical graph, in which
// tensors are whole and collectives vanish; with a strategy's layout it writes what each rank runs.
#ifndef PLANPROOF_GENERATOR_EMITTER_H_
#define PLANPROOF_GENERATOR_EMITTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "generator/layout.h"
#include "generator/trace.h"

namespace planproof::generator {

// An operand: a tensor, or an exact number.
struct Argument {
  Argument(Value tensor) : value(tensor) {}                     // NOLINT: reads as the value
  Argument(std::string number) : literal(std::move(number)) {}  // NOLINT
  Argument(const char* number) : literal(number) {}             // NOLINT
  Value value = kNoValue;
  std::string literal;
};

struct Expression {
  std::string text;  // over coordinates of the mesh
};
struct Number {
  std::string text;  // exact
};
using AttributeValue =
    std::variant<int64_t, bool, std::string, Expression, Number, std::vector<int64_t>>;

// The application of an operator.
struct Call {
  std::string op;
  std::vector<Argument> in;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  bool stop_gradient = false;
};

// A result: its name in the logical graph, and how it lies.
struct Out {
  std::string name;
  Dims dims;
  bool integer = false;
  bool local = false;           // the logical graph has no such tensor
  std::string held_as;          // the name of what this rank holds, if not `name`
  bool local_gradient = false;  // the logical graph has no tensor like its gradient
};

class Emitter {
 public:
  explicit Emitter(const Layout& layout, bool logical);

  const Layout& layout() const { return trace_.layout; }
  Trace* trace() { return &trace_; }
  int stage() const { return stage_; }
  // Everything that follows runs on this stage; tensors of others must be moved first.
  void SetStage(int stage) { stage_ = stage; }
  // The same for the forward pass of a chunk of the stage's layers.
  void BeginChunk(int stage, int chunk) {
    stage_ = stage;
    chunk_ = chunk;
    trace_.BeginPhase(stage, "F" + std::to_string(chunk));
  }
  // What follows is known before the first microbatch, up to the next BeginChunk.
  void BeginPreparation() { trace_.BeginPhase(stage_, kPreparePhase); }
  int chunk() const { return chunk_; }

  // A tensor that nothing computes, as the present stage reads it.
  Value Read(const Declaration& declaration);
  // A parameter as operators use it. Where ranks hold shards of it (ZeRO stage 3) it is gathered
  // once in the forward pass and once more in the backward pass.
  Value Parameter(const std::string& name, const Dims& dims);
  const Dims& DimsOf(Value value) const { return trace_.values[value].dims; }
  int64_t LocalExtent(Value value, int dim) const;

  Value Apply(const Call& call, const Out& out);
  std::vector<Value> Apply(const Call& call, const std::vector<Out>& out);
  // An operator of which each rank (or microbatch) of `over` computes one term of a sum that is not
  // reduced yet.
  Value ApplyTerm(const Call& call, const Out& out, const Axes& over);
  // A tensor of the present stage that was not written through this emitter.
  Value Adopt(const std::string& name, const Dims& dims) { return Adopt(name, name, dims); }
  Value Adopt(const std::string& name, const std::string& logical, const Dims& dims);
  // An operator of which each rank of `over` computes one term of a sum (or maximum), and the
  // reduction that makes it whole on every rank.
  Value ApplyAndReduce(const Call& call, const Out& out, const Axes& over,
                       const std::string& reduce = "sum");
  // The same where each rank keeps its part of dimension `dim` afterwards: `out` says where it is
  // cut.
  Value ApplyAndScatter(const Call& call, const Out& out, const Axes& over, int dim);

  // Into and out of a tensor-parallel region, in which ranks of tp use a value in different ways
  // (the conjugate operators f and g of Megatron-LM; with sequence parallelism g-bar gathers and
  // scatters dimension `dim`).
  Value EnterTensorParallel(Value x, int dim);
  // The whole sequence for what every rank of tp computes alike: the gradient is the same on all of
  // them (gather_from_sequence_parallel_region with tensor_parallel_output_grad=False).
  Value GatherReplicated(Value x, int dim);
  // The inverse: what every rank of tp has computed alike, its part of dimension `dim`.
  Value SplitReplicated(Value x, int dim);
  Value ApplyAndLeave(const Call& call, const Out& out, int dim);
  // Keys or values of all context-parallel ranks along dimension `dim`; each rank uses them for its
  // own queries.
  Value GatherContext(Value x, int dim);
  // The indices of dimension `dim` from `start` on that `part` says: this rank's tensor
  // NAME`suffix`.
  Value Narrow(Value x, int dim, int64_t start, const std::string& suffix, const Dim& part,
               bool local_gradient = false);
  // The same from a start that depends on the coordinates. No gradient of the logical graph is like
  // the part's.
  Value NarrowAt(Value x, int dim, const Expression& start, const std::string& suffix,
                 const Dim& part);
  // The part along `dim` that the rank before in the ring of context-parallel ranks holds.
  Value PassOn(Value x, int dim);
  // Every rank of `over` sends part r of dimension `split` to rank r and joins what it receives
  // along `concat`. The tensor itself where `over` is empty.
  Value AllToAll(Value x, const Out& out, const Axes& over, int split, int concat);

  // The value on another stage.
  Value MoveTo(int stage, Value x);

  // What is written between the two calls, on one stage, is computed again in the backward pass.
  void BeginRecomputed();
  void EndRecomputed();

 private:
  Value Add(ValueInfo info);
  void WriteCall(const Call& call, const std::vector<std::string>& outputs);
  // Runs the call; the results are partial over `partial`.
  std::vector<Value> Run(const Call& call, const std::vector<Out>& out, const Axes& partial);

  // A step that is no operator, from `from` to a new tensor.
  Value Record(Step::Kind kind, Value from, const Axes& over, int dim, ValueInfo info);
  // The tensor `out` that a collective makes of `term`.
  ValueInfo Whole(Value term, const Out& out) const;
  // The description of x for another tensor, which is no branch of its gradient.
  ValueInfo Renamed(Value x, const std::string& name) const;
  Value Gather(Step::Kind kind, Value x, const Axes& over, int dim, const std::string& suffix);
  bool IsCut(Value x, int dim, const Axes& over) const;
  // Blocks that were gathered from ranks in zigzag order, put in order along `dim`.
  Value InOrder(Value blocks, int dim, const Out& whole);

  Trace trace_;
  int stage_ = 0;
  RecomputedRegion region_;
  int chunk_ = 0;
  std::map<std::pair<int, std::string>, Value> read_;  // by stage and name
  std::map<Value, Value> entered_;                     // values in a tensor-parallel region
  std::map<Value, Value> whole_;                       // parameters gathered from shards
};

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_EMITTER_H_
