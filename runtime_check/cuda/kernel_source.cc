#include "runtime_check/cuda/kernel_source.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime_check/cuda/instruction_text.h"

namespace planproof::runtime_check::cuda {
namespace {

// The instructions of the whole, of a row in each of the output's dimensions that are loops, and
// of an element.
struct Level {
  int32_t begin = 0, end = 0;
  int32_t variable = -1;  // of the loop that the level is within; -1: of none
  int64_t extent = 1;
  bool kept = false;              // computed by a pass of its own
  std::vector<Register> results;  // of a level that is kept: what later levels read
};

// A reduction with many terms for few results: its blocks, of kSumBlock terms, get a pass before,
// with a thread for each, and the reduction is that of their results. They are added up in the
// same order, and so come to the same. Where a term is itself a loop, a block is one term.
struct Split {
  int32_t loop = -1;          // of the tape, as its end
  int64_t terms = kSumBlock;  // of a block
  int64_t blocks = 0;         // in one position
  int64_t kept = 0;           // first of their results
};

// Below so many positions a reduction is split, if it has at least so many terms.
constexpr int64_t kFewPositions = 1 << 14;
constexpr int64_t kManyTerms = 2 * kSumBlock;
constexpr int64_t kMostTerms = 1 << 22;  // of all positions, that are blocks of their own

class Generator {
 public:
  Generator(const Tape& tape, const KernelTypes& types, const std::string& symbol)
      : tape_(tape), types_(types), symbol_(symbol) {}

  KernelSource Run() {
    FindLevels();
    FindResults();
    for (const Instruction& i : tape_.code) {
      source_.can_fail |=
          (i.code == Code::kRead || i.code == Code::kReadInt) && i.required && i.c >= 0;
    }
    for (const OpaqueCall& call : tape_.calls) source_.row_elements += call.row_extent;
    for (size_t level = 0; level < levels_.size(); ++level) {
      if (!levels_[level].kept && level + 1 < levels_.size()) continue;
      for (const int32_t loop : LoopsToSplit(level)) EmitBlocks(level, loop);
      EmitPass(level);
    }
    return std::move(source_);
  }

 private:
  void FindLevels() {
    std::vector<int32_t> open;  // loops
    int32_t strip = 0;
    for (; tape_.code[strip].code != Code::kStrip; ++strip) {
      if (tape_.code[strip].code == Code::kLoop) open.push_back(strip);
      if (tape_.code[strip].code == Code::kEndLoop) open.pop_back();
    }
    levels_.emplace_back();
    for (const int32_t at : open) {
      levels_.back().end = at;
      levels_.push_back(
          {.begin = at + 1, .variable = tape_.code[at].out, .extent = tape_.code[at].value});
    }
    levels_.back().end = strip;
    strip_elements_ = tape_.code[strip].value;
    levels_.push_back({.begin = strip + 1, .end = tape_.code[strip].b, .extent = strip_elements_});
  }

  // What a level that has loops in it computes is kept, as far as later levels read it.
  void FindResults() {
    for (size_t l = 0; l + 1 < levels_.size(); ++l) {
      Level& level = levels_[l];
      std::set<Register> written;
      for (int32_t at = level.begin; at < level.end; ++at) {
        level.kept |= tape_.code[at].code == Code::kLoop;
        for (const Register reg : WrittenBy(tape_, tape_.code[at])) written.insert(reg);
      }
      if (!level.kept) continue;
      std::set<Register> results;
      for (int32_t at = levels_[l + 1].begin; at < levels_.back().end; ++at) {
        for (const Register reg : ReadBy(tape_, tape_.code[at])) {
          if (written.contains(reg)) results.insert(reg);
        }
      }
      level.results.assign(results.begin(), results.end());
    }
  }

  // Positions of a level in one instance.
  int64_t PositionsOf(size_t level) const {
    int64_t positions = 1;
    for (size_t l = 1; l <= level; ++l) positions *= levels_[l].extent;
    return positions;
  }

  void Line(const std::string& text) { absl::StrAppend(&source_.text, text, "\n"); }

