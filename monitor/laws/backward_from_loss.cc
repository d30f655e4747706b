// Rule "backward_from_loss".
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/laws.h"

namespace planproof::monitor {
namespace {

constexpr char kLossRule[] = "backward_from_loss";
// Losses in bfloat16 that are divided are rounded by 0.4 %; a wrong factor is far from it.
constexpr double kLossTolerance = 0.01;
constexpr int64_t kMostDivisors = 1 << 16;

struct LossFacts {
  std::vector<double> of_last_step;  // said before the first forward: of the step before
  std::vector<double> said;
  std::vector<double> roots;
  double scale = 1;
  bool judged = true;  // every backward starts from a finite scalar
};

LossFacts LossFactsOf(const StepOfRank& step, double scale) {
  LossFacts facts{.scale = scale};
  bool forward = false;
  for (const Event& event : step.events) {
    if (event.type == EventType::kForwardBegins || event.type == EventType::kLossFunction)
      forward = true;
    if (event.type == EventType::kLossScale && std::isfinite(event.a) && event.a > 0)
      facts.scale = event.a;
    if (event.type == EventType::kLoss)
      (forward ? facts.said : facts.of_last_step).push_back(event.a);
    if (event.type != EventType::kBackward) continue;
    forward = true;
    facts.judged = facts.judged && (event.flags & kScalarRoot) != 0 &&
                   (event.flags & kGradientGiven) == 0 && std::isfinite(event.a);
    facts.roots.push_back(event.a);
  }
  return facts;
}

double SumOf(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

// Whether the root, times a whole number up to `most`, is the loss.
bool IsDivided(double root, double loss, int64_t most) {
  if (root == 0) return false;
  const double divisor = std::round(loss / root);
  return divisor >= 1 && divisor <= static_cast<double>(most) &&
         std::abs(root * divisor - loss) <= kLossTolerance * std::abs(loss);
}

class BackwardFromLoss : public Judge {
 public:
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    std::map<int, LossFacts> facts;
    for (const auto& [rank, of_rank] : step.ranks) {
      const auto before = last_.find(rank);
      facts[rank] = LossFactsOf(*of_rank, before == last_.end() ? 1 : before->second.scale);
      most_backwards_ = std::max(most_backwards_, static_cast<int64_t>(facts[rank].roots.size()));
    }
    for (const auto& [rank, of_rank] : facts) {
      const Header& header = run.headers.at(rank);
      if (const auto last = last_.find(rank); last != last_.end() && last->second.said.empty())
        JudgeRoots(header, step.step - 1, of_rank.of_last_step, last->second, last_, findings);
      JudgeRoots(header, step.step, of_rank.said, of_rank, facts, findings);
    }
    last_ = std::move(facts);
  }
  void End(const Run&, Findings*) override {}

 private:
  void JudgeRoots(const Header& header, int64_t step, const std::vector<double>& said,
                  const LossFacts& facts, const std::map<int, LossFacts>& of_ranks,
                  Findings* findings) {
    const bool known = std::all_of(said.begin(), said.end(),
                                   [](double loss) { return std::isfinite(loss) && loss != 0; });
    if (said.empty() || !known || facts.roots.empty() || !facts.judged) return;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    const std::vector<double> candidates = Candidates(facts, of_ranks);
    std::vector<double> losses = said;
    losses.push_back(SumOf(said));
    for (const double root : candidates) {
      for (const double loss : losses) {
        if (IsDivided(root, loss, std::min(most_backwards_, kMostDivisors)) ||
            IsDivided(root / facts.scale, loss, std::min(most_backwards_, kMostDivisors))) {
          return;
        }
      }
    }
    Alarm alarm = LawAlarm(
        kLossRule, step, header, "backward",
        absl::StrFormat("backward starts from the loss (%.9g), times the loss scale (%g), divided "
                        "by the number of backwards of a step (%d); it starts from %.9g",
                        said.front(), facts.scale, most_backwards_, facts.roots.front()));
    alarm.expected = said.front() * facts.scale;
    alarm.found = facts.roots.front();
    findings->alarms.push_back(std::move(alarm));
  }

  // Roots that a loss may be said of: each, their sum; over ranks, where all have them, sum and
  // mean.
  static std::vector<double> Candidates(const LossFacts& facts,
                                        const std::map<int, LossFacts>& of_ranks) {
    std::vector<double> roots = facts.roots;
    roots.push_back(SumOf(facts.roots));
    double sum = 0, first = 0;
    for (const auto& [rank, other] : of_ranks) {
      sum += SumOf(other.roots);
      if (!other.roots.empty()) first += other.roots.front();
    }
    const auto ranks = static_cast<double>(of_ranks.size());
    roots.insert(roots.end(), {sum, sum / ranks, first, first / ranks});
    return roots;
  }

  std::map<int, LossFacts> last_;  // by rank
  int64_t most_backwards_ = 1;
};

}  // namespace

std::unique_ptr<Judge> BackwardFromLossLaw() { return std::make_unique<BackwardFromLoss>(); }

}  // namespace planproof::monitor
