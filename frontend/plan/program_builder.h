// Builds the parallel graph from a plan's programs. Internal to program.h.
//
// Programs are run symbolically in the order written, one operator at a time, each on its group of
// devices: a program that reads another's tensor waits until that is defined, and programs that
// wait for each other are a wait cycle of the plan.
#ifndef PLANPROOF_FRONTEND_PLAN_PROGRAM_BUILDER_H_
#define PLANPROOF_FRONTEND_PLAN_PROGRAM_BUILDER_H_

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/local_calls.h"
#include "frontend/plan/operator_call.h"
#include "frontend/plan/plan.pb.h"
#include "frontend/plan/program_schedule.h"
#include "frontend/plan/relation.h"
#include "frontend/plan/specification.h"
#include "lineage/lineage.h"
#include "lineage/problem_builder.h"
#include "sdfg/collectives.h"
#include "sdfg/coordinate_functions.h"
#include "sdfg/operator_library.h"
#include "sdfg/shared_functions.h"

namespace planproof::plan {

using sdfg::AxisList;
using sdfg::CoordinateBox;

// What a later backward operator needs to know of a forward one.
struct ForwardRecord {
  std::vector<std::string> input_names;  // tensor operands
  std::vector<sdfg::TensorId> inputs;
  std::vector<std::string> output_names;
  std::shared_ptr<const LocalCall> call;
};

// A collective that has been started and not waited for yet.
struct StartedCollective {
  std::string output;
  sdfg::TensorId result = sdfg::kNone;
};

// A collective between programs, as its participants know it.
struct GroupCollective {
  // The participants' programs and the tensors that they take part with, in group order.
  std::vector<std::pair<int32_t, std::string>> operands;
  std::string exchange;  // ExchangeText
  friend bool operator<(const GroupCollective& a, const GroupCollective& b) {
    return std::tie(a.operands, a.exchange) < std::tie(b.operands, b.exchange);
  }
};

struct ProgramState {
  const Program* program = nullptr;
  int32_t index = 0;
  std::string name;
  std::string pointer;  // "/plan/programs/0"
  ProgramCoordinates coordinates;
  sdfg::Device device = 0;
  std::unordered_map<std::string, sdfg::TensorId> scope;
  std::unordered_set<std::string> all_names;  // that the program ever defines
  std::unordered_map<std::string, ForwardRecord> forward;
  std::unordered_map<std::string, std::vector<int>> exceptions;  // by replaced tensor
  std::vector<GroupCollective> group_collectives;                // in the order of the list
  ProgramPhases phases;
  std::map<std::string, HandleUse> handles;
  std::map<std::string, StartedCollective> started;  // by handle
  int next = 0;                                      // operator to run
};

using Definitions = std::vector<std::pair<std::string, sdfg::TensorId>>;

class PlanBuilder {
 public:
  PlanBuilder(LogicalModel logical, const Specification& specification, const Plan& plan,
              std::string specification_file, std::string plan_file,
              const sdfg::OperatorLibrary& library);
  absl::StatusOr<lineage::Problem> Run();

 private:
  // program_groups.cc: mesh, programs, what they hold at first.
  absl::Status AddAxes();
  absl::Status AddPrograms();
  absl::Status CheckGroups() const;
  absl::Status AddInputs(ProgramState* state);
  absl::Status CollectNames(ProgramState* state);
  // program_builder.cc: the programs side by side.
  absl::Status Schedule();
  absl::Status Stuck() const;
  absl::Status CheckGroupCollectives() const;
  // The remote tensor for which the program's next operator waits, or empty.
  std::string WaitsFor(const ProgramState& state) const;

