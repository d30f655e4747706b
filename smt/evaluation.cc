#include "smt/evaluation.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sdfg/types.h"
#include "smt/application.h"

namespace planproof::smt {

using sdfg::kNone;
using sdfg::TensorId;
using solver::RawId;
using solver::RawOp;

namespace {

constexpr int kMaxDefinitionDepth = 60;
constexpr int64_t kUnboundedGuard = int64_t{1} << 60;
// A digit of an index is enumerated so that blocks align with it, up to this many values.
constexpr int64_t kMaxEnumerated = 16;

std::string VariableName(const sdfg::Tensor& t, TensorId id) {
  std::string name;
  for (char c : t.name) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    name += plain ? c : '_';
  }
  return absl::StrCat(name, "#", id);
}

}  // namespace

SmtEvaluation::SmtEvaluation(const lineage::Problem& problem, const stages::Relations& relations,
                             const std::set<TensorId>& unfolded, const BlockStarts& blocks,
                             SmtAlignment* alignment, const SmtLimits& limits)
    : problem_(problem),
      relations_(relations),
      unfolded_(unfolded),
      blocks_(blocks),
      alignment_(alignment),
      limits_(limits) {
  using Kind = lineage::Problem::InputPremise::Kind;
  for (const auto& premise : problem.premises) {
    if (premise.kind == Kind::kPositive) sign_[premise.tensor] = 1;
    if (premise.kind == Kind::kNonNegative) sign_.try_emplace(premise.tensor, 2);
    if (premise.kind == Kind::kNonZero) sign_.try_emplace(premise.tensor, 3);
  }
}

SmtEvaluation::~SmtEvaluation() = default;

bool SmtEvaluation::Fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
  return false;
}

int SmtEvaluation::Open(int64_t value, int64_t extent) {
  loops_.push_back({runs_++, value, extent, {}});
  return static_cast<int>(loops_.size()) - 1;
}

void SmtEvaluation::Close() {
  Loop loop = std::move(loops_.back());
  loops_.pop_back();
  const int64_t length = loop.end - loop.value;
  if (length != 1) unreduced_ = false;
  for (const Loop::Read& read : loop.reads) {
    if (read.block_length == length) continue;
    aligned_ = false;
    if (alignment_ == nullptr) continue;
    const int64_t first = read.reversed ? read.at - (length - 1) : read.at;
    auto& cuts = alignment_->cuts[{read.tensor, read.dim}];
    cuts.insert(first);
    cuts.insert(first + length);
  }
}

SmtIndex SmtEvaluation::LoopIndex(int loop) const {
  SmtIndex out;
  out.terms.push_back({loop, 1});
  return out;
}

int64_t SmtEvaluation::Low(const SmtIndex& e) const {
  int64_t value = e.constant;
  for (const auto& [loop, c] : e.terms) value += c * loops_[loop].value;
  return value;
}

void SmtEvaluation::Bounds(const SmtIndex& e, int64_t* low, int64_t* high) const {
  *low = *high = e.constant;
  for (const auto& [loop, c] : e.terms) {
    const int64_t first = c * loops_[loop].value, last = c * (loops_[loop].end - 1);
    *low += std::min(first, last);
    *high += std::max(first, last);
  }
}

void SmtEvaluation::Guard(const SmtIndex& e, int64_t low, int64_t high) {
  for (size_t round = 0; round <= e.terms.size(); ++round) {
    int64_t least, most;
    Bounds(e, &least, &most);
    if (least >= low && most < high) return;
    // Shorten the loop with the largest coefficient for which that suffices.
    int best = -1;
    int64_t best_coefficient = 0, best_end = 0;
    int innermost = -1;
    for (const auto& [loop, c] : e.terms) {
      const Loop& l = loops_[loop];
      if (l.end - l.value <= 1) continue;
      innermost = std::max(innermost, loop);
      const int64_t first = c * l.value, last = c * (l.end - 1);
      const int64_t rest_low = least - std::min(first, last);
      const int64_t rest_high = most - std::max(first, last);
      if (rest_low + first < low || rest_high + first >= high) continue;
      // rest + first + c * k in range for k = 0 .. steps.
      const int64_t steps =
          c > 0 ? (high - 1 - rest_high - first) / c : (rest_low + first - low) / -c;
      if (best < 0 || std::abs(c) > best_coefficient) {
        best = loop;
        best_coefficient = std::abs(c);
        best_end = l.value + steps + 1;
      }
    }
    if (best >= 0) {
      loops_[best].end = std::min(loops_[best].end, best_end);
      return;
    }
    if (innermost < 0) return;
    loops_[innermost].end = loops_[innermost].value + 1;
  }
}

