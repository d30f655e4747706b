#include "stages/smt_claim.h"

#include <algorithm>
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "solver/z3_solver.h"

namespace planproof::stages {

using sdfg::TensorId;
using solver::RawId;
using Status = SmtClaimOutcome::Status;

namespace {

constexpr int kMaxStructureCells = 64;
constexpr int kMaxRepresentatives = 8;
// Beyond polynomials no number of representatives is known to suffice; few keep Z3 quick.
constexpr int kRepresentativesOfFunctions = 3;
constexpr int kMaxTuples = 8;

struct Cell {
  std::vector<int64_t> low, length;  // of the indices of the parallel tensor
};

// What an evaluation that cuts nothing finds out.
struct Structure {
  std::vector<Cell> cells;
  bool complete = true;  // all cells were found
  BlockStarts cuts;
  std::set<TensorId> unknowns;
  int sums = 0, free = 0, maxima = 0;
  bool polynomial = true;
  bool mentions_target = false;  // the parallel side reads the claimed logical tensor itself
  std::string error;
};

// Both sides at one index of the parallel tensor. Integer tensors give an integer term.
struct Side {
  bool masked = false;
  RawId term = 0;
  int sums = 0;
};

bool EvaluateSide(SmtEvaluation* e, const lineage::Problem& problem, const Claim& claim,
                  bool parallel, bool itself, const std::vector<SmtIndex>& index, Side* out) {
  std::vector<SmtIndex> at = index;
  TensorId tensor = claim.parallel;
  if (!parallel) {
    at.clear();
    tensor = claim.target.logical;
    if (!e->Map(claim.target.map, index, &at)) return false;
  }
  if (sdfg::IsInteger(problem.logical.tensors[claim.target.logical].dtype)) {
    SmtIndex value;
    const bool ok = itself && !parallel ? e->IntegerElement(parallel, tensor, at, &value)
                                        : e->IntegerDefined(parallel, tensor, at, &value);
    if (!ok) return false;
    out->term = e->IntegerTerm(value);
    return true;
  }
  SmtValue value;
  const bool ok = itself && !parallel ? e->Element(parallel, tensor, at, &value)
                                      : e->Defined(parallel, tensor, at, &value);
  if (!ok) return false;
  *out = {value.masked, value.term, value.sums};
  return true;
}

Structure FindStructure(const lineage::Problem& problem, const Relations& relations,
                        const Claim& claim, const std::set<TensorId>& unfolded, bool itself,
                        SmtLimits limits) {
  Structure s;
  limits.max_terms *= 10;
  SmtEvaluation e(problem, relations, unfolded, nullptr, &s.cuts, limits);
  const sdfg::Shape& shape = problem.parallel.tensors[claim.parallel].shape;
  std::vector<SmtIndex> index(shape.size());
  std::vector<int> loops;
  std::function<bool(size_t)> visit = [&](size_t d) {
    if (d == shape.size()) {
      if (static_cast<int>(s.cells.size()) >= kMaxStructureCells) {
        s.complete = false;
        return true;
      }
      Side l, p;
      if (!EvaluateSide(&e, problem, claim, true, itself, index, &p)) return false;
      if (s.cells.empty()) s.mentions_target = e.unknowns().count(claim.target.logical) != 0;
      if (!EvaluateSide(&e, problem, claim, false, itself, index, &l)) return false;
      s.sums = std::max({s.sums, l.sums, p.sums});
      Cell cell;
      for (int loop : loops) {
        cell.low.push_back(e.Value(loop));
        cell.length.push_back(e.End(loop) - e.Value(loop));
      }
      s.cells.push_back(std::move(cell));
      return true;
    }
    for (int64_t value = 0; value < shape[d] && s.complete;) {
      const int loop = e.Open(value, shape[d]);
      loops.push_back(loop);
      index[d] = e.LoopIndex(loop);
      if (!visit(d + 1)) return false;
      value = e.End(loop);
      e.Close();
      loops.pop_back();
    }
    return true;
  };
  if (!visit(0)) s.error = e.error();
  for (int64_t extent : shape) s.free += extent > 1;
  s.unknowns = e.unknowns();
  s.polynomial = e.polynomial();
  s.maxima = std::min(e.maxima(), 2);
  return s;
}

// Each interval between cuts keeps single indices at its start, the rest is one block.
BlockStarts ChooseBlocks(const lineage::Problem& problem, const Structure& s, int representatives) {
  BlockStarts blocks;
  for (TensorId t : s.unknowns) {
    const sdfg::Shape& shape = problem.logical.tensors[t].shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      std::set<int64_t> starts = {0};
      auto it = s.cuts.find({t, static_cast<int>(d)});
      if (it != s.cuts.end()) starts.insert(it->second.begin(), it->second.end());
      auto& out = blocks[{t, static_cast<int>(d)}];
      for (auto at = starts.begin(); at != starts.end(); ++at) {
        const int64_t end = std::next(at) == starts.end() ? shape[d] : *std::next(at);
        for (int64_t i = *at; i < std::min(end, *at + representatives); ++i) out.insert(i);
      }
    }
  }
  return blocks;
}

// Indices of the cell to look at: pairwise different ones, and all of a dimension that is shorter
// than the bound.
std::vector<std::vector<int64_t>> Tuples(const Cell& cell, int bound, bool* complete) {
  std::vector<std::vector<int64_t>> tuples = {{}};
  int64_t offset = 0;
  int open = 0;
  for (int64_t length : cell.length) open += length > 1;
  for (size_t d = 0; d < cell.low.size(); ++d) {
    const int64_t length = cell.length[d];
    std::vector<int64_t> values = {cell.low[d] + std::min(offset, length - 1)};
    if (length > 1) ++offset;
    if (length > 1 && length < bound && open > 1) {
      if (static_cast<int64_t>(tuples.size()) * length <= kMaxTuples) {
        values.clear();
        for (int64_t i = 0; i < length; ++i) values.push_back(cell.low[d] + i);
      } else {
        *complete = false;
      }
    }
    std::vector<std::vector<int64_t>> next;
    for (const auto& tuple : tuples) {
      for (int64_t v : values) {
        next.push_back(tuple);
        next.back().push_back(v);
      }
    }
    tuples = std::move(next);
  }
  return tuples;
}

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
        values->try_emplace(t.name, std::uniform_int_distribution<int64_t>(t.low, t.high)(random));
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
  Decision(const lineage::Problem& problem, const Relations& relations, const Claim& claim,
           const SmtClaimOptions& options, const std::set<TensorId>& unfolded, bool itself)
      : problem_(problem),
        relations_(relations),
        claim_(claim),
        options_(options),
        unfolded_(unfolded),
        itself_(itself) {}

