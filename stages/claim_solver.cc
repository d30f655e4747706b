#include "stages/claim_solver.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "stages/zero_region.h"

namespace planproof::stages {

using sdfg::SplitRequest;
using sdfg::TensorRef;
using solver::Affine;
using solver::KindOf;
using solver::kZeroPoly;
using solver::PolyId;

namespace {
constexpr size_t kMaxMentioned = 64;
constexpr size_t kMaxRemembered = 2'000'000;  // elements, between claims
// For claims of which numbers say that they hold.
constexpr int64_t kDifferenceTermBudget = 40'000;
constexpr int kZeroUnfoldings = 8;
constexpr int64_t kZeroUnlessTermBudget = 5'000;

// The tensor is a quotient by a sum, as a softmax is: sums of it are numbers.
bool IsShareOfSum(const sdfg::Graph& graph, sdfg::TensorId t) {
  const sdfg::Tensor& tensor = graph.tensors[t];
  if (tensor.producer == sdfg::kNone) return false;
  const sdfg::Operator& op = graph.operators[tensor.producer];
  const sdfg::IndexFunction& f = *op.function;
  for (size_t o = 0; o < op.outputs.size() && o < f.outputs.size(); ++o) {
    if (op.outputs[o] != t || f.outputs[o].body == sdfg::kNoExpr) continue;
    const sdfg::Node& root = f.nodes[f.outputs[o].body];
    if (root.op == sdfg::Op::kDiv && f.nodes[root.args[1]].op == sdfg::Op::kSum) return true;
  }
  return false;
}
}  // namespace

ClaimSolver::ClaimSolver(const lineage::Problem& problem, Relations* relations, ClaimLimits limits)
    : problem_(problem), relations_(*relations), limits_(limits) {
  Forget();
}

ClaimSolver::~ClaimSolver() = default;

void ClaimSolver::Forget() {
  granted_.clear();
  open_.clear();
  evaluator_.reset();  // it listens to the arena
  arena_ = std::make_unique<solver::Arena>();
  arena_->tag_name = [this](uint32_t tag) {
    return tag < problem_.logical.tensors.size() ? problem_.logical.tensors[tag].name
                                                 : std::string("function");
  };
  for (size_t t = 0; t < problem_.logical.tensors.size(); ++t) {
    if (relations_.Positive(static_cast<sdfg::TensorId>(t))) {
      arena_->SetTagPositive(static_cast<uint32_t>(t));
    } else if (relations_.NonNegative(static_cast<sdfg::TensorId>(t))) {
      arena_->SetTagNonNegative(static_cast<uint32_t>(t));
    }
  }
  evaluator_ = std::make_unique<sdfg::SymbolicEvaluator>(
      arena_.get(), std::vector<const sdfg::Graph*>{&problem_.logical, &problem_.parallel},
      &relations_);
  evaluator_->SetExactBranches(exact_branches_);
}

ClaimSolver::CellResult ClaimSolver::DecideCell(const Claim& claim, const Cell& cell,
                                                ClaimOutcome* outcome) {
  const auto start = std::chrono::steady_clock::now();
  evaluator_->ClearFailure();
  auto failed = [&] {
    if (evaluator_->request().kind != SplitRequest::Kind::kNone) return CellResult::kSplit;
    outcome->reason = evaluator_->error();
    if (arena_->exhausted()) GiveLimit(outcome);
    return CellResult::kError;
  };
  const TensorRef p{kParallel, claim.parallel}, l{kLogical, claim.target.logical};
  const sdfg::Tensor& lt = problem_.logical.tensors[l.tensor];
  const sdfg::Tensor& pt = problem_.parallel.tensors[p.tensor];
  auto mapped = evaluator_->Map(claim.target.map, cell.index);
  if (!mapped) return failed();
  for (size_t d = 0; d < mapped->size(); ++d) {
    solver::IntRange r = arena_->RangeOf((*mapped)[d]);
    if (!r.IsBounded() || r.low < 0 || r.high >= lt.shape[d]) {
      outcome->reason = absl::StrCat("the lineage leaves dimension ", d, " of ", lt.name);
      return CellResult::kError;
    }
  }
  const bool integer = sdfg::IsInteger(lt.dtype);
  if (integer) {
    auto b = pt.producer == sdfg::kNone ? evaluator_->IntegerElement(p, cell.index)
                                        : evaluator_->IntegerDefined(p, cell.index);
    if (!b || arena_->exhausted()) return failed();
    auto a = lt.producer == sdfg::kNone ? evaluator_->IntegerElement(l, *mapped)
                                        : evaluator_->IntegerDefined(l, *mapped);
    if (!a) return failed();
    if (arena_->exhausted()) return failed();
    if (*a == *b && !a->overflow) return CellResult::kEqual;
    last_logical_ = arena_->Position(*a);
    last_parallel_ = arena_->Position(*b);
    if (arena_->IsZero(arena_->Sub(last_logical_, last_parallel_))) {
      if (outcome->method == ProofMethod::kIdentical) outcome->method = ProofMethod::kNormalForm;
      return CellResult::kEqual;
    }
  } else {
    auto b = pt.producer == sdfg::kNone ? evaluator_->Element(p, cell.index)
                                        : evaluator_->Defined(p, cell.index);
    if (!b || arena_->exhausted()) return failed();
    // The parallel side may be a copy of the logical tensor itself, element by element.
    if (lt.producer != sdfg::kNone && relations_.Of(l).kind == sdfg::Representation::Kind::kAtom) {
      const auto itself = evaluator_->Element(l, *mapped);
      if (!itself) return failed();
      if (b->value == itself->value && b->masked == kZeroPoly) return CellResult::kEqual;
    }
    const bool itself = lt.producer == sdfg::kNone || relations_.Zero(l.tensor);
    auto a = itself ? evaluator_->Element(l, *mapped) : evaluator_->Defined(l, *mapped);
    if (!a) return failed();
    if (arena_->exhausted()) return failed();
    if (a->masked != kZeroPoly && !relations_.Masked(l.tensor)) {
      outcome->reason = absl::StrCat("the logical tensor ", lt.name, " may be -infinity");
      return CellResult::kError;
    }
    outcome->evaluate_s +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (a->value == b->value && a->masked == b->masked) return CellResult::kEqual;
    if (arena_->IsZero(arena_->Sub(a->masked, b->masked))) {
      PolyId unmasked = arena_->Sub(arena_->One(), a->masked);
      PolyId difference = arena_->Mul(unmasked, arena_->Sub(a->value, b->value));
      if (arena_->IsZero(difference)) {
        if (outcome->method == ProofMethod::kIdentical) outcome->method = ProofMethod::kNormalForm;
        return CellResult::kEqual;
      }
    }
    if (relations_.Zero(l.tensor) && b->masked == kZeroPoly && IsMultiple(b->value, l, *mapped)) {
      return CellResult::kEqual;
    }
    last_logical_ = a->value;
    last_parallel_ = b->value;
  }
  if (arena_->exhausted()) return failed();
  outcome->reason = "the two terms differ";
  return CellResult::kDifferent;
}

bool ClaimSolver::IsMultiple(PolyId p, TensorRef zero, const sdfg::Indices& index) {
  const auto definition = evaluator_->Defined(zero, index);
  evaluator_->ClearFailure();
  if (!definition || definition->value == kZeroPoly || p == kZeroPoly) return false;
  const solver::Rational factor =
      arena_->poly(p).terms[0].coefficient / arena_->poly(definition->value).terms[0].coefficient;
  return arena_->IsZero(arena_->Sub(p, arena_->Scale(definition->value, factor)));
}

void ClaimSolver::CollectTags(PolyId p, std::vector<uint32_t>* tags) const {
  std::vector<PolyId> polys = {p};
  std::vector<solver::AtomId> atoms;
  std::vector<solver::MonoId> monos;
  absl::flat_hash_set<uint32_t> seen_polys, seen_atoms;
  while (!polys.empty() || !atoms.empty() || !monos.empty()) {
    if (!polys.empty()) {
      PolyId q = polys.back();
      polys.pop_back();
      if (!seen_polys.insert(q).second) continue;
      for (const auto& t : arena_->poly(q).terms) monos.push_back(t.mono);
    } else if (!monos.empty()) {
      solver::MonoId m = monos.back();
      monos.pop_back();
      for (const auto& f : arena_->mono(m).factors) atoms.push_back(f.atom);
    } else {
      solver::AtomId a = atoms.back();
      atoms.pop_back();
      if (!seen_atoms.insert(a).second) continue;
      const solver::Atom& atom = arena_->atom(a);
      if (atom.kind == solver::AtomKind::kElement) tags->push_back(atom.tag);
      for (PolyId q : atom.polys) polys.push_back(q);
      if (atom.mono != solver::kUnitMono) monos.push_back(atom.mono);
      for (const Affine& e : atom.indices) {
        for (const auto& [s, c] : e.terms) {
          if (KindOf(s) == solver::SymbolKind::kIntAtom) atoms.push_back(arena_->AtomOfIntAtom(s));
        }
      }
    }
  }
  std::sort(tags->begin(), tags->end());
  tags->erase(std::unique(tags->begin(), tags->end()), tags->end());
}

sdfg::TensorId ClaimSolver::Latest(const std::vector<uint32_t>& tags) const {
  sdfg::TensorId best = sdfg::kNone;
  for (uint32_t tag : tags) {
    const sdfg::Tensor& t = problem_.logical.tensors[tag];
    if (t.producer == sdfg::kNone) continue;
    if (best == sdfg::kNone || t.producer > problem_.logical.tensors[best].producer) {
      best = static_cast<sdfg::TensorId>(tag);
    }
  }
  return best;
}

sdfg::TensorId ClaimSolver::ToUnfold(PolyId logical, PolyId parallel) const {
  std::vector<uint32_t> a, b, only;
  CollectTags(logical, &a);
  CollectTags(parallel, &b);
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  const sdfg::TensorId choice = Latest(only);
  if (choice != sdfg::kNone) return choice;
  std::vector<uint32_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return Latest(both);
}

sdfg::TensorId ClaimSolver::ToUnfold(PolyId difference) const {
  std::vector<uint32_t> tags, shares;
  CollectTags(difference, &tags);
  for (const uint32_t tag : tags) {
    if (IsShareOfSum(problem_.logical, static_cast<sdfg::TensorId>(tag))) shares.push_back(tag);
  }
  return Latest(shares.empty() ? tags : shares);
}

bool ClaimSolver::Unfold(sdfg::TensorId choice) {
  if (choice == sdfg::kNone) return false;
  relations_.Unfold(choice);
  evaluator_->Forget();
  unfolded_any_ = true;
  return true;
}

bool ClaimSolver::IsZero(sdfg::TensorId logical) {
  Forget();  // what is remembered gives no premises; below, they stay until the end
  arena_->ResetExhausted(kDifferenceTermBudget);
  std::vector<Cell> work = {
      WholeCell(evaluator_->symbols(), problem_.logical.tensors[logical].shape)};
  int cells = 0, unfoldings = 0;
  bool zero = true;
  while (zero && !work.empty()) {
    const Cell cell = std::move(work.back());
    work.pop_back();
    evaluator_->ClearFailure();
    const auto value = evaluator_->Defined({kLogical, logical}, cell.index);
    if (!value && ++cells < limits_.max_cells && !arena_->exhausted() &&
        evaluator_->request().kind != SplitRequest::Kind::kNone &&
        Split(evaluator_->symbols(), cell, evaluator_->request(), &work)) {
      continue;
    }
    zero = value && !arena_->exhausted() && value->masked == kZeroPoly;
    if (!zero || arena_->IsZero(value->value)) continue;
    zero = ++unfoldings <= kZeroUnfoldings && Unfold(ToUnfold(value->value));
    work.push_back(cell);
  }
  zero = zero && !arena_->exhausted() && arena_->premises().empty();
  relations_.FoldAll();
  unfolded_any_ = false;
  Forget();
  return zero;
}

std::vector<sdfg::IndexMap> ClaimSolver::ZeroUnless(sdfg::TensorId logical) {
  Forget();  // what is remembered gives no premises
  arena_->ResetExhausted(kZeroUnlessTermBudget);
  evaluator_->ClearFailure();
  const Cell cell = WholeCell(evaluator_->symbols(), problem_.logical.tensors[logical].shape);
  const auto value = evaluator_->Defined({kLogical, logical}, cell.index);
  if (!value) return {};
  return ZeroRegion(*value, cell, arena_.get());
}

void ClaimSolver::SetExactBranches(bool exact) {
  exact_branches_ = exact;
  evaluator_->SetExactBranches(exact);
  evaluator_->Forget();
}

// A premise that was met in a branch that is not always taken is asked for too often, and the
// model may be defined where it does not hold. If there is one, nothing that was met is granted: it
// has to hold wherever the model is defined, its branches taken exactly; or the claim is shown with
// branches taken exactly on both sides.
ClaimOutcome ClaimSolver::Decide(const Claim& claim) {
  evaluator_->ClearPremisesInBranches();
  ClaimOutcome outcome = DecideOnce(claim);
  if (outcome.status != ClaimStatus::kProved || !evaluator_->premises_in_branches()) return outcome;
  outcome.restrictions.insert(outcome.restrictions.end(), outcome.premises.begin(),
                              outcome.premises.end());
  outcome.premises.clear();
  if (HoldsWithBranches(claim, &outcome)) return outcome;
  SetExactBranches(true);
  ClaimOutcome exact = DecideOnce(claim);
  SetExactBranches(false);
  return exact.status == ClaimStatus::kProved ? exact : outcome;
}

ClaimOutcome ClaimSolver::DecideOnce(const Claim& claim) {
  if (limits_.whole_model) return DecideInModel(claim);
  if (!limits_.open_differences) return Decide(claim, false, limits_.term_budget);
  ClaimOutcome outcome = Decide(claim, true, std::min(limits_.term_budget, kDifferenceTermBudget));
  if (outcome.status != ClaimStatus::kProved) outcome = Decide(claim, false, limits_.term_budget);
  outcome.method = ProofMethod::kUnfolded;  // also where it is read from what is known to be zero
  return outcome;
}

void ClaimSolver::NoteDifference(ClaimOutcome* outcome) {
  outcome->logical_term = arena_->ToString(last_logical_);
  outcome->parallel_term = arena_->ToString(last_parallel_);
  const PolyId difference = arena_->Sub(last_parallel_, last_logical_);
  outcome->difference = arena_->ToString(difference);
  std::vector<uint32_t> tags;
  CollectTags(difference, &tags);
  if (tags.size() > kMaxMentioned) tags.resize(kMaxMentioned);
  outcome->mentioned.assign(tags.begin(), tags.end());
}

ClaimOutcome ClaimSolver::Decide(const Claim& claim, bool open_difference, int64_t term_budget) {
  ClaimOutcome outcome;
  outcome.method = ProofMethod::kIdentical;
  arena_->ResetExhausted(term_budget);
  const sdfg::Tensor& pt = problem_.parallel.tensors[claim.parallel];
  if (std::find(pt.shape.begin(), pt.shape.end(), 0) != pt.shape.end()) {  // nothing to claim
    outcome.status = ClaimStatus::kProved;
    return outcome;
  }
  if (const sdfg::TensorId of = relations_.MultipleOf(claim.target.logical); of != sdfg::kNone) {
    relations_.Unfold(of);
    unfolded_any_ = true;
  }
  for (const sdfg::TensorId t : opened_) {
    relations_.Unfold(t);
    unfolded_any_ = true;
  }
  // What is remembered of other claims and cells is read in this one, with the premises it met.
  if (unfolded_any_ || evaluator_->remembered() > kMaxRemembered) evaluator_->Forget();
  arena_->ClearPremises();
  const Cell whole = WholeCell(evaluator_->symbols(), pt.shape);
  std::vector<Cell> work = {whole};
  int unfoldings = 0;
  while (!work.empty()) {
    Cell cell = std::move(work.back());
    work.pop_back();
    if (++outcome.cells > limits_.max_cells) {
      outcome.reason = "the claim splits into too many cells";
      outcome.limit = Limit::kWork;
      outcome.status = ClaimStatus::kFailed;
      break;
    }
    const size_t met = arena_->premises().size();
    CellResult r = DecideCell(claim, cell, &outcome);
    if (r == CellResult::kEqual) continue;
    if (r == CellResult::kSplit && Split(evaluator_->symbols(), cell, evaluator_->request(), &work))
      continue;
    if (r == CellResult::kDifferent && outcome.difference.empty()) NoteDifference(&outcome);
    if (r == CellResult::kDifferent && ++unfoldings <= limits_.max_unfoldings &&
        Unfold(open_difference ? ToUnfold(arena_->Sub(last_parallel_, last_logical_))
                               : ToUnfold(last_logical_, last_parallel_))) {
      outcome.method = ProofMethod::kUnfolded;
      arena_->RewindPremises(met);  // all that the cell reads is evaluated again
      work.push_back(std::move(cell));
      continue;
    }
    if (r == CellResult::kSplit)
      outcome.reason = "an index decision could not be made by splitting";
    for (const Affine& index : cell.index) {
      const solver::IntRange range = arena_->RangeOf(index);
      outcome.box.emplace_back(range.low, range.high + 1);
    }
    outcome.status = ClaimStatus::kFailed;
    break;
  }
  if (outcome.status == ClaimStatus::kUndecided && arena_->exhausted()) {
    outcome.status = ClaimStatus::kFailed;
    GiveLimit(&outcome);
  }
  if (outcome.status == ClaimStatus::kUndecided) {
    outcome.status = ClaimStatus::kProved;
    outcome.reason.clear();
    outcome.limit = Limit::kNone;
    outcome.logical_term.clear();
    outcome.parallel_term.clear();
    outcome.difference.clear();
    outcome.mentioned.clear();
    TakePremises(&outcome);
  }
  if (unfolded_any_) {
    relations_.FoldAll();
    evaluator_->Forget();
    unfolded_any_ = false;
  }
  if (arena_->exhausted()) Forget();
  return outcome;
}

void ClaimSolver::GiveLimit(ClaimOutcome* outcome) const {
  outcome->reason = arena_->overflown() ? "an index or a sum of this claim runs beyond 2^46"
                                        : "the terms of this claim exceed the work limit";
  if (!arena_->overflown()) outcome->limit = Limit::kWork;
}

}  // namespace planproof::stages