  // program_operators.cc
  absl::Status RunOperator(ProgramState* state, int index);
  // `given`: where exceptions of the same operator have given each output already.
  using GivenBoxes = std::map<std::string, std::vector<CoordinateBox>>;
  absl::Status RunException(ProgramState* state, const Exception& exception,
                            const Position& position, GivenBoxes* given, Definitions* definitions);
  absl::StatusOr<Definitions> Build(ProgramState* state, const Operator& op,
                                    const Position& position, bool record);
  // Build without its checks of keys.
  absl::StatusOr<Definitions> BuildKnown(ProgramState* state, const Operator& op,
                                         const Position& position, bool record);
  absl::StatusOr<Definitions> BuildLifted(ProgramState* state, const Operator& op,
                                          const Position& position, bool record);
  absl::StatusOr<sdfg::TensorId> Lookup(ProgramState* state, const std::string& name,
                                        bool remote_allowed);
  // A backward operator further down that makes the gradient `name`; or empty.
  std::string MadeLater(const ProgramState& state, const std::string& name) const;
  // What to do about a name that is not defined in the program: "; did you mean ...".
  std::string RemedyFor(const ProgramState& state, const std::string& name) const;
  // program_backward.cc
  absl::StatusOr<Definitions> BuildBackward(ProgramState* state, const Operator& op,
                                            const Position& position);
  // program_collectives.cc
  static bool IsCollective(const Operator& op);
  absl::StatusOr<Definitions> BuildCollective(ProgramState* state, const Operator& op,
                                              const Position& position);
  absl::StatusOr<Definitions> BuildGroup(ProgramState* state, const Operator& op,
                                         const Position& position);
  // The program that holds the tensor which `state` calls `name` ("tensor" or "program:tensor"),
  // and its name there. The tensor has been looked up.
  std::pair<const ProgramState*, std::string> OwnerOf(const ProgramState* state,
                                                      const std::string& name) const;
  // Ranks of the two programs correspond one to one.
  static bool SameFixedAxes(const ProgramState& a, const ProgramState& b);
  absl::StatusOr<sdfg::TensorId> OverAxis(ProgramState* state, const Operator& op,
                                          const Position& position, sdfg::TensorId input,
                                          sdfg::AxisId axis);
  absl::StatusOr<sdfg::TensorId> SpreadOver(ProgramState* state, sdfg::TensorId input,
                                            sdfg::AxisId axis);

  // program_order.cc: phases, steps, what is in flight, buffers.
  absl::Status ReadOrder(ProgramState* state);
  void AssumeBufferedSends();
  void AssumeOrderOfInputs();
  // Of all tensors from `first` on: computed by operator `entry` of the program's list, if any.
  void SetPlaces(sdfg::TensorId first, const ProgramState& state, int32_t phase,
                 int32_t entry = sdfg::kNone);
  absl::StatusOr<Definitions> Start(ProgramState* state, const Operator& op,
                                    const Position& position, const Definitions& definitions);
  absl::StatusOr<Definitions> BuildWait(ProgramState* state, const Operator& op,
                                        const Position& position);
  // Where the tensor `name`, which is in flight, is started and waited for; empty if it is not.
  std::string InFlight(const ProgramState& state, const std::string& name) const;
  // The operator that computes `name`, which `op` defines: what was started, if `op` is a wait.
  static const Operator& Replaced(const ProgramState& state, const Operator& op,
                                  const std::string& name);
  // An exception leaves no rank of a collective waiting for others.
  absl::Status CheckTakePart(const ProgramState& state, const Operator& replaced,
                             const Exception& exception, const Position& position) const;
  absl::Status AddBuffers(ProgramState* state);