  // With `itself` the logical side is an unknown value; the answer is of use only if the parallel
  // side mentions it.
  SmtClaimOutcome Run(std::set<TensorId>* unknowns, bool* mentions_target) {
    const Structure s =
        FindStructure(problem_, relations_, claim_, unfolded_, itself_, options_.limits);
    *mentions_target = s.mentions_target;
    if (itself_ && !s.mentions_target) return out_;
    *unknowns = s.unknowns;
    if (!s.error.empty()) {
      out_.reason = s.error;
      return out_;
    }
    // One more than the bound, so that free indices never stand for more than themselves.
    const int bound = s.sums + s.free + s.maxima;
    const int most =
        s.polynomial || s.sums == 0 ? kMaxRepresentatives : kRepresentativesOfFunctions;
    out_.representatives =
        options_.representatives > 0 ? options_.representatives : std::min(bound + 1, most);
    bool complete = s.complete && (out_.representatives > bound || !s.polynomial);
    blocks_ = ChooseBlocks(problem_, s, out_.representatives);
    out_.status = Status::kEqual;
    out_.identical = out_.expressed = out_.bound_holds = true;
    out_.reason = "identical";
    const size_t step = std::max<size_t>(
        1, (s.cells.size() + options_.max_cells - 1) / std::max(options_.max_cells, 1));
    complete = complete && step == 1;
    for (size_t c = 0; c < s.cells.size() && Undecided(); c += step) {
      for (const auto& tuple : Tuples(s.cells[c], bound, &complete)) {
        Compare(tuple);
        if (!Undecided()) break;
      }
    }
    out_.bound_holds = out_.bound_holds && complete;
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
    SmtEvaluation left(problem_, relations_, unfolded_, &blocks_, nullptr, options_.limits);
    SmtEvaluation right(problem_, relations_, unfolded_, &blocks_, nullptr, options_.limits);
    Side l, p;
    if (!EvaluateSide(&left, problem_, claim_, false, itself_, index, &l) ||
        !EvaluateSide(&right, problem_, claim_, true, itself_, index, &p)) {
      out_.identical = out_.expressed = false;
      return Give(Status::kUnknown, left.error().empty() ? right.error() : left.error());
    }
    const bool unreduced = left.unreduced() && right.unreduced();
    out_.bound_holds = out_.bound_holds && left.aligned() && right.aligned() &&
                       !left.reads_integers() && !right.reads_integers() &&
                       (unreduced || (left.polynomial() && right.polynomial()));
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
    if (!(left.polynomial() && right.polynomial()) && !HasSample(q)) {
      Give(Status::kUnknown, "no values were found for which the premises hold");
    }
  }

  static std::string AsText(const std::vector<int64_t>& tuple) {
    std::string out = "[";
    for (size_t d = 0; d < tuple.size(); ++d) absl::StrAppend(&out, d > 0 ? ", " : "", tuple[d]);
    return out + "]";
  }

  const lineage::Problem& problem_;
  const Relations& relations_;
  const Claim& claim_;
  const SmtClaimOptions& options_;
  const std::set<TensorId>& unfolded_;
  const bool itself_;
  BlockStarts blocks_;
  SmtClaimOutcome out_;
  int dumped_ = 0;
};

}  // namespace

SmtClaimOutcome DecideClaimBySmt(const lineage::Problem& problem, const Relations& relations,
                                 const Claim& claim, const SmtClaimOptions& options) {
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
    SmtClaimOutcome out = Decision(problem, relations, claim, options, unfolded, true)
                              .Run(&unknowns, &mentions_target);
    if (mentions_target && out.status == Status::kEqual) return out;
    if (mentions_target) unfolded.insert(claim.target.logical);
  }
  for (int level = 0; level <= options.unfold_levels; ++level) {
    SmtClaimOutcome out = Decision(problem, relations, claim, options, unfolded, false)
                              .Run(&unknowns, &mentions_target);
    if (level == 0) first = out;
    if (out.status == Status::kEqual) return out;
    const size_t before = unfolded.size();
    for (TensorId t : unknowns) {
      if (problem.logical.tensors[t].producer != sdfg::kNone) unfolded.insert(t);
    }
    if (unfolded.size() == before) break;
  }
  return first;
}

}  // namespace planproof::stages