int64_t SmtEvaluation::Exact(const SmtIndex& e) {
  for (const auto& term : e.terms) loops_[term.first].end = loops_[term.first].value + 1;
  return Low(e);
}

SmtIndex SmtEvaluation::Symbolic(RawId term) const {
  SmtIndex out;
  out.symbolic = true;
  out.term = term;
  return out;
}

RawId SmtEvaluation::IntegerTerm(const SmtIndex& index) {
  return index.symbolic ? index.term : arena_.Integer(Exact(index));
}

SmtIndex SmtEvaluation::Sum(const SmtIndex& a, const SmtIndex& b) {
  if (a.symbolic || b.symbolic) {
    return Symbolic(arena_.Make(RawOp::kIntAdd, {IntegerTerm(a), IntegerTerm(b)}));
  }
  SmtIndex out = a;
  out.constant += b.constant;
  for (const auto& [loop, c] : b.terms) {
    bool found = false;
    for (auto& term : out.terms) {
      if (term.first == loop) term.second += c, found = true;
    }
    if (!found) out.terms.push_back({loop, c});
  }
  for (size_t k = out.terms.size(); k-- > 0;) {
    if (out.terms[k].second == 0) out.terms.erase(out.terms.begin() + k);
  }
  return out;
}

SmtIndex SmtEvaluation::Scaled(const SmtIndex& a, int64_t factor) {
  if (a.symbolic) {
    return Symbolic(arena_.Add({RawOp::kIntScale, {}, "", factor, 0, {a.term}}));
  }
  SmtIndex out;
  out.constant = a.constant * factor;
  if (factor == 0) return out;
  for (const auto& [loop, c] : a.terms) out.terms.push_back({loop, c * factor});
  return out;
}

bool SmtEvaluation::DivMod(const SmtIndex& e, int64_t divisor, SmtIndex* quotient,
                           SmtIndex* remainder) {
  if (divisor <= 0) return Fail("a divisor of an index is not positive");
  if (e.symbolic) {
    *quotient = Symbolic(arena_.Add({RawOp::kIntDiv, {}, "", divisor, 0, {e.term}}));
    *remainder = Symbolic(arena_.Add({RawOp::kIntMod, {}, "", divisor, 0, {e.term}}));
    return true;
  }
  SmtIndex whole, rest;
  whole.constant = solver::FloorDiv(e.constant, divisor);
  rest.constant = solver::FloorMod(e.constant, divisor);
  for (const auto& [loop, c] : e.terms) {
    const int64_t q = solver::FloorDiv(c, divisor), r = solver::FloorMod(c, divisor);
    if (q != 0) whole.terms.push_back({loop, q});
    if (r != 0) rest.terms.push_back({loop, r});
  }
  const int64_t carry = solver::FloorDiv(Low(rest), divisor);
  Guard(rest, carry * divisor, (carry + 1) * divisor);
  whole.constant += carry;
  rest.constant -= carry * divisor;
  *quotient = std::move(whole);
  *remainder = std::move(rest);
  return true;
}

bool SmtEvaluation::Digit(const sdfg::IndexDigit& digit, const std::vector<SmtIndex>& index,
                          SmtIndex* out) {
  SmtIndex i = index[digit.dim], shift, q, r;
  shift.constant = digit.offset;
  if (digit.offset != 0) i = Sum(i, shift);
  if (digit.div != 1) {
    if (!DivMod(i, digit.div, &q, &r)) return false;
    i = q;
  }
  if (digit.mod != 0) {
    if (!DivMod(i, digit.mod, &q, &r)) return false;
    i = r;
  }
  *out = std::move(i);
  return true;
}

