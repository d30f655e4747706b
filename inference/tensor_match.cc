#include "inference/tensor_match.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <string>

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
using solver::Symbol;
using solver::SymbolKind;
using stages::Cell;
using stages::kLogical;
using stages::kParallel;

namespace {

constexpr int64_t kTermBudget = 60'000;
constexpr size_t kMaxPolynomials = 400'000;  // in an arena, between tensors
constexpr int kMaxSplits = 600;
constexpr size_t kMaxPieces = 160;
constexpr size_t kMaxDefinitions = 12;
constexpr size_t kMaxOpened = 5;
constexpr size_t kMaxVerified = 8;  // solutions, of one definition

double Volume(const Cell& cell) {
  double volume = 1;
  for (const BoundVariable& v : cell.symbols) volume *= static_cast<double>(v.domain.length());
  return volume;
}

Cell TakeLargest(std::vector<Cell>* work) {
  const auto largest =
      std::max_element(work->begin(), work->end(),
                       [](const Cell& a, const Cell& b) { return Volume(a) < Volume(b); });
  Cell cell = std::move(*largest);
  work->erase(largest);
  return cell;
}

// How far an index is from taking the dimensions of the parallel tensor in their order.
int64_t Disorder(const std::vector<Affine>& index, const Cell& cell, const sdfg::Tensor& parallel) {
  const int64_t shift =
      static_cast<int64_t>(parallel.shape.size()) - static_cast<int64_t>(index.size());
  int64_t disorder = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    for (const auto& [symbol, c] : index[d].terms) {
      for (size_t p = parallel.axes.size(); p < cell.index.size(); ++p) {
        if (cell.index[p].Coefficient(symbol) == 0) continue;
        disorder += std::abs(static_cast<int64_t>(p) - static_cast<int64_t>(d) - shift);
      }
    }
  }
  return disorder;
}

// How much of the parallel tensor's name is the logical one's: "stage0:grad.q@1" is called after
// "grad.q". A hint.
size_t Namesake(const std::string& parallel, const std::string& logical) {
  const size_t colon = parallel.rfind(':');
  const std::string name = colon == std::string::npos ? parallel : parallel.substr(colon + 1);
  if (name.compare(0, logical.size(), logical) != 0) return 0;
  const bool ends = name.size() == logical.size() || std::isalnum(name[logical.size()]) == 0;
  return ends ? logical.size() : 0;
}

// Whether every index of the parallel tensor's own counts: a value that is the same along a
// dimension is more likely one that is spread there than what has no such dimension by coincidence.
bool UsesAllDimensions(const std::vector<Affine>& index, const Cell& cell,
                       const sdfg::Tensor& parallel) {
  for (size_t p = parallel.axes.size(); p < cell.index.size(); ++p) {
    for (const auto& term : cell.index[p].terms) {
      const bool used = std::any_of(index.begin(), index.end(), [s = term.first](const Affine& e) {
        return e.Coefficient(s) != 0;
      });
      if (!used) return false;
    }
  }
  return true;
}

// The index of the logical tensor over the symbols of the parallel one's cell. A dimension on which
// nothing depends is taken to be the parallel tensor's own.
std::optional<std::vector<Affine>> IndexOf(const Cell& definition, const Cell& cell,
                                           const sdfg::Shape& parallel, const sdfg::Shape& logical,
                                           const IndexSolver::Solution& solution) {
  const int shift = static_cast<int>(parallel.size()) - static_cast<int>(logical.size());
  std::vector<Affine> index;
  for (size_t d = 0; d < definition.index.size(); ++d) {
    const Affine& own = definition.index[d];
    Affine form(own.constant);
    for (const auto& [symbol, c] : own.terms) {
      const auto solved = solution.find(symbol);
      if (solved != solution.end()) {
        form = form + solved->second.Scaled(c);
        continue;
      }
      const int same = static_cast<int>(d) + shift;
      const bool alike = own.terms.size() == 1 && same >= 0 && parallel[same] == logical[d];
      if (!alike) return std::nullopt;
      form = form + cell.index[same];
    }
    index.push_back(std::move(form));
  }
  return index;
}

}  // namespace

TensorMatcher::TensorMatcher(const lineage::Problem& problem, Frontier* parallel,
                             Candidates* candidates)
    : problem_(problem), parallel_(*parallel), candidates_(*candidates), logical_(problem) {
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

const std::vector<TensorMatcher::Part>& TensorMatcher::DefinitionsOf(TensorId logical) {
  for (const auto& [tensor, definitions] : opened_) {
    if (tensor == logical) return definitions;
  }
  std::vector<Part>& definitions = opened_.emplace_back(logical, std::vector<Part>()).second;
  const sdfg::Tensor& tensor = problem_.logical.tensors[logical];
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) {
    return definitions;
  }
  arena_->ResetExhausted(kTermBudget);
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
  arena_->ResetExhausted(kTermBudget);
  const sdfg::Indices index(guess->index.begin(), guess->index.end());
  const std::optional<Value> same = Evaluate(definitions_.get(), {kLogical, logical}, index);
  if (!same.has_value()) {
    if (definitions_->request().kind != SplitRequest::Kind::kNone) split_ = definitions_->request();
    return false;
  }
  guess->factor = 1;
  if (same->term == value.term) return true;
  const auto& terms = arena_->poly(value.term).terms;
  const auto& defined = arena_->poly(same->term).terms;
  if (!value.integer && !terms.empty() && !defined.empty()) {
    const solver::Rational factor = terms[0].coefficient / defined[0].coefficient;
    const PolyId scaled = arena_->Scale(same->term, factor);
    if (scaled == value.term || arena_->IsZero(arena_->Sub(scaled, value.term))) {
      guess->factor = factor;
      return !arena_->exhausted();
    }
  }
  return arena_->IsZero(arena_->Sub(same->term, value.term)) && !arena_->exhausted();
}

