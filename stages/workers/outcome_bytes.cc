#include "stages/workers/outcome_bytes.h"

#include "stages/workers/exact_message.h"
#include "stages/workers/outcome.pb.h"

namespace planproof::stages {
namespace {

using solver::PremiseKind;
using solver::Sign;

static_assert(SameNumber(ClaimStatus::kUndecided, wire::CLAIM_UNDECIDED) &&
              SameNumber(ClaimStatus::kProved, wire::CLAIM_PROVED) &&
              SameNumber(ClaimStatus::kFailed, wire::CLAIM_FAILED) &&
              SameNumber(ClaimStatus::kAbandoned, wire::CLAIM_ABANDONED));
static_assert(SameNumber(ProofMethod::kNone, wire::METHOD_NONE) &&
              SameNumber(ProofMethod::kIdentical, wire::METHOD_IDENTICAL) &&
              SameNumber(ProofMethod::kNormalForm, wire::METHOD_NORMAL_FORM) &&
              SameNumber(ProofMethod::kUnfolded, wire::METHOD_UNFOLDED) &&
              SameNumber(ProofMethod::kZ3Identical, wire::METHOD_Z3_IDENTICAL) &&
              SameNumber(ProofMethod::kZ3, wire::METHOD_Z3) &&
              SameNumber(ProofMethod::kZ3Unfolded, wire::METHOD_Z3_UNFOLDED));
static_assert(SameNumber(Limit::kNone, wire::LIMIT_NONE) &&
              SameNumber(Limit::kWork, wire::LIMIT_WORK) &&
              SameNumber(Limit::kTime, wire::LIMIT_TIME) &&
              SameNumber(Limit::kMemory, wire::LIMIT_MEMORY));
static_assert(SameNumber(PremiseKind::kNonZero, wire::PREMISE_NON_ZERO) &&
              SameNumber(PremiseKind::kPositive, wire::PREMISE_POSITIVE) &&
              SameNumber(PremiseKind::kNonNegative, wire::PREMISE_NON_NEGATIVE));
static_assert(SameNumber(Sign::kUnknown, wire::SIGN_UNKNOWN) &&
              SameNumber(Sign::kNonNegative, wire::SIGN_NON_NEGATIVE) &&
              SameNumber(Sign::kPositive, wire::SIGN_POSITIVE));

// The structured bindings do not compile when a member is added that is not carried.

template <typename Messages>
void Write(const std::vector<Condition>& conditions, Messages* out) {
  for (const Condition& condition : conditions) {
    const auto& [kind, operator_name, term, never, declared] = condition;
    wire::Condition* message = out->Add();
    message->set_kind(static_cast<wire::PremiseKind>(kind));
    message->set_operator_name(operator_name);
    message->set_term(term);
    message->set_never(never);
    message->set_declared(declared);
  }
}

template <typename Messages>
bool Read(const Messages& messages, std::vector<Condition>* out) {
  out->clear();
  for (const wire::Condition& message : messages) {
    if (!wire::PremiseKind_IsValid(message.kind())) return false;
    out->push_back({.kind = static_cast<PremiseKind>(message.kind()),
                    .operator_name = message.operator_name(),
                    .term = message.term(),
                    .never = message.never(),
                    .declared = message.declared()});
  }
  return true;
}

wire::ClaimOutcome AsMessage(const ClaimOutcome& outcome) {
  const auto& [status, method, reason, limit, logical_term, parallel_term, difference, premises,
               restrictions, unsatisfiable, box, mentioned, cells, evaluate_s] = outcome;
  wire::ClaimOutcome message;
  message.set_status(static_cast<wire::ClaimStatus>(status));
  message.set_method(static_cast<wire::ProofMethod>(method));
  message.set_limit(static_cast<wire::Limit>(limit));
  message.set_unsatisfiable(unsatisfiable);
  message.set_cells(cells);
  message.set_evaluate_s(evaluate_s);
  message.set_reason(reason);
  message.set_logical_term(logical_term);
  message.set_parallel_term(parallel_term);
  message.set_difference(difference);
  Write(premises, message.mutable_premises());
  Write(restrictions, message.mutable_restrictions());
  for (const auto& [low, high] : box) {
    wire::Interval* interval = message.add_box();
    interval->set_low(low);
    interval->set_high(high);
  }
  message.mutable_mentioned()->Add(mentioned.begin(), mentioned.end());
  message.set_complete(true);
  return message;
}

bool Take(const wire::ClaimOutcome& message, ClaimOutcome* o) {
  if (!wire::ClaimStatus_IsValid(message.status()) ||
      !wire::ProofMethod_IsValid(message.method()) || !wire::Limit_IsValid(message.limit())) {
    return false;
  }
  o->status = static_cast<ClaimStatus>(message.status());
  o->method = static_cast<ProofMethod>(message.method());
  o->limit = static_cast<Limit>(message.limit());
  o->unsatisfiable = message.unsatisfiable();
  o->cells = message.cells();
  o->evaluate_s = message.evaluate_s();
  o->reason = message.reason();
  o->logical_term = message.logical_term();
  o->parallel_term = message.parallel_term();
  o->difference = message.difference();
  o->box.clear();
  for (const wire::Interval& interval : message.box())
    o->box.emplace_back(interval.low(), interval.high());
  o->mentioned.assign(message.mentioned().begin(), message.mentioned().end());
  return Read(message.premises(), &o->premises) && Read(message.restrictions(), &o->restrictions);
}

wire::LogicalSigns AsMessage(const std::vector<LogicalSign>& signs) {
  wire::LogicalSigns message;
  for (const auto& [tensor, sign] : signs) {
    message.add_tensors(tensor);
    message.add_signs(static_cast<wire::Sign>(sign));
  }
  message.set_complete(true);
  return message;
}

bool Take(const wire::LogicalSigns& message, std::vector<LogicalSign>* signs) {
  if (message.tensors_size() != message.signs_size()) return false;
  signs->clear();
  for (int k = 0; k < message.signs_size(); ++k) {
    if (!wire::Sign_IsValid(message.signs(k))) return false;
    signs->push_back({message.tensors(k), static_cast<Sign>(message.signs(k))});
  }
  return true;
}

}  // namespace

std::string ToBytes(const ClaimOutcome& outcome) {
  const wire::ClaimOutcome message = AsMessage(outcome);
  return BytesOf(message);
}

std::string ToBytes(const std::vector<LogicalSign>& signs) {
  const wire::LogicalSigns message = AsMessage(signs);
  return BytesOf(message);
}

bool FromBytes(const std::string& bytes, ClaimOutcome* outcome) {
  wire::ClaimOutcome message;
  return Parse(bytes, &message) && Take(message, outcome) && ToBytes(*outcome) == bytes;
}

bool FromBytes(const std::string& bytes, std::vector<LogicalSign>* signs) {
  wire::LogicalSigns message;
  return Parse(bytes, &message) && Take(message, signs) && ToBytes(*signs) == bytes;
}

}  // namespace planproof::stages
