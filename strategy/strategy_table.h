// Lists what is tried for an answer, in which order and for how long. One form of the problem is
// tried after the other (kForms), and in each form what may be known of the plan's tensors
// (kRelations), until a row answers. docs/architecture.md explains the order.
#ifndef PLANPROOF_STRATEGY_STRATEGY_TABLE_H_
#define PLANPROOF_STRATEGY_STRATEGY_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "stages/attempt.h"

namespace planproof::strategy {

// When a form is tried. Of a plan of few ranks it is said what is wrong on which rank, if the
// ranks' names mean something to people ("named").
enum class FormCondition : uint8_t {
  kAlways,
  kNamedRanks,               // few ranks were folded, and findings should name them
  kNamedRanksAndClaimsOpen,  // and the row before left claims that are not proved
  kUnnamedRanks,             // few ranks were folded, whose names tell nothing
  kManyRanks,                // each of them spelled out makes terms that many times as large
};

struct FormRow {
  stages::Attempt::Form form;
  stages::Attempt::Method most;  // at most, where the run is to explain what is wrong
  double share_of_time;          // of one claim's, since the run began: further attempts end then
  FormCondition when;
};

// Folding is to save work, never to lose an answer: what it does not prove is decided as it was
// read, and explained in the file's own operators. Where claims of a folded plan fail, the plan is
// mostly wrong, and numbers tell so sooner than further proofs. A proof in rounds asks for more
// than the plan has to fulfil, so that only a proof counts.
inline constexpr FormRow kForms[] = {
    {stages::Attempt::Form::kRoundsFolded, stages::Attempt::Method::kProve, 0.1,
     FormCondition::kAlways},
    {stages::Attempt::Form::kRanksFolded, stages::Attempt::Method::kClaims, 0.4,
     FormCondition::kNamedRanks},
    {stages::Attempt::Form::kAsRead, stages::Attempt::Method::kGlance, 0.4,
     FormCondition::kNamedRanksAndClaimsOpen},
    {stages::Attempt::Form::kRanksFolded, stages::Attempt::Method::kProve, 0.4,
     FormCondition::kNamedRanks},
    {stages::Attempt::Form::kRanksFolded, stages::Attempt::Method::kProveOrCompare, 0.4,
     FormCondition::kUnnamedRanks},
    {stages::Attempt::Form::kRanksFolded, stages::Attempt::Method::kAll, 0.4,
     FormCondition::kManyRanks},
    {stages::Attempt::Form::kAsRead, stages::Attempt::Method::kAll, 0.6, FormCondition::kAlways},
};

// Of which inferences a row asks, one after the other.
enum class Inferences : uint8_t { kNone, kFirst, kOthers, kKnown, kUntried };

enum class RelationCondition : uint8_t {
  kAlways,
  kSomeStated,          // the files state some relations, or all that are needed
  kFewClaimsOutOfWork,  // all that is open needs more work: no sign of a fault
  kManyOpenOrSmall,     // many claims are open, or numbers of the graph take a moment
  kNothingInferred,     // there is no inference, or it takes too much
  kFirstNumbersAgree,   // or were not compared
  kFirstNumbersDiffer,  // and what is wrong is to be explained
  kExplainAndAgree,     // first numbers do not differ, and what is wrong is to be explained
  kExplain,             // what is wrong is to be explained
};

struct RelationRow {
  stages::Attempt::Relations relations;
  stages::Attempt::Method method;  // kAll: as much as the form's row says
  double work;                     // of what one claim may take
  Inferences inferences;
  RelationCondition when;
};

// Work of one claim. Most plans are proved, or refuted, with a part of what it may take; what lies
// behind a fault takes all of it.
inline constexpr double kLeastWork = 0.01, kLittleWork = 0.06, kSomeWork = 0.4, kAllWork = 1;
// With less than all of it, a claim takes at most so many seconds.
inline constexpr double kSecondsWithLessWork = 10;

// What is stated comes first, then one inference after the other with little work, until a proof is
// found. The first one shows what is to be expected: where first numbers differ, the plan is wrong,
// and is explained with no more proofs. What is explained are the stated relations of a short plan
// or one that states some, and otherwise the inferred ones but for those that faults look like.
inline constexpr RelationRow kRelations[] = {
    {stages::Attempt::Relations::kStated, stages::Attempt::Method::kAll, kAllWork,
     Inferences::kNone, RelationCondition::kSomeStated},
    {stages::Attempt::Relations::kInferred, stages::Attempt::Method::kProve, kLittleWork,
     Inferences::kFirst, RelationCondition::kAlways},
    {stages::Attempt::Relations::kStated, stages::Attempt::Method::kAll, kAllWork,
     Inferences::kNone, RelationCondition::kNothingInferred},
    {stages::Attempt::Relations::kStated, stages::Attempt::Method::kUnwritten, kAllWork,
     Inferences::kNone, RelationCondition::kAlways},
    {stages::Attempt::Relations::kInferred, stages::Attempt::Method::kProve, kSomeWork,
     Inferences::kKnown, RelationCondition::kFewClaimsOutOfWork},
    {stages::Attempt::Relations::kStated, stages::Attempt::Method::kFirstNumbers, kAllWork,
     Inferences::kNone, RelationCondition::kManyOpenOrSmall},
    {stages::Attempt::Relations::kInferred, stages::Attempt::Method::kProve, kLittleWork,
     Inferences::kOthers, RelationCondition::kFirstNumbersAgree},
    {stages::Attempt::Relations::kInferred, stages::Attempt::Method::kProve, kSomeWork,
     Inferences::kUntried, RelationCondition::kFirstNumbersAgree},
    {stages::Attempt::Relations::kRequired, stages::Attempt::Method::kProve, kSomeWork,
     Inferences::kNone, RelationCondition::kFirstNumbersAgree},
    {stages::Attempt::Relations::kWithoutGuesses, stages::Attempt::Method::kRefute, kLeastWork,
     Inferences::kNone, RelationCondition::kFirstNumbersDiffer},
    {stages::Attempt::Relations::kWithoutGuesses, stages::Attempt::Method::kRefute, kSomeWork,
     Inferences::kNone, RelationCondition::kExplainAndAgree},
    {stages::Attempt::Relations::kInferred, stages::Attempt::Method::kProve, kAllWork,
     Inferences::kKnown, RelationCondition::kAlways},
    {stages::Attempt::Relations::kWithoutGuesses, stages::Attempt::Method::kAll, kAllWork,
     Inferences::kNone, RelationCondition::kExplain},
};

// So many claims are not proved with little work behind a fault; in a right plan, a few.
inline constexpr int64_t kManyOpenClaims = 12;
// The first numbers of a graph of so many operators take less time than further attempts.
inline constexpr size_t kSmallGraph = 20'000;
// From so many ranks on a plan of folded ranks is one of many.
inline constexpr int64_t kManyRanks = 8;

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_STRATEGY_TABLE_H_