  // Registers that the instructions of a pass mention, but constants.
  std::set<Register> Mentioned(size_t level) const {
    std::set<Register> registers;
    for (size_t l = 0; l <= level; ++l) {
      if (levels_[l].variable >= 0) registers.insert({RegisterSort::kInt, levels_[l].variable});
      registers.insert(levels_[l].results.begin(), levels_[l].results.end());
      if (levels_[l].kept && l < level) continue;
      for (int32_t at = levels_[l].begin; at < levels_[l].end; ++at) {
        for (const Register reg : ReadBy(tape_, tape_.code[at])) registers.insert(reg);
        for (const Register reg : WrittenBy(tape_, tape_.code[at])) registers.insert(reg);
      }
    }
    if (level + 1 == levels_.size()) {
      for (const LaneDimension& dim : tape_.lane_dimensions)
        registers.insert({RegisterSort::kInt, dim.reg});
    }
    return registers;
  }

  void Declare(size_t level) {
    std::map<Register, std::string> constants;
    for (const auto& [reg, value] : tape_.int_constants)
      constants[{RegisterSort::kInt, reg}] = absl::StrCat(value, "LL");
    for (const auto& [reg, value] : tape_.real_constants)
      constants[{RegisterSort::kReal, reg}] = absl::StrCat("(A)(", RealLiteral(value), ")");
    for (const Register reg : Mentioned(level)) {
      const auto constant = constants.find(reg);
      const bool fixed = constant != constants.end();
      const char* type = reg.sort == RegisterSort::kInt    ? "long long "
                         : reg.sort == RegisterSort::kReal ? "A "
                                                           : "bool ";
      Line(absl::StrCat("      ", fixed ? "const " : "", type, reg.name(), " = ",
                        fixed ? constant->second : "0", ";"));
    }
  }

  // The variables at position p of a level.
  void EmitPosition(size_t level) {
    const bool last = level + 1 == levels_.size();
    // Division of 32 bits is several times faster.
    const char* type = PositionsOf(level) < (int64_t{1} << 31) ? "unsigned" : "unsigned long long";
    Line(absl::StrCat("      const ", type, " at = (", type, ")position;"));
    int64_t stride = 1;
    if (last) {
      for (const LaneDimension& dim : tape_.lane_dimensions) {
        Line(absl::StrCat("      i", dim.reg, " = at / ", dim.stride, "u % ", dim.extent, "u;"));
      }
      stride = strip_elements_;
    }
    for (size_t l = last ? level - 1 : level; l > 0; --l) {
      Line(absl::StrCat("      i", levels_[l].variable, " = at / ", stride, "u % ",
                        levels_[l].extent, "u;"));
      stride *= levels_[l].extent;
    }
  }

  // Where a result of a level is kept, seen from position p of a later one.
  std::string PlaceOf(size_t level, Register reg, size_t from) const {
    const bool real = reg.sort == RegisterSort::kReal;
    const auto kept = kept_.at(reg);
    const int64_t positions = PositionsOf(level);
    std::string position =
        absl::StrCat("p / ", PositionsOf(from) / std::max<int64_t>(1, positions));
    if (from == level) position = "p";
    return absl::StrCat(real ? "((A*)g.reals)[" : "g.ints[", kept, "LL * g.instances + instance * ",
                        positions, "LL + ", position, "]");
  }

  bool IsStep(Code code) const {
    return code == Code::kSumStep || code == Code::kMaxStep || code == Code::kMinStep;
  }

  // Loops of a level that are reductions, and in no other loop or branch.
  std::vector<int32_t> LoopsToSplit(size_t level) const {
    std::vector<int32_t> loops;
    if (PositionsOf(level) >= kFewPositions) return loops;
    for (int32_t at = levels_[level].begin; at < levels_[level].end; ++at) {
      const Instruction& i = tape_.code[at];
      const bool skips = i.code == Code::kSkipIfNone || i.code == Code::kSkipIfAll;
      if (i.code == Code::kLoop && i.value >= kManyTerms && IsStep(tape_.code[i.b - 1].code))
        loops.push_back(at);
      if (i.code == Code::kLoop) at = i.b;
      if (skips) at = i.b - 1;
    }
    return loops;
  }

