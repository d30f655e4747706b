#include "inference/tensor_match.h"

#include <algorithm>
#include <set>
#include <utility>

#include "inference/factor_guess.h"
#include "inference/index_guess.h"
#include "inference/largest_cell.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::SplitRequest;
using sdfg::SymbolicEvaluator;
using sdfg::TensorId;
using sdfg::TensorRef;
using solver::Affine;
using solver::Atom;
using solver::AtomKind;
using solver::BoundVariable;
using solver::KindOf;
using solver::PolyId;
using solver::SymbolKind;
using stages::Cell;
using stages::kLogical;
using stages::kParallel;

namespace {

constexpr size_t kMaxPolynomials = 400'000;  // in an arena, between tensors
constexpr int kMaxSplits = 600;
constexpr size_t kMaxPieces = 160;
constexpr size_t kMaxDefinitions = 12;
constexpr size_t kMaxVerified = 8;  // solutions, of one definition

// The symbols of a part of a definition. One that is a dimension by itself may run through all of
// it: other parts may continue this one.
std::vector<BoundVariable> Unknowns(const Cell& cell, const sdfg::Shape& shape) {
  std::vector<BoundVariable> unknowns = cell.symbols;
  for (BoundVariable& unknown : unknowns) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (cell.index[d] == Affine::Of(unknown.symbol)) unknown.domain = {0, shape[d]};
    }
  }
  return unknowns;
}

}  // namespace

TensorMatcher::TensorMatcher(const lineage::Problem& problem, MatchBudget budget,
                             Frontier* parallel, Candidates* candidates)
    : problem_(problem),
      parallel_(*parallel),
      candidates_(*candidates),
      logical_(problem),
      regions_(problem, &logical_, candidates),
      budget_(budget) {
  parallel_.SetZeroRegions(&regions_.known());
  logical_.SetZeroRegions(&regions_.known());
  Begin();
}

TensorMatcher::~TensorMatcher() = default;

void TensorMatcher::Begin() {
  opened_.clear();
  opened_down_to_.clear();
  values_.reset();  // they listen to the arena
  definitions_.reset();
  arena_ = std::make_unique<solver::Arena>();
  const std::vector<const sdfg::Graph*> graphs = {&problem_.logical, &problem_.parallel};
  values_ = std::make_unique<SymbolicEvaluator>(arena_.get(), graphs, &parallel_);
  definitions_ = std::make_unique<SymbolicEvaluator>(arena_.get(), graphs, &logical_);
  budget_.GrantNothing(arena_.get());
}

std::optional<TensorMatcher::Value> TensorMatcher::Evaluate(SymbolicEvaluator* evaluator,
                                                            TensorRef tensor,
                                                            const sdfg::Indices& index) {
  evaluator->ClearFailure();
  const sdfg::Graph& graph = tensor.graph == kParallel ? problem_.parallel : problem_.logical;
  Value value;
  value.integer = sdfg::IsInteger(graph.tensors[tensor.tensor].dtype);
  if (value.integer) {
    const auto element = evaluator->IntegerDefined(tensor, index);
    if (!element || arena_->exhausted()) return std::nullopt;
    value.term = arena_->Position(*element);
  } else {
    const auto element = evaluator->Defined(tensor, index);
    if (!element || arena_->exhausted() || element->masked != solver::kZeroPoly) {
      return std::nullopt;
    }
    value.term = element->value;
  }
  return value;
}

bool TensorMatcher::EvaluateLargest(SymbolicEvaluator* evaluator, TensorRef tensor,
                                    std::vector<Cell>* work, Part* part) {
  for (int splits = 0; splits < kMaxSplits && !work->empty(); ++splits) {
    part->cell = TakeLargest(work);
    if (auto value = Evaluate(evaluator, tensor, part->cell.index)) {
      part->value = *std::move(value);
      part->value.occurrences = OccurrencesIn(*arena_, part->value.term);
      return true;
    }
    // A definition is wanted in few parts.
    if (tensor.graph == kLogical) part->cell.peeled = 0;
    if (arena_->exhausted() || evaluator->request().kind == SplitRequest::Kind::kNone ||
        !stages::Split(evaluator->symbols(), part->cell, evaluator->request(), work)) {
      return false;
    }
  }
  return false;
}

