// Rule "clip_norm".
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/replicas.h"

namespace planproof::monitor {
namespace {

constexpr char kNormRule[] = "clip_norm";
constexpr double kNormToleranceOfFloat32 = 1e-3;
constexpr double kNormToleranceOfNarrow = 1e-2;  // the norm itself is rounded to bfloat16

// What one rank clipped in a step, by the 2-norm, once.
struct Clipped {
  bool known = false;
  double returned = 0;
  SetFacts gradients;
};

Clipped ClippedOf(const StepOfRank& step) {
  Clipped clipped;
  for (const Event& event : step.events) {
    if (event.type != EventType::kClipByNorm) continue;
    if (clipped.known || std::bit_cast<double>(event.c) != 2.0 || !std::isfinite(event.a))
      return {};
    clipped.known = true;
    clipped.returned = event.a;
  }
  if (clipped.known) clipped.gradients = SetFacts(step, Moment::kClip, TensorSet::kGradient);
  clipped.known = clipped.known && !clipped.gradients.empty();
  return clipped;
}

// Squares of norms over the ranks.
struct Squares {
  double once = 0;        // each part of a tensor once
  double every_copy = 0;  // on each rank that has it
  bool sharded = false, copied = false;
  bool finite = true;
  int bits = 53;
  std::vector<std::pair<absl::string_view, double>> parts;  // each once, by the tensor's name
};

class PartKey {
 public:
  PartKey(const HeldTensor& tensor, int rank)
      : key_(tensor.name, OwnerOf(tensor, rank),
             tensor.flat.value_or(std::pair<int64_t, int64_t>(-1, -1))),
        place_(&tensor.place) {}
  bool operator<(const PartKey& other) const {
    return key_ != other.key_ ? key_ < other.key_ : *place_ < *other.place_;
  }

 private:
  // Whole tensors of one name that are not said to be replicas are of different stages.
  static int OwnerOf(const HeldTensor& tensor, int rank) {
    if (!tensor.replicas.empty())
      return *std::min_element(tensor.replicas.begin(), tensor.replicas.end());
    return IsWhole(tensor) ? rank : -1;
  }

  std::tuple<absl::string_view, int, std::pair<int64_t, int64_t>> key_;
  const std::vector<std::vector<std::pair<int64_t, int64_t>>>* place_;
};

bool IsSharded(const std::map<int, Clipped>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) {
    const auto& all = rank.second.gradients.all();
    return std::any_of(all.begin(), all.end(),
                       [](const TensorFact& fact) { return !IsWhole(*fact.tensor); });
  });
}

Squares SquaresOf(const std::map<int, Clipped>& ranks) {
  Squares squares{.sharded = IsSharded(ranks)};
  if (!squares.sharded) return squares;
  std::set<PartKey> seen;
  for (const auto& [rank, clipped] : ranks) {
    for (const TensorFact& fact : clipped.gradients.all()) {
      const double square = fact.norm * fact.norm;
      squares.finite = squares.finite && fact.finite;
      squares.bits = std::min(squares.bits, fact.tensor->significand_bits);
      squares.every_copy += square;
      if (!seen.insert(PartKey(*fact.tensor, rank)).second) {
        squares.copied = true;
        continue;
      }
      squares.once += square;
      squares.parts.emplace_back(fact.tensor->name, square);
    }
  }
  return squares;
}

// Of the tensors that a rank has a part of, each part once.
double OwnSquares(const Squares& squares, const SetFacts& own) {
  double sum = 0;
  for (const auto& [name, square] : squares.parts)
    if (own.Find(name) != nullptr) sum += square;
  return sum;
}

class ClipNorm : public Judge {
 public:
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    const size_t world = run.headers.empty() ? 0 : run.headers.begin()->second.world;
    if (step.ranks.size() != world || world < 2) return;
    std::map<int, Clipped> ranks;
    for (const auto& [rank, facts] : step.ranks) {
      ranks[rank] = ClippedOf(*facts);
      if (!ranks[rank].known) return;
    }
    const Squares squares = SquaresOf(ranks);
    for (const auto& [rank, clipped] : ranks)
      if (Compare(step, rank, clipped, squares, findings)) return;
  }
  void End(const Run&, Findings*) override {}

 private:
  static bool Near(double norm, double square, double tolerance) {
    return std::abs(norm - std::sqrt(square)) <= tolerance * norm;
  }
  // True if it raised an alarm: one is enough for a step.
  static bool Compare(const StepOfRun& step, int rank, const Clipped& clipped,
                      const Squares& squares, Findings* findings) {
    if (!squares.sharded || !squares.finite || squares.bits == 0 || clipped.returned == 0)
      return false;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    const double tolerance = squares.bits >= 24 ? kNormToleranceOfFloat32 : kNormToleranceOfNarrow;
    if (Near(clipped.returned, squares.once, tolerance) ||
        Near(clipped.returned, OwnSquares(squares, clipped.gradients), tolerance)) {
      return false;
    }
    // Whoever means another norm (of stages, of experts) has neither: only what is known to be
    // wrong is an alarm.
    if (!squares.copied || !Near(clipped.returned, squares.every_copy, tolerance)) return false;
    Alarm alarm = LawAlarmOfRanks(
        kNormRule, step.step, {}, "clip_grad_norm_",
        absl::StrFormat("the norm that clipping returns counts each part of a gradient once "
                        "(%.9g); on rank %d it is %.9g, which counts the copies of replicas, too",
                        std::sqrt(squares.once), rank, clipped.returned));
    alarm.expected = std::sqrt(squares.once);
    alarm.found = clipped.returned;
    alarm.tolerance = tolerance * clipped.returned;
    findings->alarms.push_back(std::move(alarm));
    return true;
  }
};

}  // namespace

std::unique_ptr<Judge> ClipNormLaw() { return std::make_unique<ClipNorm>(); }

}  // namespace planproof::monitor