bool SmtEvaluation::Map(const std::vector<sdfg::IndexMap>& map, const std::vector<SmtIndex>& index,
                        std::vector<SmtIndex>* out) {
  for (const sdfg::IndexMap& m : map) {
    SmtIndex value;
    value.constant = m.constant;
    for (const sdfg::IndexTerm& t : m.terms) {
      SmtIndex digit;
      if (t.gated()) {
        if (!Digit(t.gate, index, &digit)) return false;
        if (digit.symbolic) return Fail("a gate of an index map depends on data");
        const int64_t open = Low(digit);
        Guard(digit, open, open + 1);
        if (open == 0) continue;
        if (open != 1) return Fail("a gate of an index map is neither 0 nor 1");
      }
      if (!Digit(t.digit(), index, &digit)) return false;
      value = Sum(value, Scaled(digit, t.scale));
    }
    out->push_back(std::move(value));
  }
  return true;
}

// For an index with several open loops: all of them one value at a time but the one of smallest
// stride, and that one, too, if it skips indices. So blocks align with a digit or a coordinate.
void SmtEvaluation::TakeDigitsOneByOne(const SmtIndex& e) {
  int whole = -1;
  int64_t stride = 0;
  for (const auto& [loop, c] : e.terms) {
    if (loops_[loop].end - loops_[loop].value <= 1) continue;
    if (whole >= 0 && std::abs(c) >= stride) continue;
    whole = loop;
    stride = std::abs(c);
  }
  int64_t values = 1;
  for (const auto& [loop, c] : e.terms) {
    if (loop == whole && stride == 1) continue;
    const int64_t length = loops_[loop].end - loops_[loop].value;
    if (length > kMaxEnumerated / values) return;
    values *= length;
  }
  for (const auto& [loop, c] : e.terms) {
    if (loop != whole || stride != 1) loops_[loop].end = loops_[loop].value + 1;
  }
}

// The first index of the block that the element lies in.
int64_t SmtEvaluation::ReadAt(TensorId tensor, int dim, const SmtIndex& e) {
  if (alignment_ != nullptr) TakeDigitsOneByOne(e);
  int64_t first = 0, last = problem_.logical.tensors[tensor].shape[dim];
  if (auto it = blocks_.find({tensor, dim}); it != blocks_.end()) {
    auto next = it->second.upper_bound(Low(e));
    if (next != it->second.end()) last = *next;
    if (next != it->second.begin()) first = std::max(first, *std::prev(next));
  }
  Guard(e, first, last);
  int open = 0;
  int64_t coefficient = 0;
  int inner = -1;
  for (const auto& [loop, c] : e.terms) {
    if (loops_[loop].end - loops_[loop].value <= 1) continue;
    ++open;
    inner = loop;
    coefficient = c;
  }
  if (open == 1 && std::abs(coefficient) == 1) {
    const bool reversed = coefficient < 0;
    loops_[inner].reads.push_back({last - first, Low(e), reversed, tensor, dim});
    if (alignment_ != nullptr && last - first > 1) {
      alignment_->links.push_back({loops_[inner].run, tensor, dim, first, last - first, reversed});
    }
  } else if (open > 0) {
    aligned_ = false;
    if (alignment_ != nullptr) alignment_->scattered.insert({tensor, dim});
  } else if (last - first > 1) {
    aligned_ = false;
    if (alignment_ != nullptr) {
      auto& cuts = alignment_->cuts[{tensor, dim}];
      cuts.insert(Low(e));
      cuts.insert(Low(e) + 1);
    }
  }
  return first;
}

