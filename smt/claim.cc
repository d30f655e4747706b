#include "smt/claim.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "smt/structure.h"
#include "solver/z3_solver.h"

namespace planproof::smt {

using sdfg::TensorId;
using solver::RawId;
using Status = SmtClaimOutcome::Status;

namespace {

constexpr int kMaxRepresentatives = 8;
// Beyond polynomials no number of representatives is known to suffice; few keep Z3 quick.
constexpr int kRepresentativesOfFunctions = 3;
constexpr int64_t kFarEnough = 1000;  // integers that are tried
constexpr size_t kMaxTuples = 16;
constexpr char kSmtPremise[] =
    "every operator is defined on the inputs considered (asserted to Z3 as premises)";
constexpr char kSmtRestriction[] =
    "the plan's operators are defined (Z3 does not show it wherever the model's are)";

// Z3 is given all conditions at once, and does not say which of them it needs.
stages::Condition OfAllOperators(const char* words) {
  stages::Condition condition;
  condition.declared = words;
  return condition;
}

// Where indices of a group may coincide, by group: for each index of the parallel tensor in it, the
// position that it takes; equal positions coincide. All ways of coinciding, in a group of this
// length.
std::vector<std::vector<int>> Coincidences(size_t indices, int64_t length) {
  std::vector<std::vector<int>> found = {{}};
  for (size_t k = 0; k < indices; ++k) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& positions : found) {
      const int next =
          positions.empty() ? 0 : *std::max_element(positions.begin(), positions.end()) + 1;
      for (int p = 0; p <= next && p < length; ++p) {
        longer.push_back(positions);
        longer.back().push_back(p);
      }
      if (longer.size() > kMaxTuples) return longer;
    }
    found = std::move(longer);
  }
  return found;
}

int64_t IndexAt(const SmtCell::Index& index, int64_t position) {
  position = std::min(position, index.length - 1);
  return index.low + (index.reversed ? index.length - 1 - position : position);
}

// How a cell is looked at.
struct Look {
  std::vector<int> representatives;  // by group
  int most = 1;                      // of them
  std::vector<std::vector<int64_t>> tuples;
  // These tuples stand for all indices of the cell, and these representatives for all of a group if
  // the terms are polynomial.
  bool enough = true;
};

class Looks {
 public:
  Looks(const SmtStructure& s, int asked) : s_(s), asked_(asked) {
    for (const SmtCell& cell : s.cells) {
      int open = 0;
      for (const SmtCell::Index& index : cell.indices) open += index.length > 1;
      free_ = std::max(free_, open);
    }
  }

  Look At(const SmtCell& cell) const {
    Look look;
    for (const SmtCell::Group& group : cell.groups) {
      const int r = Representatives(group);
      look.representatives.push_back(r);
      look.most = std::max(look.most, static_cast<int>(std::min<int64_t>(r, group.length)));
      look.enough = look.enough && (group.length <= r || !s_.polynomial || r >= Needed(group));
    }
    look.tuples = {std::vector<int64_t>(cell.indices.size())};
    for (size_t d = 0; d < cell.indices.size(); ++d) look.tuples[0][d] = cell.indices[d].low;
    for (const SmtCell::Group& group : cell.groups) Multiply(cell, group, &look);
    return look;
  }

 private:
  // Of a long interval, for polynomial terms: the free indices and, beside them, as many as a
  // monomial may have sums; one of the latter is the block.
  int64_t Needed(const SmtCell::Group& group) const {
    return std::max(s_.sums, 1) + static_cast<int64_t>(group.free.size());
  }

  int Representatives(const SmtCell::Group& group) const {
    if (asked_ > 0) return asked_;
    if (s_.polynomial || !s_.binds) {
      return static_cast<int>(std::min<int64_t>(Needed(group), kMaxRepresentatives));
    }
    return std::min(s_.sums + free_ + s_.maxima + 1, kRepresentativesOfFunctions);
  }