  std::string BlockPlace(const Split& split, size_t level) const {
    const int64_t results = PositionsOf(level) * split.blocks;
    return absl::StrCat("((A*)g.reals)[", split.kept, "LL * g.instances + instance * ", results,
                        "LL + position * ", split.blocks, "LL + block]");
  }

  // The reduction of a loop's blocks, in its place.
  void EmitReductionOfBlocks(size_t level, const Split& split) {
    const Instruction &loop = tape_.code[split.loop], &step = tape_.code[loop.b - 1];
    const std::string out = Register{RegisterSort::kReal, step.out}.name();
    Line(absl::StrCat("      for (long long block = 0; block < ", split.blocks, "LL; ++block) {"));
    Line(absl::StrCat("      const A result = ", BlockPlace(split, level), ";"));
    if (step.code == Code::kSumStep) {
      const std::string sum = Register{RegisterSort::kReal, step.b}.name();
      const std::string lost = Register{RegisterSort::kReal, step.c}.name();
      Line(absl::StrCat("      ", sum, " = ", sum, " + result;"));
      Line(absl::StrCat("      const long long terms = (block + 1) * ", split.terms, ";"));
      Line(absl::StrCat("      if (terms % ", kSumBlock, " == 0 && terms <= ", loop.value,
                        "LL) AddBlock(", out, ", ", sum, ", ", lost, ");"));
    } else {
      Line(absl::StrCat("      ", out, " = ", step.code == Code::kMaxStep ? "Larger(" : "Smaller(",
                        out, ", result);"));
    }
    Line("      }");
  }

  void EmitInstructions(size_t level, int32_t end) {
    std::vector<int32_t> ends;  // of skips that are open
    for (int32_t at = levels_[level].begin; at < end; ++at) {
      for (; !ends.empty() && ends.back() == at; ends.pop_back()) Line("      }");
      const Instruction& i = tape_.code[at];
      const auto split = splits_.find(at);
      if (split != splits_.end()) {
        EmitReductionOfBlocks(level, split->second);
        at = i.b;
      } else {
        EmitInstruction(i, &ends);
      }
    }
    for (; !ends.empty(); ends.pop_back()) Line("      }");
  }

  void EmitInstruction(const Instruction& i, std::vector<int32_t>* ends) {
    if (i.code == Code::kEndLoop) {
      Line("      }");
      return;
    }
    if (i.code == Code::kSkipIfNone || i.code == Code::kSkipIfAll) ends->push_back(i.b);
    Line(absl::StrCat("      ", StatementOf(tape_, types_, i)));
  }

  // One block of the loop at position p / blocks.
  void EmitBlock(const Instruction& loop, const Split& split) {
    const Instruction& step = tape_.code[loop.b - 1];
    const bool sums = step.code == Code::kSumStep;
    const std::string variable = Register{RegisterSort::kInt, loop.out}.name();
    const std::string result = Register{RegisterSort::kReal, sums ? step.b : step.out}.name();
    Line(absl::StrCat("      const long long end = (block + 1) * ", split.terms, ", last = end < ",
                      loop.value, "LL ? end : ", loop.value, "LL;"));
    Line(absl::StrCat("      for (", variable, " = block * ", split.terms, "; ", variable,
                      " < last; ++", variable, ") {"));
    std::vector<int32_t> ends;
    for (int32_t at = split.loop + 1; at < loop.b; ++at) {
      for (; !ends.empty() && ends.back() == at; ends.pop_back()) Line("      }");
      if (at < loop.b - 1) {
        EmitInstruction(tape_.code[at], &ends);
      } else if (sums) {
        const std::string term = Register{RegisterSort::kReal, step.a}.name();
        Line(absl::StrCat("      ", result, " = ", result, " + ", term, ";"));
      } else {
        EmitInstruction(step, &ends);
      }
    }
    Line("      }");
  }

