// Holds what a verification has found, for reports: text in it is for people, nothing reads it
// again.
#ifndef PLANPROOF_STAGES_RESULT_H_
#define PLANPROOF_STAGES_RESULT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/index_map.h"
#include "sdfg/types.h"
#include "solver/rational.h"
#include "stages/anchor_report.h"
#include "stages/verdict.h"

namespace planproof::witness {
struct Witness;
}

namespace planproof::stages {

struct Account;

// Where a violation stands in the graphs of the account that comes with it (stages/account.h), by
// the graphs' own numbers: -1 where it concerns no tensor.
struct ViolationPlace {
  int32_t parallel = -1;           // the tensor of the plan
  int32_t logical = -1;            // what it should be, of the model
  std::vector<int32_t> operators;  // of the plan: those of the stage, the suspected ones first
};

// The element of a required output that a witness shows, in the same graphs.
struct WitnessElement {
  int32_t parallel = -1, logical = -1;  // tensors
  std::vector<int64_t> index;           // of the plan's: coordinates of its axes first
  std::vector<int64_t> logical_index;   // of the model's
};

// One thing that is wrong, or not established.
struct Violation {
  Verdict verdict = Verdict::kUnknown;  // kRefuted, kMalformed or kUnknown
  std::string kind;   // "value differs", "dangling tensor", "wait cycle", "not proved", ...
  std::string stage;  // name of the claim: the logical tensor concerned
  std::string logical_operator;                 // "linear (layers.0.attention.wo)"
  std::string logical_source;                   // file:line and source text
  std::vector<std::string> parallel_operators;  // "all_reduce (cell 123)"
  std::vector<int> devices;
  std::string microbatches;  // "all", "0-1", "3"
  std::string lineage;       // the lineage that fails, in words
  std::string cause;         // suspected cause: "sum over tp missing", "2 times too large"
  // The cause was found on inputs that are chosen for the stage: relations may end before it.
  bool cause_of_stage = false;
  // An element of a required output that differs: where ("loss[0] on tp=0"), and its two values,
  // "3.25" or the enclosure "[3.2499, 3.2501]" at so many bits.
  std::string witness_place;
  std::string witness_logical;
  std::string witness_parallel;
  // The same in few digits, as many as tell them apart.
  std::string witness_logical_short, witness_parallel_short;
  int witness_precision = 0;
  std::vector<std::string> witness_inputs;   // to reproduce it: inputs and their values by blocks
  std::vector<std::string> witness_example;  // inputs that can be written out
  std::string message;                       // one line that says it all
  std::string advice;                        // UNKNOWN: what may help
  sdfg::SourceLocation logical_place;        // of the model's operator
  std::vector<sdfg::SourceLocation> parallel_places;  // of the plan's operators, each once
  ViolationPlace at;
  WitnessElement witness_element;
};

// What a computed tensor of the plan was proved to be, and all on which that rests, too.
struct ProvedRelation {
  std::string tensor;  // by its name, and its number among the tensors of that name
  int64_t number = 0;
  std::string logical;
  int64_t logical_number = 0;
  solver::Rational factor = 1;  // of the logical values
  std::vector<sdfg::IndexMap> map;
  bool inferred = false;  // nobody stated it
  std::string text;       // for people
};

// A relation that was not proved, because the user approves it: whatever the verdict says, it says
// under this assumption.
struct AssumedRelation {
  enum class Need : uint8_t {
    kUsed,      // a required output depends on it
    kProvable,  // it follows from the rest of the plan and the other assumptions
    kNoEffect,  // given the other assumptions, no required output depends on it
  };
  std::string tensor;  // of the plan
  std::string op;      // of the plan that makes it: "mean (h) on device 0"
  sdfg::SourceLocation place;
  std::string relation;   // "m on device 0 = mean[0:64]"
  std::string logical;    // tensor of the model for which it stands
  std::string reason;     // the user's
  std::string stated_at;  // "assume.json:3"
  Need need = Need::kUsed;
};

// Classes of the first round whose proofs were remembered, were not, and were decided in this run.
// `used` is false where no memory was asked.
struct CacheUse {
  bool used = false;
  int64_t hits = 0, misses = 0, solved = 0;
};

// The counterexample run on numbers by an executor that shares nothing with the prover, if that is
// asked for. It never changes a verdict.
struct Confirmation {
  bool confirmed = false;
  std::string device, dtype;      // "cpu" or a GPU's name, "float32"
  std::string parallel, logical;  // the elements that differ, "y[0,3]"
  std::string parallel_value, logical_value;
  double error = 0, tolerance = 0;  // relative, of the tensor: what it is, what rounding explains
  std::string text;                 // for people; where nothing is confirmed why
  bool operator==(const Confirmation&) const = default;
};

struct Result {
  Verdict verdict = Verdict::kUnknown;
  struct {
    int64_t total = 0, classes = 0, proved = 0, refuted = 0, unknown = 0;
    int64_t limited = 0;  // of the unknown ones, those for which there was too little work
  } stages;
  // Operators: instances (after multiplying out coordinates); `covered` lie in the cone of a proved
  // claim; the rest is listed in `without_effect`.
  struct {
    int64_t logical = 0, parallel = 0, covered = 0;
  } operators;
  struct {
    int64_t required = 0, claimed = 0;
  } outputs;
  // Relations of computed tensors that the files do not state: how many tensors were looked at, how
  // many got a relation, and how many of these were proved with all on which they rest.
  struct {
    bool used = false;
    int64_t tensors = 0, classes = 0, inferred = 0, proved = 0;
    // Of a plan that is not proved: the first operator of the model whose operands the plan has and
    // whose result it has not, the plan's operator that comes nearest, and how that differs
    // (stages/diagnosis/relations_end.h). Each may be empty.
    struct {
      std::string logical_operator, nearest, difference;
      bool elsewhere = false;  // some ranks have its result
    } end;
  } inference;
  // If they are asked for.
  std::vector<ProvedRelation> proved_relations;
  // Then also: tensors that were looked at and are read by their definition.
  std::vector<std::pair<std::string, int64_t>> unrelated;
  // By required output: its claim was proved, with all on which it rests.
  std::vector<bool> required_shown;
  CacheUse cache;
  // How many classes each tier decided: "identical", "normal form", "z3".
  std::vector<std::pair<std::string, int64_t>> tiers;
  std::vector<std::string> relations;  // required relations, as printed with the verdict
  std::vector<Violation> violations;
  std::vector<std::string> premises;  // of the specification's domain
  // Conditions of the plan that do not follow from where the model is defined.
  std::vector<std::string> restrictions;
  std::vector<std::string> assumptions;
  // Relations that are approved and not proved (VerifyOptions::assume). With one or more of them
  // kProved says: proved under these assumptions, and kRefuted: wrong although they hold.
  std::vector<AssumedRelation> assumed;
  // Parallel operators on which required outputs depend through assumed tensors only: nothing was
  // proved of them.
  std::vector<std::string> behind_assumptions;
  std::vector<std::string> warnings;
  std::vector<std::string> without_effect;  // parallel operators with no effect on required outputs
  struct {
    double read = 0, anchor = 0, check = 0, infer = 0, cut = 0, reduce = 0, evaluate = 0,
           decide = 0;
    double workers = 0;  // starting and stopping the processes that decide
    double total = 0;
  } time_s;
  struct {
    double total = 0, largest = 0;
  } peak_rss_mb;
  // Of a plan that numbers refute, if it is asked for.
  std::shared_ptr<const witness::Witness> witness;
  std::vector<Confirmation> confirmations;  // of that witness
  // Of a recorded program: its recorded numbers. They never make a verdict kProved or kRefuted.
  AnchorReport anchor;
  // What was decided, stage by stage, if it is asked for; null where nothing was.
  std::shared_ptr<const Account> account;
  std::string engine;
  bool worker_only = false;  // this process only worked for the one that leads; there is no verdict
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_RESULT_H_