  // Whether what holds for free indices that differ holds for those that coincide.
  bool DifferentOnesSuffice(const SmtCell::Group& group) const {
    const int64_t free = static_cast<int64_t>(group.free.size());
    return s_.polynomial ? group.length >= s_.sums + free : !s_.binds && group.length >= free;
  }

  void Multiply(const SmtCell& cell, const SmtCell::Group& group, Look* look) const {
    const size_t n = group.free.size();
    std::vector<std::vector<int>> ways;
    if (!DifferentOnesSuffice(group)) ways = Coincidences(n, group.length);
    if (ways.empty() || ways.size() * look->tuples.size() > kMaxTuples) {
      look->enough = look->enough && ways.empty();
      ways.assign(1, {});
      for (size_t k = 0; k < n; ++k) ways[0].push_back(static_cast<int>(k));
    }
    std::vector<std::vector<int64_t>> tuples;
    for (const auto& tuple : look->tuples) {
      for (const auto& way : ways) {
        tuples.push_back(tuple);
        for (size_t k = 0; k < n; ++k) {
          tuples.back()[group.free[k]] = IndexAt(cell.indices[group.free[k]], way[k]);
        }
      }
    }
    look->tuples = std::move(tuples);
  }

  const SmtStructure& s_;
  const int asked_;
  int free_ = 0;
};

// Whether some values give both sides a number: premises that contradict each other prove anything.
bool HasSample(const solver::SmtQuestion& q) {
  std::mt19937_64 random(29);
  auto fill = [&](const solver::RawArena& arena, solver::RawValues* values, double scale) {
    for (size_t id = 0; id < arena.size(); ++id) {
      const solver::RawTerm& t = arena[static_cast<RawId>(id)];
      const double x = std::uniform_real_distribution<double>(-scale, scale)(random);
      if (t.op == solver::RawOp::kVariable) {
        values->try_emplace(t.name, t.low == 1 || t.low == 2 ? std::abs(x) + 0.01 : x);
      } else if (t.op == solver::RawOp::kIntVariable) {
        values->try_emplace(t.name, std::uniform_int_distribution<int64_t>(
                                        std::clamp(-kFarEnough, t.low, t.high),
                                        std::clamp(kFarEnough, t.low, t.high))(random));
      }
    }
  };
  for (int attempt = 0; attempt < 40; ++attempt) {
    solver::RawValues values;
    fill(*q.left_arena, &values, attempt % 2 == 0 ? 1 : 0.05);
    fill(*q.right_arena, &values, attempt % 2 == 0 ? 1 : 0.05);
    if (attempt % 4 >= 2) {
      for (auto& [name, value] : values) value = std::abs(value);
    }
    bool ok = EvaluateRaw(*q.left_arena, q.left, values).defined &&
              EvaluateRaw(*q.right_arena, q.right, values).defined;
    for (RawId p : q.left_premises) ok = ok && EvaluateRaw(*q.left_arena, p, values).value == 1;
    for (RawId p : q.right_premises) ok = ok && EvaluateRaw(*q.right_arena, p, values).value == 1;
    if (ok) return true;
  }
  return false;
}

class Decision {
 public:
  Decision(const SmtClaimView& view, const SmtClaimOptions& options)
      : view_(view), options_(options) {}