bool TensorMatcher::IsCopy(const Part& part, TensorId* logical, Guess* guess) const {
  const solver::Polynomial& p = arena_->poly(part.value.term);
  if (p.terms.size() != 1) return false;
  const auto& factors = arena_->mono(p.terms[0].mono).factors;
  if (factors.size() != 1 || factors[0].exponent != solver::Exponent{}) return false;
  const Atom* atom = &arena_->atom(factors[0].atom);
  if (part.value.integer) {
    if (atom->kind != AtomKind::kPosition || !p.terms[0].coefficient.IsOne()) return false;
    const Affine& position = atom->indices[0];
    const bool id = position.constant == 0 && position.terms.size() == 1 &&
                    position.terms[0].second == 1 &&
                    KindOf(position.terms[0].first) == SymbolKind::kIntAtom;
    if (!id) return false;
    atom = &arena_->atom(arena_->AtomOfIntAtom(position.terms[0].first));
  }
  if (atom->kind != AtomKind::kElement) return false;
  for (const Affine& form : atom->indices) {
    for (const auto& term : form.terms) {
      const bool own =
          std::any_of(part.cell.symbols.begin(), part.cell.symbols.end(),
                      [s = term.first](const BoundVariable& v) { return v.symbol == s; });
      if (!own) return false;
    }
  }
  *logical = static_cast<TensorId>(atom->tag);
  guess->factor = p.terms[0].coefficient;
  guess->index = atom->indices;
  return true;
}

void TensorMatcher::OpenDownTo(const std::vector<TensorId>& values) {
  if (values == opened_down_to_) return;
  opened_down_to_ = values;
  opened_.clear();
  logical_.OpenDownTo(values);
  definitions_->Forget();
}

std::vector<TensorMatcher::Part>& TensorMatcher::DefinitionsOf(TensorId logical) {
  for (auto& [tensor, definitions] : opened_) {
    if (tensor == logical) return definitions;
  }
  std::vector<Part>& definitions = opened_.emplace_back(logical, std::vector<Part>()).second;
  const sdfg::Tensor& tensor = problem_.logical.tensors[logical];
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) {
    return definitions;
  }
  budget_.Replenish(arena_.get());
  std::vector<Cell> work = {stages::WholeCell(definitions_->symbols(), tensor.shape)};
  while (!work.empty() && definitions.size() < kMaxDefinitions) {
    Part part;
    if (!EvaluateLargest(definitions_.get(), {kLogical, logical}, &work, &part)) break;
    definitions.push_back(std::move(part));
  }
  return definitions;
}

// At the guessed index; sets the factor.
bool TensorMatcher::HasValue(const Value& value, TensorId logical, Guess* guess) {
  budget_.Replenish(arena_.get());
  const sdfg::Indices index(guess->index.begin(), guess->index.end());
  const std::optional<Value> same = Evaluate(definitions_.get(), {kLogical, logical}, index);
  if (!same.has_value()) {
    if (definitions_->request().kind != SplitRequest::Kind::kNone) split_ = definitions_->request();
    return false;
  }
  guess->factor = 1;
  if (same->term == value.term) return true;
  if (value.integer) {
    return arena_->IsZero(arena_->Sub(same->term, value.term)) && !arena_->exhausted();
  }
  for (const solver::Rational& factor :
       FactorGuesses(arena_->poly(value.term).terms, arena_->poly(same->term).terms)) {
    budget_.Replenish(arena_.get());
    const PolyId scaled = arena_->Scale(same->term, factor);
    const bool equal = scaled == value.term || arena_->IsZero(arena_->Sub(scaled, value.term));
    if (!equal || arena_->exhausted()) continue;
    guess->factor = factor;
    return true;
  }
  return false;
}

