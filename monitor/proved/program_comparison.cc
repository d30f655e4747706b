#include "monitor/proved/program_comparison.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::monitor {
namespace {

using Kind = ProgramToken::Kind;

constexpr size_t kMostBetween = 64;  // operators that may be the step's or that before it
constexpr int kMostLeftOut = 32;     // operators in a row that are told as left out, or added

bool IsNumber(const ProgramToken& token) {
  return token.kind == Kind::kWhole || token.kind == Kind::kReal || token.kind == Kind::kNumber;
}

double NumberOf(const ProgramToken& token) {
  return token.kind == Kind::kReal ? token.real : static_cast<double>(token.whole);
}

// Why two operators differ; empty: they do not.
struct OperatorMismatch {
  std::string what;
  std::optional<double> expected, found;
};

// Walks through both programs, and learns on the way which memory of the run is which of the proof.
class ProgramWalk {
 public:
  ProgramWalk(const RankProgram& proved, const RankProgram& run, const SizeRatios& ratios,
              const SameGroup& same_group)
      : proved_(proved), run_(run), ratios_(ratios), same_group_(same_group) {
    LearnSizes();
    if (!ratios_.empty()) result_.same_sizes = false;
  }

  ProgramComparison Compare(size_t start) {
    const size_t run_size = run_.operators.size() - start;
    for (size_t k = 0; k < std::max(proved_.operators.size(), run_size); ++k) {
      const bool ends = k >= proved_.operators.size() || k >= run_size;
      const OperatorMismatch mismatch =
          ends ? OperatorMismatch{} : Match(proved_.operators[k], run_.operators[start + k]);
      if (!ends && mismatch.what.empty()) {
        ++result_.compared;
        continue;
      }
      if (proved_.sizes_by_data || run_.sizes_by_data) {
        result_.ended_by_data = true;
      } else {
        Report(k, start + k, mismatch);
      }
      break;
    }
    return std::move(result_);
  }

 private:
  // Of named memory, whose largest views are compared.
  void LearnSizes() {
    const auto largest = [](const RankProgram& program) {
      std::map<std::string, const ProgramTensor*> by_name;
      const auto elements = [](const ProgramTensor& tensor) {
        double count = 1;
        for (const int64_t size : tensor.shape) count *= static_cast<double>(size);
        return count;
      };
      for (const ProgramTensor& tensor : program.tensors) {
        const ProgramMemory& memory = program.memory[tensor.memory];
        if (memory.name.empty()) continue;
        const ProgramTensor*& known = by_name[memory.name];
        if (known == nullptr || elements(tensor) > elements(*known)) known = &tensor;
      }
      return by_name;
    };
    const auto run = largest(run_);
    for (const auto& [name, tensor] : largest(proved_)) {
      const auto own = run.find(name);
      if (own == run.end() || own->second->shape.size() != tensor->shape.size()) continue;
      for (size_t d = 0; d < tensor->shape.size(); ++d) {
        ratios_.Add(tensor->shape[d], own->second->shape[d]);
      }
    }
  }

  OperatorMismatch Match(const ProgramOperator& proved, const ProgramOperator& run) {
    if (proved.name != run.name) return {.what = "another operator"};
    if (!same_group_(proved.group, run.group)) return {.what = "another group"};
    if (proved.arguments.size() != run.arguments.size() ||
        proved.results.size() != run.results.size()) {
      return {.what = "another number of arguments"};
    }
    // What writes parameters and states has the optimizer's options, which laws judge.
    const auto is_held = [&](int32_t tensor) {
      const MemoryRole role = proved_.memory[proved_.tensors[tensor].memory].role;
      return role == MemoryRole::kParameter || role == MemoryRole::kState;
    };
    const bool updates = std::any_of(proved.writes.begin(), proved.writes.end(), is_held);
    for (size_t k = 0; k < proved.arguments.size(); ++k) {
      OperatorMismatch mismatch = MatchToken(proved.arguments[k], run.arguments[k], updates);
      if (!mismatch.what.empty()) return mismatch;
    }
    for (size_t k = 0; k < proved.results.size(); ++k) {
      OperatorMismatch mismatch = MatchTensor(proved.results[k], run.results[k]);
      if (!mismatch.what.empty()) return mismatch;
    }
    return {};
  }

