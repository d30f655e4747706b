#include "sdfg/index_map.h"

#include <algorithm>
#include <utility>

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxMapPieces = 16;

// constant + sum of scale * digit
struct Sum {
  int64_t constant = 0;
  std::vector<std::pair<int64_t, IndexDigit>> digits;
};

// The indices i of one dimension at which a gate is `value`, numbered in order by i'.
class Restriction {
 public:
  // False if these indices have no simple number.
  bool Start(const IndexDigit& gate, int64_t value, int64_t extent) {
    gate_ = gate;
    value_ = value;
    whole_ = extent;
    if (gate.Most(extent) <= 0) {  // never open
      top_ = true;
      first_open_ = extent;
      extent_ = value == 0 ? extent : 0;
      return true;
    }
    int64_t period = 0;
    if (gate.Most(extent) > 1 || __builtin_mul_overflow(gate.div, int64_t{2}, &period))
      return false;
    top_ = gate.offset < gate.div && extent <= period - gate.offset;
    if (top_) {
      first_open_ = gate.div - gate.offset;
      extent_ =
          value == 0 ? std::min(extent, first_open_) : std::max<int64_t>(0, extent - first_open_);
      return true;
    }
    period_ = period;
    extent_ = extent / 2;
    return gate.offset == 0 && gate.mod == 2 && extent % period == 0;
  }
  int64_t extent() const { return extent_; }

  // The digit of i as one of i'.
  std::optional<Sum> Of(const IndexDigit& digit) const {
    if (digit.dim != gate_.dim) return Sum{0, {{1, digit}}};
    if (digit == gate_) return Sum{value_, {}};
    if (digit.offset == 0 && digit.Most(whole_) <= 0) return Sum{};
    return top_ ? InHalf(digit) : InBlocks(digit);
  }

 private:
  // i = i' or i' + first_open.
  std::optional<Sum> InHalf(const IndexDigit& digit) const {
    if (value_ == 0) return Sum{0, {{1, digit}}};
    IndexDigit moved = digit;
    if (digit.mod > 0) {
      int64_t period = 0;
      if (__builtin_mul_overflow(digit.div, digit.mod, &period)) return std::nullopt;
      moved.offset = (digit.offset + first_open_ % period) % period;
      return Sum{0, {{1, moved}}};
    }
    if (first_open_ % digit.div != 0) return std::nullopt;
    return Sum{first_open_ / digit.div, {{1, moved}}};
  }

  // i = 2 div h + div value + l with 0 <= l < div, and i' = div h + l.
  std::optional<Sum> InBlocks(const IndexDigit& digit) const {
    if (digit.offset != 0) return std::nullopt;
    int64_t end = 0;  // of the digit's period; 0: none
    if (digit.mod > 0 && __builtin_mul_overflow(digit.div, digit.mod, &end)) return std::nullopt;
    if (end > 0 && gate_.div % end == 0) return Sum{0, {{1, digit}}};  // of l
    if (digit.div % period_ == 0) {                                    // of h
      return Sum{0, {{1, {digit.dim, digit.div / 2, digit.mod, 0}}}};
    }
    if (gate_.div % digit.div != 0 || end % period_ != 0) return std::nullopt;
    const int64_t below = gate_.div / digit.div;
    Sum sum{value_ * below, {{2 * below, {digit.dim, gate_.div, end / period_, 0}}}};
    if (end == period_) sum.digits.clear();  // h modulo 1
    if (below > 1) sum.digits.push_back({1, {digit.dim, digit.div, below, 0}});
    return sum;
  }

  IndexDigit gate_;
  int64_t value_ = 0;
  bool top_ = false;  // the gate is open from one index on
  int64_t first_open_ = 0;
  int64_t whole_ = 0, period_ = 0, extent_ = 0;  // whole_: of i, extent_: of i'
};

bool AddTerm(const IndexTerm& term, IndexMap* map) {
  for (IndexTerm& other : map->terms) {
    if (other.digit() == term.digit() && other.gate == term.gate) {
      return !__builtin_add_overflow(other.scale, term.scale, &other.scale);
    }
  }
  map->terms.push_back(term);
  return true;
}

bool AddConstant(int64_t scale, int64_t value, IndexMap* map) {
  int64_t product = 0;
  return !__builtin_mul_overflow(scale, value, &product) &&
         !__builtin_add_overflow(map->constant, product, &map->constant);
}

// Adds the term, as one of i', to the map.
bool Add(const IndexTerm& term, const Restriction& restriction, IndexMap* map) {
  const std::optional<Sum> sum = restriction.Of(term.digit());
  if (!sum.has_value()) return false;
  IndexDigit gate{.dim = -1};
  if (term.gated()) {
    const std::optional<Sum> open = restriction.Of(term.gate);
    if (!open.has_value()) return false;
    if (open->digits.empty()) {
      if (open->constant == 0) return true;
    } else {
      if (open->constant != 0 || open->digits.size() != 1 || open->digits[0].first != 1) {
        return false;
      }
      gate = open->digits[0].second;
    }
  }
  for (const auto& [factor, digit] : sum->digits) {
    IndexTerm next{digit.dim, 0, digit.div, digit.mod, digit.offset, gate};
    if (__builtin_mul_overflow(term.scale, factor, &next.scale) || !AddTerm(next, map)) {
      return false;
    }
  }
  if (gate.dim < 0) return AddConstant(term.scale, sum->constant, map);
  IndexTerm alone{gate.dim, 0, gate.div, gate.mod, gate.offset};
  return !__builtin_mul_overflow(term.scale, sum->constant, &alone.scale) && AddTerm(alone, map);
}

const IndexDigit* FirstGate(const std::vector<IndexMap>& map) {
  for (const IndexMap& dim : map) {
    for (const IndexTerm& term : dim.terms) {
      if (term.gated()) return &term.gate;
    }
  }
  return nullptr;
}

std::optional<IndexMapPiece> Restricted(const IndexMapPiece& piece, const IndexDigit& gate,
                                        int64_t value) {
  Restriction restriction;
  if (!restriction.Start(gate, value, piece.extents[gate.dim])) return std::nullopt;
  IndexMapPiece part{{}, piece.extents};
  part.extents[gate.dim] = restriction.extent();
  if (restriction.extent() == 0) return part;
  for (const IndexMap& dim : piece.map) {
    IndexMap& next = part.map.emplace_back();
    next.constant = dim.constant;
    for (const IndexTerm& term : dim.terms) {
      if (!Add(term, restriction, &next)) return std::nullopt;
    }
    std::erase_if(next.terms, [](const IndexTerm& term) { return term.scale == 0; });
  }
  return part;
}

}  // namespace

std::optional<std::vector<IndexMapPiece>> PiecesOf(const std::vector<IndexMap>& map,
                                                   const Shape& extents) {
  std::vector<IndexMapPiece> pieces = {{map, extents}};
  for (size_t p = 0; p < pieces.size();) {
    const IndexDigit* const found = FirstGate(pieces[p].map);
    if (found == nullptr) {
      ++p;
      continue;
    }
    const IndexDigit gate = *found;
    std::optional<IndexMapPiece> closed = Restricted(pieces[p], gate, 0);
    std::optional<IndexMapPiece> open = Restricted(pieces[p], gate, 1);
    if (!closed.has_value() || !open.has_value() || pieces.size() == kMaxMapPieces) {
      return std::nullopt;
    }
    pieces[p] = *std::move(closed);
    if (open->extents[gate.dim] > 0) pieces.insert(pieces.begin() + p + 1, *std::move(open));
  }
  return pieces;
}

}  // namespace planproof::sdfg