bool SmtEvaluation::Unknown(TensorId tensor, const std::vector<SmtIndex>& index, bool integer,
                            RawId* out) {
  const sdfg::Tensor& t = problem_.logical.tensors[tensor];
  if (index.size() != t.shape.size()) return Fail("an index does not fit its tensor");
  unknowns_.insert(tensor);
  // Candidates per dimension: one block, or all blocks under a condition on unknown integers.
  std::vector<std::vector<std::pair<int64_t, RawId>>> choices;
  for (size_t d = 0; d < index.size(); ++d) {
    const SmtIndex& e = index[d];
    if (!e.symbolic) {
      const int64_t low = Low(e);
      if (low < 0 || low >= t.shape[d]) {  // excluded by a condition that is 0 there
        if (low < 0) Guard(e, -kUnboundedGuard, 0);
        if (low >= 0) Guard(e, t.shape[d], kUnboundedGuard);
        *out = integer ? arena_.Integer(0) : arena_.Constant(0);
        return true;
      }
      Guard(e, 0, t.shape[d]);
      choices.push_back({{ReadAt(tensor, static_cast<int>(d), e), -1}});
      continue;
    }
    reads_integers_ = true;
    std::set<int64_t> starts = {0};
    if (auto it = blocks_.find({tensor, static_cast<int>(d)}); it != blocks_.end()) {
      starts.insert(it->second.begin(), it->second.end());
    }
    std::vector<std::pair<int64_t, RawId>> blocks;
    for (int64_t start : starts) {
      if (start >= t.shape[d]) continue;
      // Below the next start; the last block has no condition.
      auto next = starts.upper_bound(start);
      RawId condition = -1;
      if (next != starts.end() && *next < t.shape[d]) {
        condition = arena_.Make(RawOp::kIntLess, {e.term, arena_.Integer(*next)});
      }
      blocks.push_back({start, condition});
    }
    choices.push_back(std::move(blocks));
  }
  const std::string base = VariableName(t, tensor);
  std::vector<int64_t> at;
  size_t total = 1;
  for (const auto& c : choices) total *= c.size();
  if (total > 256) return Fail("an element read at unknown indices has too many cases");
  // Nested from the last dimension inwards; few dimensions have more than one choice.
  auto build = [&](auto& self, size_t d) -> RawId {
    if (d == choices.size()) {
      std::string name = base;
      for (int64_t i : at) absl::StrAppend(&name, "_", i);
      solver::RawTerm v;
      v.name = std::move(name);
      if (integer) {
        const solver::IntRange range = relations_.IntRangeOf(tensor);
        v.op = RawOp::kIntVariable;
        v.low = std::max(range.low, -kUnboundedGuard);
        v.high = std::min(range.high, kUnboundedGuard);
      } else {
        v.op = RawOp::kVariable;
        auto sign = sign_.find(tensor);
        if (sign != sign_.end()) v.low = sign->second;
      }
      return arena_.Add(std::move(v));
    }
    RawId result = -1;
    for (size_t k = choices[d].size(); k-- > 0;) {
      at.push_back(choices[d][k].first);
      const RawId value = self(self, d + 1);
      at.pop_back();
      result = result < 0 ? value
                          : arena_.Make(integer ? RawOp::kIntIte : RawOp::kIte,
                                        {choices[d][k].second, value, result});
    }
    return result;
  };
  *out = build(build, 0);
  if (integer) reads_integers_ = true;
  return true;
}

bool SmtEvaluation::Element(bool parallel, TensorId tensor, const std::vector<SmtIndex>& index,
                            SmtValue* out) {
  const sdfg::Graph& graph = parallel ? problem_.parallel : problem_.logical;
  const sdfg::Tensor& t = graph.tensors[tensor];
  *out = SmtValue{};
  if (t.role == sdfg::TensorRole::kOne || t.role == sdfg::TensorRole::kZero) {
    out->term = arena_.Constant(t.role == sdfg::TensorRole::kOne ? 1 : 0);
    return true;
  }
  if (parallel) {
    if (!relations_.Related(tensor)) return Defined(true, tensor, index, out);
    const lineage::Lineage& l = problem_.lineage[tensor];
    std::vector<SmtIndex> mapped;
    return Map(l.map, index, &mapped) && Element(false, l.logical, mapped, out);
  }
  if (relations_.Zero(tensor)) {
    out->term = arena_.Constant(0);
    return true;
  }
  const bool open = relations_.Inlined(tensor) || unfolded_.count(tensor) != 0;
  if (t.producer != kNone && open) return Defined(false, tensor, index, out);
  if (sdfg::IsInteger(t.dtype)) {
    RawId integer;
    if (!Unknown(tensor, index, true, &integer)) return false;
    out->term = arena_.Make(RawOp::kToReal, {integer});
    return true;
  }
  return Unknown(tensor, index, false, &out->term);
}

