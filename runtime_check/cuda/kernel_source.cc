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
      if (levels_[level].kept || level + 1 == levels_.size()) EmitPass(level);
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
    Line(absl::StrCat("      const ", type, " at = (", type, ")p;"));
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

  void EmitInstructions(size_t level) {
    std::vector<int32_t> ends;  // of skips that are open
    for (int32_t at = levels_[level].begin; at < levels_[level].end; ++at) {
      for (; !ends.empty() && ends.back() == at; ends.pop_back()) Line("      }");
      const Instruction& i = tape_.code[at];
      if (i.code == Code::kEndLoop) {
        Line("      }");
        continue;
      }
      if (i.code == Code::kSkipIfNone || i.code == Code::kSkipIfAll) ends.push_back(i.b);
      Line(absl::StrCat("      ", StatementOf(tape_, types_, i)));
    }
    for (; !ends.empty(); ends.pop_back()) Line("      }");
  }

  void EmitPass(size_t level) {
    const std::string name = absl::StrCat(symbol_, "_", source_.passes.size());
    const bool last = level + 1 == levels_.size();
    const int64_t positions = PositionsOf(level);
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
    if (last) {
      Line(absl::StrCat("      const long long element = instance * ", positions, "LL + p;"));
    }
    Declare(level);
    EmitPosition(level);
    for (size_t l = 0; l <= level; ++l) {
      if (!levels_[l].kept || l == level) {
        EmitInstructions(l);
        continue;
      }
      for (const Register reg : levels_[l].results)
        Line(absl::StrCat("      ", reg.name(), " = ", PlaceOf(l, reg, level),
                          reg.sort == RegisterSort::kTruth ? " != 0;" : ";"));
    }
    if (!last) {
      for (const Register reg : levels_[level].results) {
        int64_t& kept = reg.sort == RegisterSort::kReal ? source_.kept_reals : source_.kept_ints;
        kept_[reg] = kept;
        kept += positions;
        Line(absl::StrCat("      ", PlaceOf(level, reg, level), " = ", reg.name(), ";"));
      }
    }
    Line("    }\n  }\n}");
  }

  const Tape& tape_;
  const KernelTypes& types_;
  const std::string symbol_;
  std::vector<Level> levels_;
  int64_t strip_elements_ = 1;
  std::map<Register, int64_t> kept_;  // first of its numbers
  KernelSource source_;
};

}  // namespace

KernelSource SourceOf(const Tape& tape, const KernelTypes& types, const std::string& symbol) {
  return Generator(tape, types, symbol).Run();
}

}  // namespace planproof::runtime_check::cuda