  // With `itself` the logical side is an unknown value; the answer is of use only if the parallel
  // side mentions it.
  SmtClaimOutcome Run(std::set<TensorId>* unknowns, bool* mentions_target) {
    structure_ = FindSmtStructure(view_, options_.limits);
    const SmtStructure& s = structure_;
    *mentions_target = s.mentions_target;
    if (view_.itself && !s.mentions_target) return out_;
    *unknowns = s.unknowns;
    if (!s.error.empty()) {
      out_.reason = s.error;
      return out_;
    }
    out_.status = Status::kEqual;
    out_.identical = out_.expressed = true;
    out_.reason = "identical";
    const Looks looks(s, options_.representatives);
    std::vector<Look> of_cell;
    bool exact = true;  // nothing is reduced
    for (const SmtCell& cell : s.cells) {
      of_cell.push_back(looks.At(cell));
      for (size_t g = 0; g < cell.groups.size(); ++g) {
        exact = exact && cell.groups[g].length <= of_cell.back().representatives[g];
      }
    }
    out_.bound_holds = s.interchangeable && (s.polynomial || !s.binds || exact);
    const bool all = out_.bound_holds && options_.timeout_s > 0;
    const size_t most = std::max(options_.max_cells, 1);
    const size_t step = all ? 1 : std::max<size_t>(1, (s.cells.size() + most - 1) / most);
    out_.bound_holds = out_.bound_holds && step == 1;
    for (size_t c = 0; c < s.cells.size() && Undecided(); c += step) {
      const Look& look = of_cell[c];
      out_.representatives = std::max(out_.representatives, look.most);
      out_.bound_holds = out_.bound_holds && look.enough;
      blocks_ = ChooseBlocks(view_.problem, s, s.cells[c], look.representatives,
                             s.interchangeable ? 1 : look.most);
      for (size_t k = 0; k < look.tuples.size() && Undecided(); ++k) Compare(look.tuples[k]);
    }
    return out_;
  }

 private:
  bool Undecided() const { return out_.status == Status::kEqual; }

  void Give(Status status, std::string reason) {
    out_.status = status;
    out_.reason = std::move(reason);
  }

  void Compare(const std::vector<int64_t>& tuple) {
    std::vector<SmtIndex> index(tuple.size());
    for (size_t d = 0; d < tuple.size(); ++d) index[d].constant = tuple[d];
    SmtEvaluation left(view_.problem, view_.relations, view_.unfolded, blocks_, nullptr,
                       options_.limits);
    SmtEvaluation right(view_.problem, view_.relations, view_.unfolded, blocks_, nullptr,
                        options_.limits);
    SmtSide l, p;
    if (!EvaluateSide(view_, false, index, &left, &l) ||
        !EvaluateSide(view_, true, index, &right, &p)) {
      out_.identical = out_.expressed = false;
      return Give(Status::kUnknown, left.error().empty() ? right.error() : left.error());
    }
    const bool polynomial = left.polynomial() && right.polynomial();
    const bool unreduced = left.unreduced() && right.unreduced();
    out_.presupposes |= !polynomial;
    // A term that is polynomial on whole intervals only is looked at too briefly.
    out_.bound_holds = out_.bound_holds && left.aligned() && right.aligned() &&
                       !left.reads_integers() && !right.reads_integers() &&
                       (structure_.polynomial ? polynomial : unreduced);
    if (l.masked || p.masked) {
      if (l.masked == p.masked) return;
      out_.identical = false;
      return Give(Status::kDifferent,
                  l.masked ? "-infinity against a number" : "a number against -infinity");
    }
    const bool same = SameRawTerm(left.arena(), l.term, right.arena(), p.term);
    out_.identical = out_.identical && same;
    solver::SmtQuestion q;
    q.left_arena = &left.arena();
    q.right_arena = &right.arena();
    q.left = l.term;
    q.right = p.term;
    q.left_premises = left.premises();
    q.right_premises = right.premises();
    q.timeout_s = options_.timeout_s;
    q.ask_domain = options_.ask_domain && out_.bound_holds;
    if (!options_.dump_prefix.empty()) {
      q.dump_file = absl::StrCat(options_.dump_prefix, "_", dumped_++, ".smt2");
      q.comments = options_.comments;
      q.comments.push_back(absl::StrCat("index of the parallel tensor: ", AsText(tuple)));
    } else if (same) {
      return;
    }
    ++out_.questions;
    const solver::SmtAnswer answer = solver::AskZ3(q);
    if (same) return;
    if (answer.verdict == solver::SmtVerdict::kDifferent) {
      return Give(Status::kDifferent,
                  absl::StrCat("at ", AsText(tuple), " ", answer.left, " against ", answer.right));
    }
    if (answer.verdict == solver::SmtVerdict::kUnknown)
      return Give(Status::kUnknown, answer.reason);
    out_.reason = answer.reason;
    out_.restricted |= !answer.defined || right.skips_premises();
    if (!polynomial && !HasSample(q)) {
      Give(Status::kUnknown, "no values were found for which the premises hold");
    }
  }