  void EmitBlocks(size_t level, int32_t first) {
    const Instruction& loop = tape_.code[first];
    const int64_t positions = PositionsOf(level);
    Split split{.loop = first, .kept = source_.kept_reals};
    const bool loops = std::any_of(tape_.code.begin() + first + 1, tape_.code.begin() + loop.b,
                                   [](const Instruction& i) { return i.code == Code::kLoop; });
    if (loops && loop.value <= kMostTerms / std::max<int64_t>(1, positions)) split.terms = 1;
    split.blocks = (loop.value + split.terms - 1) / split.terms;
    source_.kept_reals += positions * split.blocks;
    BeginPass(positions * split.blocks);
    Line(absl::StrCat("      const long long position = p / ", split.blocks, ", block = p % ",
                      split.blocks, ";"));
    EmitBefore(level);
    EmitInstructions(level, first);
    EmitBlock(loop, split);
    const Instruction& step = tape_.code[loop.b - 1];
    Line(absl::StrCat(
        "      ", BlockPlace(split, level), " = ",
        Register{RegisterSort::kReal, step.code == Code::kSumStep ? step.b : step.out}.name(),
        ";"));
    Line("    }\n  }\n}");
    splits_[first] = split;
  }

  // Until the thread's position, p, is known.
  void BeginPass(int64_t positions) {
    const std::string name = absl::StrCat(symbol_, "_", source_.passes.size());
    source_.passes.push_back({name, positions});
    Line(absl::StrCat("PLANPROOF_KERNEL ", name, "(Arguments g) {"));
    Line(absl::StrCat("  typedef ", types_.ComputesInDoubles() ? "double" : "float", " A;"));
    if (source_.row_elements > 0) Line("  double* const rows = g.rows + PLANPROOF_THREAD;");
    Line(
        "  for (long long instance = PLANPROOF_FIRST_INSTANCE; instance < g.instances; instance += "
        "PLANPROOF_STEP_INSTANCE) {");
    if (!types_.integer_operands.empty()) {
      Line(absl::StrCat("    const void* const* const operand = g.operands + instance * ",
                        types_.integer_operands.size(), ";"));
    }
    Line(absl::StrCat("    for (long long p = PLANPROOF_FIRST; p < ", positions,
                      "LL; p += PLANPROOF_STEP) {"));
  }

  // What is known before the level's own instructions, at its `position`.
  void EmitBefore(size_t level) {
    Declare(level);
    EmitPosition(level);
    for (size_t l = 0; l < level; ++l) {
      if (!levels_[l].kept) EmitInstructions(l, levels_[l].end);
      for (const Register reg : levels_[l].results) {
        Line(absl::StrCat("      ", reg.name(), " = ", PlaceOf(l, reg, level),
                          reg.sort == RegisterSort::kTruth ? " != 0;" : ";"));
      }
    }
  }

  void EmitPass(size_t level) {
    const bool last = level + 1 == levels_.size();
    const int64_t positions = PositionsOf(level);
    BeginPass(positions);
    Line("      const long long position = p;");
    if (last)
      Line(absl::StrCat("      const long long element = instance * ", positions, "LL + p;"));
    EmitBefore(level);
    EmitInstructions(level, levels_[level].end);
    for (const Register reg : levels_[level].results) {
      int64_t& kept = reg.sort == RegisterSort::kReal ? source_.kept_reals : source_.kept_ints;
      kept_[reg] = kept;
      kept += positions;
      Line(absl::StrCat("      ", PlaceOf(level, reg, level), " = ", reg.name(), ";"));
    }
    Line("    }\n  }\n}");
  }

  const Tape& tape_;
  const KernelTypes& types_;
  const std::string symbol_;
  std::vector<Level> levels_;
  int64_t strip_elements_ = 1;
  std::map<Register, int64_t> kept_;  // first of its numbers
  std::map<int32_t, Split> splits_;   // by the loop's place in the tape
  KernelSource source_;
};

}  // namespace

KernelSource SourceOf(const Tape& tape, const KernelTypes& types, const std::string& symbol) {
  return Generator(tape, types, symbol).Run();
}

}  // namespace planproof::runtime_check::cuda
