#include "diagnosis/cause_votes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "diagnosis/exceptions.h"

namespace planproof::diagnosis {

namespace {

const std::string& Key(const RepairSearch::Cause& cause) {
  return cause.alike.empty() ? cause.text : cause.alike;
}

}  // namespace

void CauseVotes::Add(std::vector<RepairSearch::Cause> found) {
  ++wrong_;
  std::set<std::string> seen;
  for (RepairSearch::Cause& cause : found) {
    if (!seen.insert(Key(cause)).second) continue;
    ++fits_[Key(cause)];
    if (++said_[cause.text] == 1) causes_.push_back(std::move(cause));
  }
}

int CauseVotes::Most() const {
  int most = 0;
  for (const auto& [text, count] : fits_) most = std::max(most, count);
  return most;
}

bool CauseVotes::Settled() const {
  const int most = Most();
  return wrong_ >= kEnough && (most == 0 || most == wrong_);
}

bool CauseVotes::FoundNothing() const {
  return wrong_ > 0 && std::all_of(causes_.begin(), causes_.end(),
                                   [](const RepairSearch::Cause& c) { return c.only_where; });
}

std::vector<RepairSearch::Cause> CauseVotes::Elected(bool all) const {
  // On some inputs a tensor is noise about zero, where nothing fits.
  const int most = Most();
  if (all && most < wrong_) return {};
  const auto of_one_number = [](const RepairSearch::Cause& c) { return c.of_one_number; };
  const auto ratios = std::count_if(causes_.begin(), causes_.end(), of_one_number);
  std::vector<RepairSearch::Cause> elected = causes_;
  // Of those that count as one, what is said most often.
  std::erase_if(elected, [&](const RepairSearch::Cause& c) {
    return std::any_of(causes_.begin(), causes_.end(), [&](const RepairSearch::Cause& other) {
      if (Key(other) != Key(c)) return false;
      const int more = said_.at(other.text) - said_.at(c.text);
      return more > 0 || (more == 0 && other.text < c.text);
    });
  });
  std::erase_if(elected, [&](const RepairSearch::Cause& c) {
    return fits_.at(Key(c)) < most || 3 * most < 2 * wrong_ ||
           (c.of_one_number && ratios > 1);  // another factor on other inputs: it is none
  });
  std::set<std::string> named;
  std::erase_if(elected, [&](const RepairSearch::Cause& c) {
    return !c.about.empty() && !named.insert(c.about).second;
  });
  // Of those that change more at once only one, and only where nothing simpler fits.
  int least = std::numeric_limits<int>::max();
  for (const RepairSearch::Cause& c : elected) least = std::min(least, c.changes);
  std::erase_if(elected, [&](const RepairSearch::Cause& c) { return c.changes > least; });
  if (least > 0 && elected.size() > 1) elected.resize(1);
  return elected;
}

void NameCauses(const lineage::Problem& problem, const std::vector<RepairSearch::Cause>& causes,
                Fault* fault) {
  constexpr size_t kNamed = 2;
  sdfg::OperatorId suspect = sdfg::kNone;
  for (size_t c = 0; c < std::min(causes.size(), kNamed); ++c) {
    absl::StrAppend(&fault->cause, c == 0 ? "" : "; ", causes[c].text);
    if (suspect == sdfg::kNone) suspect = causes[c].op;
  }
  for (const RepairSearch::Cause& cause : causes) {
    if (cause.op == sdfg::kNone || !IsException(problem.parallel, cause.op)) continue;
    NarrowTo(problem.parallel, problem.parallel.operators[cause.op], fault);
  }
  std::vector<sdfg::OperatorId>& operators = fault->operators;
  if (suspect != sdfg::kNone &&
      std::find(operators.begin(), operators.end(), suspect) == operators.end()) {
    operators.push_back(suspect);
  }
  const auto at = std::find(operators.begin(), operators.end(), suspect);
  if (at != operators.end()) std::rotate(operators.begin(), at, at + 1);
}

}  // namespace planproof::diagnosis