  // program_outputs.cc
  // With `so_far` claims about tensors that are not defined yet are left for later.
  absl::Status AddLineage(ProgramState* state, bool so_far = false);
  // The logical tensor that holds `factor` times the values of `logical`; added where it is first
  // asked for. InvalidArgument if the factor is 0 or no number, or the values are no real numbers.
  absl::StatusOr<sdfg::TensorId> MultipleOf(sdfg::TensorId logical, const std::string& factor);
  absl::Status AddRequired();
  // Programs bind what the specification requires, and nothing else.
  absl::Status CheckBindings() const;
  // What the specification says about one output by itself.
  absl::Status CheckRequired(const RequiredOutput& output, const Position& at) const;
  // The claims of all programs, which are those that must, and that they cover the output.
  absl::Status AddClaims(const RequiredOutput& output, const Position& at);
  // Why a program must claim a required output.
  enum class Asked : uint8_t { kNo, kHoldsParameter, kNamedDevices, kEveryDevice };
  Asked WhetherAsked(const RequiredOutput& output, const ProgramState& state) const;
  // That a program which does not claim the output need not.
  absl::Status CheckExcused(const RequiredOutput& output, const ProgramState& state) const;
  // The parameter of which the output is the gradient, if it is one.
  std::optional<sdfg::TensorId> ParameterOfGradient(const std::string& output) const;
  // Lists outputs that some programs claim and others need not.
  void AssumeHolders();
  absl::Status AddClaim(ProgramState* state, const std::string& logical, const std::string& local,
                        const Relation& relation);
  // The tensor that the program calls `local`, written out over `axes` where it does not vary.
  absl::StatusOr<sdfg::TensorId> ClaimedTensor(ProgramState* state, const std::string& local,
                                               const AxisList& axes, const Position& at);
  absl::Status AddUpdates();
  struct ReadAs;
  // The new value that the program calls `local`, in the relation `as`.
  absl::Status AddUpdateAsRead(ProgramState* state, const ParameterUpdate& update,
                               const std::string& local, const ReadAs& as);
  // No program claims a new value that is not asked of it.
  absl::Status CheckClaimsOfUpdates(const ProgramState& state) const;
  // Where an error of the whole problem stands in the files.
  absl::Status Locate(const lineage::ProblemBuilder::Subject& subject,
                      const absl::Status& status) const;
  absl::Status LocateInput(const std::string& logical, const absl::Status& status) const;

  // program_unread.cc: warns of inputs that nothing reads.
  void WarnOfUnread();

  // Common.
  Position WhereOperator(const ProgramState& state, int index) const;
  sdfg::Shape Local(sdfg::TensorId tensor) const;
  AxisList UnionOfAxes(const std::vector<sdfg::TensorId>& tensors) const;
  // Adds an operator and its output tensors (outputs beyond `names` are not wanted).
  std::vector<sdfg::TensorId> AddOperator(
      const ProgramState& state, const std::string& op_name, const std::string& label,
      sdfg::FunctionPointer function, bool lifted, const AxisList& output_axes,
      std::vector<sdfg::TensorId> inputs, const std::vector<std::string>& names,
      const sdfg::SourceLocation& source,
      std::vector<std::pair<std::string, std::string>> attributes,
      std::vector<sdfg::Device> devices);
  std::string FullName(const ProgramState& state, const std::string& name) const;
  // Begins the key of a function that is made for tensors like this one.
  static sdfg::FunctionKey KeyOf(std::string_view kind, const sdfg::Tensor& tensor) {
    sdfg::FunctionKey key(kind);
    key.List(tensor.shape).Number(static_cast<int64_t>(tensor.dtype));
    return key;
  }
  // The sum of `count` tensors of this one's local shape.
  absl::StatusOr<sdfg::FunctionPointer> Sum(sdfg::TensorId like, int count);
  LogicalTensors Logical() const { return {&problem_.logical, &logical_.names}; }

  LogicalModel logical_;
  const Specification& specification_;
  const Plan& plan_;
  std::string specification_file_;
  std::string plan_file_;
  lineage::ProblemBuilder problem_;
  LocalCalls calls_;                 // of the parallel graph
  sdfg::SharedFunctions functions_;  // of collectives and sums
  std::vector<std::unique_ptr<ProgramState>> programs_;
  std::unordered_map<std::string, ProgramState*> by_name_;
  // Per program and logical input: a tensor for each of the relations in which it was read.
  struct ReadAs {
    sdfg::TensorId tensor = sdfg::kNone;
    bool overlap = false;
  };
  std::map<std::pair<const ProgramState*, sdfg::TensorId>, std::vector<ReadAs>> read_as_;
  std::map<std::pair<sdfg::TensorId, std::string>, sdfg::TensorId> multiples_;
  int64_t schedule_budget_ = int64_t{1} << 20;  // steps that schedules may still have
  std::set<std::string> required_;              // outputs
  std::vector<std::pair<std::string, std::vector<std::string>>> not_everywhere_;  // output, holders
  std::vector<std::string> plan_declared_;  // sharded inputs whose relation only the plan states
};

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_PROGRAM_BUILDER_H_