  OperatorMismatch MatchToken(const ProgramToken& proved, const ProgramToken& run, bool updates) {
    if (IsNumber(proved) && IsNumber(run)) return MatchNumber(proved, run, updates);
    if (proved.kind != run.kind) return {.what = "another kind of argument"};
    switch (proved.kind) {
      case Kind::kTensor:
        return MatchTensor(proved.whole, run.whole);
      case Kind::kTruth:
        if (proved.whole != run.whole) return {.what = "another flag"};
        return {};
      case Kind::kText:
        if (proved.text != run.text) return {.what = absl::StrCat("another ", run.text)};
        return {};
      default:
        return {};
    }
  }

  OperatorMismatch MatchNumber(const ProgramToken& proved, const ProgramToken& run, bool updates) {
    if (proved.kind == Kind::kNumber || run.kind == Kind::kNumber) return {};
    if (updates && (proved.kind == Kind::kReal || run.kind == Kind::kReal)) return {};
    const bool whole = proved.kind == Kind::kWhole && run.kind == Kind::kWhole;
    if (whole && proved_.sizes_by_data) return {};
    const double expected = NumberOf(proved), found = NumberOf(run);
    const bool may_be_sum = whole && !ratios_.empty() && expected * found > 0;  // of sizes
    if (may_be_sum || ratios_.Explain(expected, found)) return {};
    return {.what = "another number", .expected = expected, .found = found};
  }

  OperatorMismatch MatchTensor(int64_t proved_number, int64_t run_number) {
    const ProgramTensor& proved = proved_.tensors[proved_number];
    const ProgramTensor& run = run_.tensors[run_number];
    if (proved.dtype != run.dtype) return {.what = "another type"};
    if (proved.shape.size() != run.shape.size()) return {.what = "another number of dimensions"};
    const bool data = proved_.memory[proved.memory].role == MemoryRole::kData ||
                      run_.memory[run.memory].role == MemoryRole::kData;
    if (OperatorMismatch other = MatchShape(proved, run, data); !other.what.empty()) return other;
    if (data) return MatchData(proved, run);
    if (OperatorMismatch other = MatchMemory(proved, run); !other.what.empty()) return other;
    return MatchView(proved, run);
  }

  OperatorMismatch MatchShape(const ProgramTensor& proved, const ProgramTensor& run, bool data) {
    for (size_t d = 0; d < proved.shape.size(); ++d) {
      const int64_t expected = proved.shape[d], found = run.shape[d];
      if (expected == found) continue;
      if (data) ratios_.Add(expected, found);
      result_.same_sizes = false;
      // A buffer of many tensors has the sum of their sizes.
      const bool may_be_sum = !ratios_.empty() && proved_.memory[proved.memory].name.empty();
      if (proved_.sizes_by_data || (may_be_sum && expected * found > 0)) continue;
      const auto as_real = [](int64_t size) { return static_cast<double>(size); };
      if (ratios_.Explain(as_real(expected), as_real(found))) continue;
      return {.what = "another size", .expected = as_real(expected), .found = as_real(found)};
    }
    return {};
  }

  // Parts of one input are read in one order.
  OperatorMismatch MatchData(const ProgramTensor& proved, const ProgramTensor& run) {
    std::map<int64_t, int64_t>& offsets = data_[{proved.memory, run.memory}];
    const auto [at, is_new] = offsets.emplace(proved.offset, run.offset);
    if (!is_new && at->second == run.offset) return {};
    const OperatorMismatch other = {.what = "another part of the data",
                                    .expected = static_cast<double>(proved.offset),
                                    .found = static_cast<double>(run.offset)};
    if (!is_new) return other;
    const auto next = std::next(at);
    const bool rises = (at == offsets.begin() || std::prev(at)->second < run.offset) &&
                       (next == offsets.end() || run.offset < next->second);
    if (rises) return {};
    offsets.erase(at);
    return other;
  }

  OperatorMismatch MatchMemory(const ProgramTensor& proved, const ProgramTensor& run) {
    const std::string& expected = proved_.memory[proved.memory].name;
    const std::string& found = run_.memory[run.memory].name;
    if (!expected.empty() && !found.empty() && expected != found) {
      return {.what = absl::StrCat(found, " in place of ", expected)};
    }
    const auto own = of_run_.emplace(proved.memory, run.memory).first->second;
    const auto back = of_proof_.emplace(run.memory, proved.memory).first->second;
    if (own != run.memory || back != proved.memory) return {.what = "another tensor"};
    return {};
  }