  static std::string AsText(const std::vector<int64_t>& tuple) {
    std::string out = "[";
    for (size_t d = 0; d < tuple.size(); ++d) absl::StrAppend(&out, d > 0 ? ", " : "", tuple[d]);
    return out + "]";
  }

  const SmtClaimView view_;
  const SmtClaimOptions& options_;
  SmtStructure structure_;
  BlockStarts blocks_;
  SmtClaimOutcome out_;
  int dumped_ = 0;
};

}  // namespace

SmtClaimOutcome DecideClaimBySmt(const lineage::Problem& problem,
                                 const stages::Relations& relations, const stages::Claim& claim,
                                 const SmtClaimOptions& options) {
  const sdfg::Shape& shape = problem.parallel.tensors[claim.parallel].shape;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {  // nothing to claim
    SmtClaimOutcome out;
    out.status = Status::kEqual;
    out.identical = out.expressed = out.bound_holds = true;
    return out;
  }
  std::set<TensorId> unfolded;
  SmtClaimOutcome first;
  std::set<TensorId> unknowns;
  bool mentions_target = false;
  if (problem.logical.tensors[claim.target.logical].producer != sdfg::kNone) {
    // The parallel side may be the logical tensor itself, moved about. Otherwise it is opened on
    // both sides.
    SmtClaimOutcome out = Decision({problem, relations, claim, unfolded, true}, options)
                              .Run(&unknowns, &mentions_target);
    if (mentions_target && out.status == Status::kEqual) return out;
    if (mentions_target) unfolded.insert(claim.target.logical);
  }
  // A claim about a multiple is one about the definition of what it is a multiple of. The parallel
  // side may read that tensor, too: then nothing needs to be opened.
  TensorId multiple_of = relations.MultipleOf(claim.target.logical);
  for (int level = 0; level <= options.unfold_levels;) {
    SmtClaimOutcome out = Decision({problem, relations, claim, unfolded, false}, options)
                              .Run(&unknowns, &mentions_target);
    if (level == 0) first = out;
    if (out.status == Status::kEqual) return out;
    const size_t before = unfolded.size();
    if (multiple_of != sdfg::kNone) {
      unfolded.insert(std::exchange(multiple_of, sdfg::kNone));
      continue;
    }
    for (TensorId t : unknowns) {
      if (problem.logical.tensors[t].producer != sdfg::kNone) unfolded.insert(t);
    }
    if (unfolded.size() == before) break;
    ++level;
  }
  return first;
}

stages::ClaimOutcome AsClaimOutcome(const SmtClaimOutcome& o, bool opened) {
  stages::ClaimOutcome out;
  if (o.status == Status::kEqual && o.bound_holds) {
    out.status = stages::ClaimStatus::kProved;
    out.method = opened        ? stages::ProofMethod::kZ3Unfolded
                 : o.identical ? stages::ProofMethod::kZ3Identical
                               : stages::ProofMethod::kZ3;
    if (o.presupposes) out.premises = {OfAllOperators(kSmtPremise)};
    if (o.restricted) out.restrictions = {OfAllOperators(kSmtRestriction)};
  } else if (o.status == Status::kEqual) {
    out.status = stages::ClaimStatus::kAbandoned;
    out.reason = "equal on representatives, but no bound says that these suffice";
  } else {
    out.status = o.status == Status::kDifferent ? stages::ClaimStatus::kFailed
                                                : stages::ClaimStatus::kAbandoned;
    out.reason = absl::StrCat("Z3: ", o.reason);
  }
  return out;
}

}  // namespace planproof::smt