TensorMatcher::Found TensorMatcher::FindIn(const Part& part, TensorId parallel, TensorId logical,
                                           Guess* guess) {
  const sdfg::Tensor& pt = problem_.parallel.tensors[parallel];
  const sdfg::Tensor& lt = problem_.logical.tensors[logical];
  if (sdfg::IsInteger(lt.dtype) != part.value.integer) return Found::kNo;
  split_ = {};
  SplitRequest wanted;
  for (const Part& definition : DefinitionsOf(logical)) {
    IndexSolver solver(*arena_, definition.cell.symbols);
    std::vector<std::pair<int64_t, std::vector<Affine>>> indices;
    for (const IndexSolver::Solution& solution :
         solver.Solve(definition.value.occurrences, part.value.occurrences)) {
      auto index = IndexOf(definition.cell, part.cell, pt.shape, lt.shape, solution);
      if (!index.has_value() || !UsesAllDimensions(*index, part.cell, pt)) continue;
      const int64_t disorder = Disorder(*index, part.cell, pt);
      indices.emplace_back(disorder, *std::move(index));
    }
    std::stable_sort(indices.begin(), indices.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (indices.size() > kMaxVerified) indices.resize(kMaxVerified);
    for (auto& [disorder, index] : indices) {
      guess->index = std::move(index);
      if (HasValue(part.value, logical, guess)) return Found::kYes;
    }
    if (solver.split().has_value()) wanted = *solver.split();
  }
  if (split_.kind == SplitRequest::Kind::kNone) split_ = wanted;
  return split_.kind == SplitRequest::Kind::kNone ? Found::kNo : Found::kSplit;
}

TensorMatcher::Found TensorMatcher::Find(const Part& part, TensorId parallel, TensorMatch* match,
                                         Guess* guess) {
  const std::vector<uint32_t> tags = TagsIn(*arena_, part.value.term);
  const std::vector<TensorId> values(tags.begin(), tags.end());
  OpenDownTo(values);
  if (match->logical != kNone) {
    const Found found = FindIn(part, parallel, match->logical, guess);
    return found == Found::kYes && !(guess->factor == match->factor) ? Found::kNo : found;
  }
  match->values = values;
  Found best = Found::kNo;
  SplitRequest split;
  Guess multiple;  // the nearest one that has a factor
  TensorId multiple_of = kNone;
  std::vector<TensorId> candidates = candidates_.DeterminedBy(values);
  const std::string& name = problem_.parallel.tensors[parallel].name;
  std::stable_sort(candidates.begin(), candidates.end(), [&](TensorId a, TensorId b) {
    return Namesake(name, problem_.logical.tensors[a].name) >
           Namesake(name, problem_.logical.tensors[b].name);
  });
  for (const TensorId candidate : candidates) {
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
  if (candidates.empty() && !parallel_.OpensMore()) to_open_ = ToOpen(values);
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
    arena_->ResetExhausted(kTermBudget);
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

std::optional<TensorMatch> TensorMatcher::MatchBy(Way way, TensorId parallel) {
  const sdfg::Tensor& tensor = problem_.parallel.tensors[parallel];
  TensorMatch match;
  std::vector<IndexPiece> pieces;
  std::vector<Cell> constant;  // masked, perhaps, or padding
  std::vector<Cell> work = {stages::WholeCell(values_->symbols(), tensor.shape)};
  for (int splits = 0; !work.empty() && pieces.size() < kMaxPieces;) {
    arena_->ResetExhausted(kTermBudget);
    Part part;
    if (!EvaluateLargest(values_.get(), {kParallel, parallel}, &work, &part)) return std::nullopt;
    solver::Rational number;
    if (arena_->IsConstant(part.value.term, &number)) {
      if (way != Way::kDefinition) return std::nullopt;
      constant.push_back(std::move(part.cell));
      continue;
    }
    Guess guess;
    Found found = Found::kNo;
    if (way == Way::kDefinition) {
      found = Find(part, parallel, &match, &guess);
    } else {
      TensorId logical = kNone;
      if (!IsCopy(part, &logical, &guess)) return std::nullopt;
      if (pieces.empty()) {
        match.logical = logical;
        match.factor = guess.factor;
        match.values = {logical};
        match.copy = true;
      }
      const bool one = way == Way::kScaledCopy || guess.factor.IsOne();
      if (one && logical == match.logical && guess.factor == match.factor) found = Found::kYes;
    }
    if (found == Found::kYes) {
      pieces.push_back({std::move(part.cell), std::move(guess.index)});
    } else if (getenv("PP_DEBUG") && found == Found::kNo) {
      fprintf(stderr, "   no match: %s; candidates",
              arena_->ToString(part.value.term, 600).c_str());
      for (auto& [c, d] : opened_) {
        fprintf(stderr, " %s{", problem_.logical.tensors[c].name.c_str());
        for (auto& d2 : d) fprintf(stderr, "%s;", arena_->ToString(d2.value.term, 300).c_str());
        fprintf(stderr, "}");
      }
      fprintf(stderr, "\n");
      return std::nullopt;
    } else if (found == Found::kNo || ++splits > kMaxSplits ||
               !stages::Split(values_->symbols(), part.cell, split_, &work)) {
      return std::nullopt;
    }
  }
  if (pieces.empty()) return std::nullopt;
  auto map = FitPieces(pieces, tensor.shape, problem_.logical.tensors[match.logical].shape);
  if (map.has_value()) {
    match.map = *std::move(map);
    if (constant.empty() || Holds(parallel, match, constant)) return match;
  }
  if (way == Way::kDefinition && FitLikeOperand(parallel, &match)) return match;
  return std::nullopt;
}

std::optional<TensorMatch> TensorMatcher::Match(TensorId parallel) {
  const sdfg::Shape& shape = problem_.parallel.tensors[parallel].shape;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::nullopt;
  if (arena_->PolyCount() > kMaxPolynomials) Begin();
  if (auto match = MatchBy(Way::kCopy, parallel)) return match;
  to_open_.clear();
  std::optional<TensorMatch> match = MatchBy(Way::kDefinition, parallel);
  if (!match.has_value() && !to_open_.empty()) {
    parallel_.OpenAlso(to_open_);
    values_->Forget();
    match = MatchBy(Way::kDefinition, parallel);
    parallel_.CloseAll();
    values_->Forget();
  }
  return match.has_value() ? match : MatchBy(Way::kScaledCopy, parallel);
}

// Where nothing is computed from the values of a term alone: a few of them with which opened, and
// what is then redundant, something is, from all that is left.
std::vector<TensorId> TensorMatcher::ToOpen(const std::vector<TensorId>& values) {
  std::vector<TensorId> computed;
  for (const TensorId value : values) {
    if (problem_.logical.tensors[value].producer != kNone) computed.push_back(value);
  }
  if (computed.size() > kMaxOpened) return {};
  std::vector<uint32_t> subsets;
  for (uint32_t subset = 1; subset < (uint32_t{1} << computed.size()); ++subset) {
    subsets.push_back(subset);
  }
  std::stable_sort(subsets.begin(), subsets.end(),
                   [](uint32_t a, uint32_t b) { return std::popcount(a) < std::popcount(b); });
  for (const uint32_t subset : subsets) {
    std::vector<TensorId> opened;
    for (size_t k = 0; k < computed.size(); ++k) {
      if ((subset >> k & 1) != 0) opened.push_back(computed[k]);
    }
    std::vector<TensorId> rest = WithOpened(values, opened);
    const std::vector<TensorId> redundant = Redundant(rest);
    for (const TensorId r : redundant) rest.erase(std::find(rest.begin(), rest.end(), r));
    for (const TensorId candidate : candidates_.DeterminedBy(rest)) {
      if (!candidates_.NeedsAll(candidate, rest)) continue;
      opened.insert(opened.end(), redundant.begin(), redundant.end());
      return opened;
    }
  }
  return {};
}

std::vector<TensorId> TensorMatcher::WithOpened(std::vector<TensorId> values,
                                                const std::vector<TensorId>& opened) {
  for (const TensorId o : opened) values.erase(std::find(values.begin(), values.end(), o));
  std::vector<TensorId> work = opened;
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    for (const TensorId operand : candidates_.OperandsOf(t)) {
      const bool through = parallel_.Transparent(operand) ||
                           std::find(opened.begin(), opened.end(), operand) != opened.end();
      if (through) {
        work.push_back(operand);
      } else if (std::find(values.begin(), values.end(), operand) == values.end()) {
        values.push_back(operand);
      }
    }
  }
  return values;
}

std::vector<TensorId> TensorMatcher::Redundant(const std::vector<TensorId>& values) {
  std::vector<TensorId> rest = values, redundant;
  for (const TensorId value : values) {
    if (problem_.logical.tensors[value].producer == kNone || rest.size() == 1) continue;
    std::vector<TensorId> others = rest;
    others.erase(std::find(others.begin(), others.end(), value));
    const std::vector<TensorId> determined = candidates_.DeterminedBy(others);
    if (std::find(determined.begin(), determined.end(), value) == determined.end()) continue;
    redundant.push_back(value);
    rest = std::move(others);
  }
  return redundant;
}

}  // namespace planproof::inference
