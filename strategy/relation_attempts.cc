#include "strategy/relation_attempts.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "diagnosis/relations_end.h"
#include "stages/cone.h"
#include "stages/inferred_relations.h"
#include "stages/lineage_inference.h"
#include "stages/unstated_lineage.h"
#include "strategy/attempt_log.h"
#include "strategy/completion.h"
#include "strategy/decision.h"
#include "strategy/early_numbers.h"
#include "strategy/strategy_table.h"
#include "strategy/unwritten_memory.h"

namespace planproof::strategy {

namespace {

using stages::Attempt;
using stages::Unstated;
using Relations = Attempt::Relations;

// Processes that share the work must decide the same, whatever time they take; Z3 decides what was
// read.
const stages::LineageInference* InferenceFor(const stages::VerifyOptions& options) {
  const bool usable = options.executor == nullptr && options.engine != stages::Engine::kSmt;
  return usable ? options.inference : nullptr;
}

// "aten_mm (layers.0.mlp: aten.mm.default) at model.py:56"
std::string WithPlace(const sdfg::Graph& graph, sdfg::OperatorId id) {
  const sdfg::SourceLocation& source = graph.operators[id].source;
  std::string text = graph.Describe(id);
  if (source.line > 0) absl::StrAppend(&text, " at ", source.file, ":", source.line);
  return text;
}

class RelationAttempts {
 public:
  RelationAttempts(const lineage::Problem& problem, const RunContext& context, Method method,
                   stages::Result known)
      : problem_(problem), context_(context), method_(method), known_(std::move(known)) {
    const stages::Cone cone = stages::ConeOfRequired(problem);
    stages::AddAssumptions(problem, cone, &known_.assumptions);
    inference_ = InferenceFor(options());
    unstated_ = inference_ != nullptr ? stages::UnstatedLineage(problem, cone) : Unstated::kNothing;
    as_it_is_ = unstated_ == Unstated::kSome || stages::IsShort(problem);
    result_ = known_;
  }

  stages::Result Run() {
    for (const RelationRow& row : kRelations) {
      if (Applies(row.when) && Try(row)) break;
    }
    SayWhereRelationsEnd();
    return std::move(result_);
  }

 private:
  // The problem with what one inference adds, and what is known of that.
  struct Inferred {
    lineage::Problem problem;
    stages::Result known;
  };

  const stages::VerifyOptions& options() const { return context_.options; }
  bool Answered() const {
    return result_.verdict != stages::Verdict::kUnknown || Stopped(options());
  }
  bool Explains() const { return method_ > Method::kProve; }

  bool Applies(RelationCondition when) const;
  // Whether the row answers, or nothing more is to be tried.
  bool Try(const RelationRow& row);
  bool TryStated(const RelationRow& row);
  bool TryInferred(const RelationRow& row);
  bool TryUnwritten();
  void CompareFirstNumbers();
  bool TryRequired(const RelationRow& row);
  bool Explain(const RelationRow& row);
  // Asks the next inference, and decides with what it adds.
  bool Infer(double work);
  bool DecideInferred(size_t which, double work);
  stages::Result DecideWith(const lineage::Problem& problem, Attempt attempt, double work,
                            SearchMade* search, stages::Result known) const;
  void SayWhereRelationsEnd();