TensorMatcher::Found TensorMatcher::FindIn(Part* part, TensorId parallel, TensorId logical,
                                           Guess* guess) {
  const sdfg::Tensor& lt = problem_.logical.tensors[logical];
  if (sdfg::IsInteger(lt.dtype) != part->value.integer) return Found::kNo;
  split_ = {};
  SplitRequest wanted;
  std::vector<Part*> definitions;
  for (Part& definition : DefinitionsOf(logical)) definitions.push_back(&definition);
  std::stable_partition(definitions.begin(), definitions.end(), [&](const Part* definition) {
    return InSamePlace(*arena_, part->cell, definition->cell,
                       problem_.parallel.tensors[parallel].shape, lt.shape);
  });
  for (Part* const each : definitions) {
    Part& definition = *each;
    IndexSolver solver(*arena_, Unknowns(definition.cell, lt.shape));
    const auto found = [&](const std::vector<Occurrence>& defined,
                           const std::vector<Occurrence>& value) {
      const auto solutions = solver.Solve(defined, value);
      return HasValueAtOneOf(solutions, definition.cell, *part, parallel, logical, guess);
    };
    if (found(definition.value.occurrences, part->value.occurrences)) return Found::kYes;
    if (solver.split().has_value()) wanted = *solver.split();
    if (solver.complete()) continue;
    if (found(FromStart(&definition.value), FromStart(&part->value))) return Found::kYes;
  }
  if (split_.kind == SplitRequest::Kind::kNone) split_ = wanted;
  return split_.kind == SplitRequest::Kind::kNone ? Found::kNo : Found::kSplit;
}

const std::vector<Occurrence>& TensorMatcher::FromStart(Value* value) const {
  if (value->from_start.empty()) value->from_start = OccurrencesFromStart(*arena_, value->term);
  return value->from_start;
}

