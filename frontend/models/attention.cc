#include "frontend/models/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/models/blocks.h"

namespace planproof::models {
namespace {

Value Scaled(const Attention& attention, Value scores, const std::string& suffix,
             Emitter* emitter) {
  const std::string scale =
      absl::StrFormat("%.17g", 1 / std::sqrt(static_cast<double>(attention.head_size)));
  const std::string name = attention.prefix + "scaled";
  return emitter->Apply({"mul", {scores, scale}},
                        {name, emitter->DimsOf(scores), false, false, name + suffix});
}

// Where the queries of a block begin, counted from its first key.
Call WithStart(Call call, const Dims& scores, const Emitter& emitter) {
  const Dim& queries = scores[scores.size() - 2];
  const Dim& keys = scores.back();
  if (queries.over.empty()) return call;
  const std::string start = emitter.layout().StartOf(queries);
  call.attributes.emplace_back(
      "start", Expression{keys.over.empty()
                              ? start
                              : absl::StrCat(start, " - (", emitter.layout().StartOf(keys), ")")});
  return call;
}

Value OverAllKeys(const Attention& attention, Emitter* emitter) {
  std::vector<Value> keys;
  for (Value key : attention.keys) keys.push_back(emitter->GatherContext(key, 1));
  const Value values = emitter->GatherContext(attention.values, 1);
  const Value scores = attention.scores(keys, emitter->DimsOf(values)[1], "");
  const Value scaled = Scaled(attention, scores, "", emitter);
  const Dims dims = emitter->DimsOf(scaled);
  const Value masked = emitter->Apply(WithStart({"causal_mask", {scaled}}, dims, *emitter),
                                      {attention.prefix + "masked", dims});
  const Value weights = emitter->Apply({"softmax", {masked}, {{"dim", int64_t{-1}}}},
                                       {attention.prefix + "weights", dims});
  return Einsum(absl::StrCat(attention.weights_letters, ",", attention.values_letters, "->",
                             attention.mixed_letters),
                {weights, values}, {attention.prefix + "mixed", attention.mixed}, emitter);
}

// The softmax's denominator and numerator over the blocks that a rank has seen, both relative to
// exp of the largest score.
class OnlineSoftmax {
 public:
  OnlineSoftmax(const Attention& attention, Emitter* emitter)
      : attention_(attention), emitter_(*emitter) {
    rows_ = attention.weights_letters.substr(0, attention.weights_letters.size() - 1);
    sums_ = rows_ + attention.mixed_letters.back();
  }

  void Add(Value scaled, Value values, const std::string& suffix) {
    const Dims block = emitter_.DimsOf(scaled);
    Dims row = block;
    row.pop_back();
    Dims sum = row;
    sum.push_back(emitter_.DimsOf(values).back());
    const auto out = [&](const char* name, const Dims& dims) {
      return Out{absl::StrCat(attention_.prefix, name, suffix), dims, false, /*local=*/true};
    };
    const bool first = maximum_ == kNoValue;
    Call most = first ? Call{"online_max_first", {scaled}, {}, /*stop_gradient=*/true}
                      : Call{"online_max", {scaled, maximum_}, {}, /*stop_gradient=*/true};
    const Value before = maximum_;
    maximum_ = emitter_.Apply(WithStart(std::move(most), block, emitter_), out("maximum", row));
    const Value weights =
        emitter_.Apply(WithStart({"online_weights", {scaled, maximum_}}, block, emitter_),
                       out("block_weights", block));
    const Value total =
        emitter_.Apply({"sum", {weights}, {{"dim", int64_t{-1}}}}, out("block_total", row));
    const Value mixed = Einsum(
        absl::StrCat(attention_.weights_letters, ",", attention_.values_letters, "->", sums_),
        {weights, values}, out("block_mixed", sum), &emitter_);
    if (first) {
      total_ = total;
      mixed_ = mixed;
      return;
    }
    const Value change = emitter_.Apply({"sub", {before, maximum_}}, out("change", row));
    const Value factor = emitter_.Apply({"exp", {change}}, out("factor", row));
    const Value old_total = emitter_.Apply({"mul", {total_, factor}}, out("old_total", row));
    total_ = emitter_.Apply({"add", {old_total, total}}, out("total", row));
    const Value old_mixed = Einsum(absl::StrCat(sums_, ",", rows_, "->", sums_), {mixed_, factor},
                                   out("old_mixed", sum), &emitter_);
    mixed_ = emitter_.Apply({"add", {old_mixed, mixed}}, out("new_mixed", sum));
  }

  Value Quotient() {
    const Value inverse = emitter_.Apply(
        {"div", {"1", total_}},
        {attention_.prefix + "inverse", emitter_.DimsOf(total_), false, /*local=*/true});
    return Einsum(absl::StrCat(sums_, ",", rows_, "->", attention_.mixed_letters),
                  {mixed_, inverse}, {attention_.prefix + "mixed", attention_.mixed}, &emitter_);
  }

 private:
  const Attention& attention_;
  Emitter& emitter_;
  std::string rows_, sums_;  // letters of a row's number, and of a row's sum of values
  Value maximum_ = kNoValue, total_ = kNoValue, mixed_ = kNoValue;
};

Value AroundTheRing(const Attention& attention, Emitter* emitter) {
  OnlineSoftmax softmax(attention, emitter);
  std::vector<Value> keys = attention.keys;
  Value values = attention.values;
  const int64_t ranks = emitter->layout().Extent(emitter->layout().context_axes()[0]);
  for (int64_t round = 0; round < ranks; ++round) {
    if (round > 0) {
      for (Value& key : keys) key = emitter->PassOn(key, 1);
      values = emitter->PassOn(values, 1);
    }
    const std::string suffix = absl::StrCat("@", round);
    const Value scores = attention.scores(keys, emitter->DimsOf(values)[1], suffix);
    softmax.Add(Scaled(attention, scores, suffix, emitter), values, suffix);
  }
  return softmax.Quotient();
}

}  // namespace

Value CausalAttention(const Attention& attention, Emitter* emitter) {
  return emitter->layout().RingAttention() ? AroundTheRing(attention, emitter)
                                           : OverAllKeys(attention, emitter);
}

}  // namespace planproof::models
