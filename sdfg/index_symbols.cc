#include "sdfg/index_symbols.h"

namespace planproof::sdfg {

using solver::Affine;
using solver::Interval;
using solver::Symbol;

IndexSymbols::Name IndexSymbols::NameOf(Origin origin, uint32_t of, int64_t stride) {
  const uint64_t place = (static_cast<uint64_t>(origin) << 32) | of;
  return names_.try_emplace({place, stride}, static_cast<Name>(names_.size())).first->second;
}

IndexSymbols::Name IndexSymbols::NameOf(Symbol symbol) {
  const auto found = name_of_.find(symbol);
  return found != name_of_.end() ? found->second : NameOf(Origin::kForeign, symbol);
}

Symbol IndexSymbols::Named(Name name, Interval range) {
  const auto [at, fresh] = symbols_.try_emplace({name, {range.lo, range.hi}}, Symbol{0});
  if (!fresh) return at->second;
  const Symbol symbol = arena_.NewFree(range.lo, range.hi - 1);
  at->second = symbol;
  name_of_.emplace(symbol, name);
  // A range beyond the limits exhausts the arena each time it is asked for.
  if (arena_.overflown()) symbols_.erase(at);
  return symbol;
}

Symbol IndexSymbols::OfDimension(size_t dimension, Interval range) {
  return Named(NameOf(Origin::kDimension, static_cast<uint32_t>(dimension)), range);
}

Symbol IndexSymbols::OfBinder(int depth, Interval range) {
  return Named(NameOf(Origin::kBinder, static_cast<uint32_t>(depth)), range);
}

void IndexSymbols::Add(Name name, Interval range, int64_t stride, SplitPart* part) {
  if (range.length() == 1) {
    part->replacement = part->replacement + Affine(range.lo * stride);
    return;
  }
  const Symbol symbol = Named(name, range);
  part->replacement = part->replacement + Affine::Of(symbol, stride);
  part->variables.push_back({symbol, range});
}

std::vector<SplitPart> IndexSymbols::Split(const SplitRequest& request, Interval range) {
  const Name whole = NameOf(request.symbol);
  std::vector<SplitPart> parts;
  const auto piece = [&](int64_t from, int64_t to) {
    if (from < to) Add(whole, {from, to}, 1, &parts.emplace_back());
  };
  if (request.kind == SplitRequest::Kind::kCut) {
    piece(range.lo, request.at);
    piece(request.at, range.hi);
    return parts;
  }
  const int64_t s = request.at;
  const int64_t first = solver::CeilDiv(range.lo, s), last = solver::FloorDiv(range.hi, s);
  if (first >= last) {
    piece(range.lo, first * s);
    piece(first * s, range.hi);
    return parts;
  }
  piece(range.lo, first * s);
  piece(last * s, range.hi);
  SplitPart& digits = parts.emplace_back();
  Add(NameOf(Origin::kHighDigit, whole, s), {first, last}, s, &digits);
  Add(NameOf(Origin::kLowDigit, whole, s), {0, s}, 1, &digits);
  return parts;
}

}  // namespace planproof::sdfg