bool SmtEvaluation::IntegerElement(bool parallel, TensorId tensor,
                                   const std::vector<SmtIndex>& index, SmtIndex* out) {
  const sdfg::Graph& graph = parallel ? problem_.parallel : problem_.logical;
  const sdfg::Tensor& t = graph.tensors[tensor];
  *out = SmtIndex{};
  if (t.role == sdfg::TensorRole::kOne || t.role == sdfg::TensorRole::kZero) {
    out->constant = t.role == sdfg::TensorRole::kOne;
    return true;
  }
  if (parallel) {
    if (!relations_.Related(tensor)) return IntegerDefined(true, tensor, index, out);
    const lineage::Lineage& l = problem_.lineage[tensor];
    std::vector<SmtIndex> mapped;
    return Map(l.map, index, &mapped) && IntegerElement(false, l.logical, mapped, out);
  }
  const bool open = relations_.Inlined(tensor) || unfolded_.count(tensor) != 0;
  if (t.producer != kNone && open) return IntegerDefined(false, tensor, index, out);
  RawId term;
  if (!Unknown(tensor, index, true, &term)) return false;
  *out = Symbolic(term);
  return true;
}

bool SmtEvaluation::Defined(bool parallel, TensorId tensor, const std::vector<SmtIndex>& index,
                            SmtValue* out) {
  const sdfg::Graph& graph = parallel ? problem_.parallel : problem_.logical;
  const sdfg::Tensor& t = graph.tensors[tensor];
  if (t.producer == kNone) {
    if (parallel && !relations_.Related(tensor)) return Fail("a tensor has no definition");
    return Element(parallel, tensor, index, out);
  }
  if (++depth_ > kMaxDefinitionDepth) return Fail("definitions are nested too deeply");
  SmtApplication application(this, parallel, t, index);
  const bool ok = application.Real(t.producer_output, out);
  --depth_;
  return ok;
}

bool SmtEvaluation::IntegerDefined(bool parallel, TensorId tensor,
                                   const std::vector<SmtIndex>& index, SmtIndex* out) {
  const sdfg::Graph& graph = parallel ? problem_.parallel : problem_.logical;
  const sdfg::Tensor& t = graph.tensors[tensor];
  if (t.producer == kNone) {
    if (parallel && !relations_.Related(tensor)) return Fail("a tensor has no definition");
    return IntegerElement(parallel, tensor, index, out);
  }
  if (++depth_ > kMaxDefinitionDepth) return Fail("definitions are nested too deeply");
  SmtApplication application(this, parallel, t, index);
  const bool ok = application.Integer(t.producer_output, out);
  --depth_;
  return ok;
}

// The variables that each node depends on, bound ones excluded.
const std::vector<std::vector<sdfg::VarId>>& SmtEvaluation::Dependencies(
    const sdfg::IndexFunction& function) {
  auto [it, inserted] = dependencies_.try_emplace(&function);
  if (inserted) {
    auto& all = it->second;
    all.resize(function.nodes.size());
    for (size_t id = 0; id < function.nodes.size(); ++id) {
      const sdfg::Node& node = function.nodes[id];
      std::set<sdfg::VarId> vars;
      for (sdfg::ExprId a : node.args) vars.insert(all[a].begin(), all[a].end());
      if (node.op == sdfg::Op::kIndex) {
        vars.insert(node.var);
      } else if (node.var >= 0) {
        vars.erase(node.var);
      }
      all[id].assign(vars.begin(), vars.end());
    }
  }
  return it->second;
}

}  // namespace planproof::smt