  const lineage::Problem& problem_;
  const RunContext& context_;
  Method method_;
  stages::Result known_, result_;
  const stages::LineageInference* inference_ = nullptr;  // the next to be asked
  Unstated unstated_ = Unstated::kNothing;
  // A plan that states relations, or a short one, is explained as it is.
  bool as_it_is_ = false;
  SearchMade search_;  // with the relations as they are stated
  std::deque<Inferred> inferred_;
  std::optional<lineage::Problem> without_guesses_;
  std::vector<bool> shown_;  // by required output, with what the first inference adds
  size_t untried_ = 0;       // the first form that more work is still to come for
  bool mostly_proved_ = false, differs_ = false;
};

bool RelationAttempts::Applies(RelationCondition when) const {
  switch (when) {
    case RelationCondition::kAlways:
      return true;
    case RelationCondition::kSomeStated:
      return unstated_ != Unstated::kAll;
    case RelationCondition::kFewClaimsOutOfWork: {
      const int64_t open = result_.stages.unknown;
      return open > 0 && open <= kManyOpenClaims && open == result_.stages.limited;
    }
    case RelationCondition::kManyOpenOrSmall:
      return Explains() && (result_.stages.total - result_.stages.proved > kManyOpenClaims ||
                            problem_.parallel.operators.size() <= kSmallGraph);
    case RelationCondition::kNothingInferred:
      return inferred_.empty();
    case RelationCondition::kFirstNumbersAgree:
      return !differs_;
    case RelationCondition::kFirstNumbersDiffer:
      return Explains() && differs_;
    case RelationCondition::kExplainAndAgree:
      return Explains() && !differs_;
    case RelationCondition::kExplain:
      return Explains();
  }
  return false;
}

bool RelationAttempts::Try(const RelationRow& row) {
  switch (row.method) {
    case Method::kUnwritten:
      return TryUnwritten();
    case Method::kFirstNumbers:
      CompareFirstNumbers();
      return false;
    default:
      break;
  }
  switch (row.relations) {
    case Relations::kStated:
      return TryStated(row);
    case Relations::kInferred:
      return TryInferred(row);
    case Relations::kRequired:
      return TryRequired(row);
    case Relations::kWithoutGuesses:
      return Explain(row);
  }
  return false;
}

// With what is stated: all that there is, or a part of it, or, last, where nothing is inferred.
bool RelationAttempts::TryStated(const RelationRow& row) {
  const Attempt attempt{.relations = row.relations};
  if (row.when == RelationCondition::kNothingInferred) {
    result_ = DecideWith(problem_, attempt, row.work, context_.search, std::move(known_));
    return true;
  }
  const Method whole = method_;
  if (unstated_ == Unstated::kSome) method_ = std::min(method_, Method::kRefute);
  if (whole == Method::kProveOrCompare) method_ = Method::kProve;
  result_ = DecideWith(problem_, attempt, row.work, &search_, known_);
  method_ = whole;
  return unstated_ == Unstated::kNothing || Answered() || method_ < Method::kProve;
}

bool RelationAttempts::TryInferred(const RelationRow& row) {
  if (method_ < Method::kProve) return true;
  switch (row.inferences) {
    case Inferences::kNone:
      return false;
    case Inferences::kFirst:
      if (Infer(row.work)) return true;
      if (!inferred_.empty()) shown_ = result_.required_shown;
      return false;
    case Inferences::kOthers:
      // The first numbers were compared, or need not be.
      if (method_ == Method::kProveOrCompare) method_ = Method::kProve;
      while (inference_ != nullptr) {
        if (Infer(row.work)) return true;
      }
      return false;
    case Inferences::kKnown:
    case Inferences::kUntried: {
      const size_t first = row.inferences == Inferences::kUntried ? untried_ : 0;
      for (size_t f = first; f < inferred_.size(); ++f) {
        if (DecideInferred(f, row.work)) return true;
      }
      if (row.work < kAllWork) untried_ = inferred_.size();
      return row.work == kAllWork && !Explains();
    }
  }
  return false;
}

bool RelationAttempts::Infer(double work) {
  const auto start = std::chrono::steady_clock::now();
  stages::Result own = known_;
  std::optional<lineage::Problem> form = Complete(*inference_, problem_, options(), &own);
  const int number = static_cast<int>(inferred_.size()) + 1;
  RecordStep(context_,
             {.relations = Relations::kInferred, .inference = number, .method = Method::kInfer},
             start);
  known_.time_s.infer = own.time_s.infer;
  if (!form.has_value()) {
    known_.warnings = own.warnings;
    inference_ = nullptr;
    return false;
  }
  inferred_.push_back({*std::move(form), std::move(own)});
  const bool answered = DecideInferred(inferred_.size() - 1, work);
  if (answered) return true;
  mostly_proved_ = 2 * result_.stages.proved >= result_.stages.total;
  inference_ = inference_->Otherwise(problem_, mostly_proved_);
  return false;
}

bool RelationAttempts::DecideInferred(size_t which, double work) {
  const Attempt attempt{.relations = Relations::kInferred,
                        .inference = static_cast<int>(which) + 1,
                        .method = Method::kProve};
  result_ = DecideWith(inferred_[which].problem, attempt, work, nullptr, inferred_[which].known);
  return Answered();
}

bool RelationAttempts::TryUnwritten() {
  const auto start = std::chrono::steady_clock::now();
  std::optional<stages::Violation> reads = EffectOfUnwrittenMemory(problem_, options(), &known_);
  RecordStep(context_, {.relations = Relations::kStated, .method = Method::kUnwritten}, start);
  if (!reads.has_value()) return false;
  known_.verdict = reads->verdict;
  known_.violations = {*std::move(reads)};
  result_ = std::move(known_);
  inferred_.clear();  // nothing more is said of them
  return true;
}

void RelationAttempts::CompareFirstNumbers() {
  const auto start = std::chrono::steady_clock::now();
  differs_ = NumbersDiffer(problem_, options(), &known_);
  RecordStep(context_, {.relations = Relations::kStated, .method = Method::kFirstNumbers}, start);
  if (differs_ && method_ == Method::kProveOrCompare) method_ = Method::kRefute;
}

bool RelationAttempts::TryRequired(const RelationRow& row) {
  const std::vector<stages::InferredRelation> required =
      stages::RequiredRelations(inferred_[0].problem);
  if (required.empty()) return false;
  const lineage::Problem problem = stages::WithRelations(inferred_[0].problem, required);
  const Attempt attempt{.relations = row.relations, .inference = 1, .method = row.method};
  result_ = DecideWith(problem, attempt, row.work, nullptr, inferred_[0].known);
  return Answered();
}

bool RelationAttempts::Explain(const RelationRow& row) {
  known_.inference = inferred_.back().known.inference;
  if (!as_it_is_ && !without_guesses_.has_value()) {
    without_guesses_ = inferred_.back().problem;
    stages::ForgetWhatFaultsLookLike(&*without_guesses_);
  }
  const lineage::Problem& explained = as_it_is_ ? problem_ : *without_guesses_;
  Attempt attempt{.relations = as_it_is_ ? Relations::kStated : row.relations,
                  .method = std::min(row.method, method_)};
  if (!as_it_is_) attempt.inference = static_cast<int>(inferred_.size());
  if (row.method == Method::kRefute) {
    attempt.method = Method::kRefute;
    if (differs_) search_ = {};  // of more attempts at another place
    if (as_it_is_ && search_.made) return false;
    result_ = DecideWith(explained, attempt, row.work, nullptr, known_);
    return Answered();
  }
  stages::Result last =
      DecideWith(explained, attempt, row.work, as_it_is_ ? &search_ : context_.search, known_);
  const bool answers = last.verdict != stages::Verdict::kUnknown || Stopped(options());
  if (answers || as_it_is_) {
    result_ = std::move(last);
  } else {
    result_.warnings = std::move(last.warnings);
  }
  return answers;
}

stages::Result RelationAttempts::DecideWith(const lineage::Problem& problem, Attempt attempt,
                                            double work, SearchMade* search,
                                            stages::Result known) const {
  const auto start = std::chrono::steady_clock::now();
  if (attempt.method == Method::kAll) attempt.method = method_;
  stages::VerifyOptions less = options();
  if (work < kAllWork) {
    less.work_limit *= work;
    less.advise_lineage = false;  // the last attempt says what is missing
    less.stage_timeout_s = std::min(less.stage_timeout_s, kSecondsWithLessWork);
  }
  const RunContext own{.options = less,
                       .operators = context_.operators,
                       .start = context_.start,
                       .share_of_time = context_.share_of_time,
                       .well_formed = context_.well_formed,
                       .behind_assumptions = context_.behind_assumptions,
                       .looked = context_.looked,
                       .search = search,
                       .form = context_.form,
                       .attempts = context_.attempts};
  stages::Result result = Decide(problem, own, attempt.method, std::move(known));
  RecordAnswer(own, attempt, start, result);
  return result;
}

void RelationAttempts::SayWhereRelationsEnd() {
  const bool wrong =
      result_.verdict == stages::Verdict::kRefuted || result_.verdict == stages::Verdict::kUnknown;
  if (!wrong || inferred_.empty() || !Explains() || Stopped(options())) return;
  const lineage::Problem& related = inferred_.back().problem;
  const std::optional<diagnosis::RelationsEnd> end = diagnosis::WhereRelationsEnd(related, shown_);
  if (!end.has_value()) return;
  auto& said = result_.inference.end;
  said.logical_operator = WithPlace(related.logical, end->logical);
  if (!end->nearest.empty()) said.nearest = WithPlace(related.parallel, end->nearest[0]);
  said.difference = end->difference;
  said.elsewhere = end->elsewhere;
}

}  // namespace

stages::Result TryRelations(const lineage::Problem& problem, const RunContext& context,
                            Method method, stages::Result known) {
  return RelationAttempts(problem, context, method, std::move(known)).Run();
}

}  // namespace planproof::strategy