bool TensorMatcher::HasValueAtOneOf(const std::vector<IndexSolver::Solution>& solutions,
                                    const Cell& definition, const Part& part, TensorId parallel,
                                    TensorId logical, Guess* guess) {
  const sdfg::Tensor& pt = problem_.parallel.tensors[parallel];
  const sdfg::Tensor& lt = problem_.logical.tensors[logical];
  std::vector<std::pair<int64_t, std::vector<Affine>>> indices;
  for (const IndexSolver::Solution& solution : solutions) {
    auto index = IndexOf(definition, part.cell, pt.shape, lt.shape, solution);
    if (!index.has_value() || !UsesAllDimensions(*index, part.cell, pt)) continue;
    const int64_t disorder = Disorder(*index, part.cell, pt);
    indices.emplace_back(disorder, *std::move(index));
  }
  std::stable_sort(indices.begin(), indices.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (indices.size() > kMaxVerified) indices.resize(kMaxVerified);
  for (auto& [disorder, index] : indices) {
    guess->index = std::move(index);
    if (HasValue(part.value, logical, guess)) return true;
  }
  return false;
}

TensorMatcher::Found TensorMatcher::Find(Part* part, TensorId parallel, TensorMatch* match,
                                         Guess* guess) {
  if (match->logical != kNone) {
    const Found found = FindIn(part, parallel, match->logical, guess);
    return found == Found::kYes && !(guess->factor == match->factor) ? Found::kNo : found;
  }
  Found best = Found::kNo;
  SplitRequest split;
  Guess multiple;  // the nearest one that has a factor
  TensorId multiple_of = kNone;
  for (const TensorId candidate : candidate_tensors_) {
    const Found found = FindIn(part, parallel, candidate, guess);
    if (found == Found::kYes && guess->factor.IsOne()) {
      match->logical = candidate;
      return found;
    }
    if (found == Found::kYes && multiple_of == kNone) {
      multiple = *guess;
      multiple_of = candidate;
    }
    if (found == Found::kSplit && best == Found::kNo) {
      best = found;
      split = split_;
    }
  }
  split_ = split;
  if (multiple_of == kNone) return best;
  *guess = std::move(multiple);
  match->logical = multiple_of;
  match->factor = guess->factor;
  return Found::kYes;
}

bool TensorMatcher::Holds(TensorId parallel, const TensorMatch& match, std::vector<Cell> work) {
  for (int n = 0; !work.empty(); ++n) {
    if (n > kMaxSplits) return false;
    const Cell cell = std::move(work.back());
    work.pop_back();
    budget_.Replenish(arena_.get());
    const std::optional<Value> value = Evaluate(values_.get(), {kParallel, parallel}, cell.index);
    std::optional<Value> defined;
    definitions_->ClearFailure();
    if (value.has_value()) {
      const auto index = definitions_->Map(match.map, cell.index);
      if (index) defined = Evaluate(definitions_.get(), {kLogical, match.logical}, *index);
    }
    if (defined.has_value()) {
      const PolyId scaled = arena_->Scale(defined->term, match.factor);
      if (scaled != value->term && !arena_->IsZero(arena_->Sub(scaled, value->term))) return false;
      continue;
    }
    const SplitRequest& split = value.has_value() ? definitions_->request() : values_->request();
    if (arena_->exhausted() || split.kind == SplitRequest::Kind::kNone ||
        !stages::Split(values_->symbols(), cell, split, &work)) {
      return false;
    }
  }
  return true;
}

// What is computed element by element is where its operands are.
bool TensorMatcher::FitLikeOperand(TensorId parallel, TensorMatch* match) {
  const sdfg::Tensor& tensor = problem_.parallel.tensors[parallel];
  const sdfg::Shape& target = problem_.logical.tensors[match->logical].shape;
  for (const TensorId operand : problem_.parallel.operators[tensor.producer].inputs) {
    if (operand == kNone || !parallel_.Related(operand)) continue;
    const lineage::Lineage& lineage = parallel_.LineageOf(operand);
    const sdfg::Tensor& other = problem_.parallel.tensors[operand];
    if (other.shape != tensor.shape || other.axes != tensor.axes ||
        problem_.logical.tensors[lineage.logical].shape != target) {
      continue;
    }
    match->map = lineage.map;
    if (Holds(parallel, *match, {stages::WholeCell(values_->symbols(), tensor.shape)})) return true;
  }
  return false;
}

bool TensorMatcher::IsConstant(const Value& value) const {
  solver::Rational number;
  return arena_->IsConstant(value.term, &number);
}

std::optional<TensorMatch> TensorMatcher::MatchCopy(const std::vector<Part>& parts, bool scaled,
                                                    TensorId parallel) const {
  TensorMatch match;
  match.copy = true;
  std::vector<IndexPiece> pieces;
  for (const Part& part : parts) {
    TensorId logical = kNone;
    Guess guess;
    if (!IsCopy(part, &logical, &guess) || (!scaled && !guess.factor.IsOne())) return std::nullopt;
    if (pieces.empty()) {
      match.logical = logical;
      match.factor = guess.factor;
      match.values = {logical};
    }
    if (logical != match.logical || !(guess.factor == match.factor)) return std::nullopt;
    pieces.push_back({part.cell, std::move(guess.index)});
  }
  if (pieces.empty()) return std::nullopt;
  auto map = FitPieces(pieces, problem_.parallel.tensors[parallel].shape,
                       problem_.logical.tensors[match.logical].shape);
  if (!map.has_value()) return std::nullopt;
  match.map = *std::move(map);
  return match;
}

std::optional<TensorMatch> TensorMatcher::MatchDefinition(std::vector<Part> parts,
                                                          TensorId parallel) {
  const sdfg::Tensor& tensor = problem_.parallel.tensors[parallel];
  TensorMatch match;
  match.values = ValuesOf(parts);
  if (match.values.empty()) return std::nullopt;
  candidate_tensors_ = candidates_.ComputedFrom(match.values);
  if (candidate_tensors_.empty()) {
    to_open_ =
        candidates_.ToOpen(match.values, [this](TensorId t) { return parallel_.Transparent(t); });
    return std::nullopt;
  }
  std::stable_sort(candidate_tensors_.begin(), candidate_tensors_.end(),
                   [&](TensorId a, TensorId b) {
                     return Namesake(tensor.name, problem_.logical.tensors[a].name) >
                            Namesake(tensor.name, problem_.logical.tensors[b].name);
                   });
  OpenDownTo(match.values);
  std::vector<IndexPiece> pieces;
  std::vector<Cell> constant;  // masked, perhaps, or padding
  std::reverse(parts.begin(), parts.end());
  for (int splits = 0; !parts.empty();) {
    Part part = std::move(parts.back());
    parts.pop_back();
    if (IsConstant(part.value)) {
      constant.push_back(std::move(part.cell));
      continue;
    }
    Guess guess;
    const Found found = Find(&part, parallel, &match, &guess);
    if (found == Found::kYes) {
      pieces.push_back({std::move(part.cell), std::move(guess.index)});
      continue;
    }
    std::vector<Cell> work;
    if (found == Found::kNo || ++splits > kMaxSplits ||
        !stages::Split(values_->symbols(), part.cell, split_, &work)) {
      return std::nullopt;
    }
    std::vector<Part> more;
    if (!EvaluateParts(parallel, std::move(work), &more)) return std::nullopt;
    parts.insert(parts.end(), more.rbegin(), more.rend());
  }
  if (pieces.empty() || pieces.size() > kMaxPieces) return std::nullopt;
  const auto map = FitPieces(pieces, tensor.shape, problem_.logical.tensors[match.logical].shape);
  if (map.has_value()) {
    match.map = *map;
    if (constant.empty() || Holds(parallel, match, constant)) return match;
  }
  if (FitLikeOperand(parallel, &match)) return match;
  return std::nullopt;
}

bool TensorMatcher::EvaluateParts(TensorId parallel, std::vector<Cell> work,
                                  std::vector<Part>* parts) {
  budget_.Replenish(arena_.get());
  while (!work.empty()) {
    Part part;
    if (parts->size() >= kMaxPieces ||
        !EvaluateLargest(values_.get(), {kParallel, parallel}, &work, &part)) {
      return false;
    }
    parts->push_back(std::move(part));
  }
  return true;
}

std::vector<TensorId> TensorMatcher::ValuesOf(const std::vector<Part>& parts) const {
  std::set<TensorId> values;
  for (const Part& part : parts) {
    const std::vector<uint32_t> tags = TagsIn(*arena_, part.value.term);
    values.insert(tags.begin(), tags.end());
  }
  return {values.begin(), values.end()};
}

std::optional<TensorMatch> TensorMatcher::Match(TensorId parallel, MatchEffort effort) {
  budget_.BeginTensor(effort, arena_.get());
  std::optional<TensorMatch> match = MatchWithin(parallel);
  budget_.EndTensor(match.has_value(), arena_.get());
  return match;
}

std::optional<TensorMatch> TensorMatcher::MatchWithin(TensorId parallel) {
  const sdfg::Shape& shape = problem_.parallel.tensors[parallel].shape;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::nullopt;
  if (arena_->PolyCount() > kMaxPolynomials) Begin();
  const std::vector<Cell> whole = {stages::WholeCell(values_->symbols(), shape)};
  std::vector<Part> parts;
  const bool evaluated = EvaluateParts(parallel, whole, &parts);
  exceeded_ = arena_->exhausted();
  if (!evaluated) return std::nullopt;
  if (auto match = MatchCopy(parts, /*scaled=*/false, parallel)) return match;
  to_open_.clear();
  std::optional<TensorMatch> match = MatchDefinition(parts, parallel);
  for (std::vector<TensorId>& choice : std::exchange(to_open_, {})) {
    if (match.has_value()) break;
    parallel_.OpenAlso(std::move(choice));
    values_->Forget();
    std::vector<Part> opened;
    if (EvaluateParts(parallel, whole, &opened)) match = MatchDefinition(opened, parallel);
    parallel_.CloseAll();
    values_->Forget();
  }
  if (!match.has_value() && LearnZeroRegions(ValuesOf(parts))) {
    std::vector<Part> again;
    if (EvaluateParts(parallel, whole, &again)) match = MatchDefinition(again, parallel);
  }
  return match.has_value() ? match : MatchCopy(parts, /*scaled=*/true, parallel);
}

bool TensorMatcher::LearnZeroRegions(const std::vector<TensorId>& values) {
  budget_.Replenish(arena_.get());
  const bool learned = regions_.Learn(values, definitions_.get(), arena_.get());
  budget_.GrantNothing(arena_.get());
  opened_down_to_.clear();
  opened_.clear();
  definitions_->Forget();
  if (learned) values_->Forget();
  return learned;
}

}  // namespace planproof::inference