  OperatorMismatch MatchView(const ProgramTensor& proved, const ProgramTensor& run) {
    if (proved_.sizes_by_data) return {};
    const auto as_real = [](int64_t number) { return static_cast<double>(number); };
    // At other sizes the place in a buffer of many tensors is a sum.
    const bool is_sum = !ratios_.empty() && proved.offset != 0 && run.offset != 0 &&
                        proved_.memory[proved.memory].name.empty();
    if (!is_sum && !ratios_.Explain(as_real(proved.offset), as_real(run.offset))) {
      return {.what = "another place in a tensor",
              .expected = as_real(proved.offset),
              .found = as_real(run.offset)};
    }
    for (size_t d = 0; d < proved.shape.size(); ++d) {
      if (proved.shape[d] == 1 || run.shape[d] == 1) continue;
      if (ratios_.Explain(as_real(proved.strides[d]), as_real(run.strides[d]))) continue;
      if (!ratios_.empty() && proved.strides[d] != 0 && run.strides[d] != 0) continue;
      return {.what = "other strides"};
    }
    return {};
  }

  // Operators of the run that stand before this one of the proof; or of the proof before this one
  // of the run.
  static int Distance(const RankProgram& of, size_t from, const std::string& name) {
    for (int k = 1; k <= kMostLeftOut && from + k < of.operators.size(); ++k) {
      if (of.operators[from + k].name == name) return k;
    }
    return kMostLeftOut + 1;
  }

  void Report(size_t at, size_t run_at, const OperatorMismatch& mismatch) {
    const bool proof_ends = at >= proved_.operators.size();
    const bool run_ends = run_at >= run_.operators.size();
    ProgramDifference& difference = result_.difference.emplace();
    difference.at = static_cast<int64_t>(at);
    difference.expected = mismatch.expected;
    difference.found = mismatch.found;
    int left_out = kMostLeftOut + 1, added = kMostLeftOut + 1;
    if (!proof_ends && !run_ends && proved_.operators[at].name != run_.operators[run_at].name) {
      left_out = Distance(proved_, at, run_.operators[run_at].name);
      added = Distance(run_, run_at, proved_.operators[at].name);
    }
    const bool only_run = proof_ends || (!run_ends && added < left_out);
    const bool only_proof = run_ends || (!proof_ends && left_out < added);
    const ProgramOperator& shown = only_run ? run_.operators[run_at] : proved_.operators[at];
    difference.place = PlaceOfSource(shown.source);
    difference.subject = !shown.module.empty()       ? shown.module
                         : !difference.place.empty() ? difference.place
                                                     : shown.name;
    if (only_run) {
      difference.statement = absl::StrCat("the proved iteration does not have ",
                                          OperatorText(run_, shown), Where(shown));
      return;
    }
    const std::string expected =
        absl::StrCat("the proved iteration has ", OperatorText(proved_, shown), Where(shown));
    if (only_proof) {
      difference.statement = absl::StrCat(expected, "; the run does not have it");
      return;
    }
    const ProgramOperator& own = run_.operators[run_at];
    difference.statement = absl::StrCat(expected, "; the run has ", OperatorText(run_, own),
                                        Where(own), ": ", mismatch.what);
  }

  static std::string Where(const ProgramOperator& op) {
    if (op.source.empty()) return "";
    return absl::StrCat(" at ", PlaceOfSource(op.source));
  }

  const RankProgram& proved_;
  const RankProgram& run_;
  SizeRatios ratios_;
  const SameGroup& same_group_;
  std::map<int32_t, int32_t> of_run_, of_proof_;  // memory
  // Offsets in the run by those in the proof, of data.
  std::map<std::pair<int32_t, int32_t>, std::map<int64_t, int64_t>> data_;
  ProgramComparison result_;
};

}  // namespace

ProgramComparison ComparePrograms(const RankProgram& proved, const RankProgram& run,
                                  const SizeRatios& ratios, const SameGroup& same_group) {
  size_t between = 0;
  while (between < run.operators.size() && run.operators[between].between) ++between;
  // A program may begin its iteration before it clears gradients or calls a model.
  ProgramComparison best = ProgramWalk(proved, run, ratios, same_group).Compare(between);
  const auto differs = [](const ProgramComparison& comparison) {
    return comparison.difference.has_value() || comparison.ended_by_data;
  };
  for (size_t start = between; differs(best) && start-- > 0 && start + kMostBetween > between;) {
    ProgramComparison other = ProgramWalk(proved, run, ratios, same_group).Compare(start);
    if (!differs(other) || other.compared > best.compared) best = std::move(other);
  }
  return best;
}

}  // namespace planproof::monitor
