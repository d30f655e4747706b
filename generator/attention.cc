#include "generator/attention.h"

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "generator/blocks.h"

namespace planproof::generator {
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
AttributeValue StartOf(const Dims& scores, const Layout& layout) {
  const Dim& queries = scores[scores.size() - 2];
  const Dim& keys = scores.back();
  if (queries.over.empty()) return int64_t{0};
  const std::string start = layout.StartOf(queries);
  return Expression{keys.over.empty() ? start
                                      : absl::StrCat(start, " - (", layout.StartOf(keys), ")")};
}

Call WithStart(Call call, const AttributeValue& start) {
  const auto* const number = std::get_if<int64_t>(&start);
  if (number == nullptr || *number != 0) call.attributes.emplace_back("start", start);
  return call;
}

// Some of the queries, and what is appended to the names of what is computed for them.
struct Queries {
  std::vector<Value> values;
  std::string suffix;
};

constexpr Dim::Which kBlocks[] = {Dim::Which::kEarly, Dim::Which::kLate};

// Tensor by tensor, one block along the positions.
std::vector<Value> BlockOf(const std::vector<Value>& tensors, Dim::Which which,
                           const std::string& suffix, bool local_gradient, Emitter* emitter) {
  std::vector<Value> blocks;
  for (Value x : tensors) {
    const Dim positions = emitter->DimsOf(x)[1];
    const int64_t start = which == Dim::Which::kLate ? positions.block : 0;
    blocks.push_back(
        emitter->Narrow(x, 1, start, suffix, Layout::Block(positions, which), local_gradient));
  }
  return blocks;
}

// All queries at once, or in zigzag order block by block. In a ring other slices of the queries
// have a part in their gradients.
std::vector<Queries> Parts(const Attention& attention, Emitter* emitter) {
  if (!emitter->layout().Zigzag()) return {{attention.queries, ""}};
  const bool local_gradient = emitter->layout().RingAttention();
  std::vector<Queries> parts;
  for (const Dim::Which which : kBlocks) {
    const std::string suffix = which == Dim::Which::kEarly ? "@0" : "@1";
    parts.push_back({BlockOf(attention.queries, which, suffix, local_gradient, emitter), suffix});
  }
  return parts;
}

// What a part of the queries makes of the values.
Out Mixed(const Attention& attention, const Queries& part, const Emitter& emitter) {
  const std::string name = attention.prefix + "mixed";
  Out out{name, attention.mixed, false, false, name + part.suffix};
  out.dims[1] = emitter.DimsOf(part.values[0])[1];
  return out;
}

Value Joined(const Attention& attention, const std::vector<Value>& mixed, Emitter* emitter) {
  if (mixed.size() == 1) return mixed[0];
  const std::vector<Argument> in(mixed.begin(), mixed.end());
  return emitter->Apply({"concat", in, {{"dim", int64_t{1}}}},
                        {attention.prefix + "mixed", attention.mixed});
}

Value OverAllKeys(const Attention& attention, Emitter* emitter) {
  std::vector<Value> keys;
  for (Value key : attention.keys) keys.push_back(emitter->GatherContext(key, 1));
  const Value values = emitter->GatherContext(attention.values, 1);
  std::vector<Value> mixed;
  for (const Queries& part : Parts(attention, emitter)) {
    const Value scores = attention.scores(part.values, keys, part.suffix);
    const Value scaled = Scaled(attention, scores, part.suffix, emitter);
    const Dims dims = emitter->DimsOf(scaled);
    const auto out = [&](const char* what) {
      const std::string name = attention.prefix + what;
      return Out{name, dims, false, false, name + part.suffix};
    };
    const AttributeValue start = StartOf(dims, emitter->layout());
    const Value masked = emitter->Apply(WithStart({"causal_mask", {scaled}}, start), out("masked"));
    const Value weights =
        emitter->Apply({"softmax", {masked}, {{"dim", int64_t{-1}}}}, out("weights"));
    mixed.push_back(Einsum(absl::StrCat(attention.weights_letters, ",", attention.values_letters,
                                        "->", attention.mixed_letters),
                           {weights, values}, Mixed(attention, part, *emitter), emitter));
  }
  return Joined(attention, mixed, emitter);
}

// The softmax's denominator and numerator over the blocks that a rank has seen, both relative to
// exp of the largest score.
class OnlineSoftmax {
 public:
  OnlineSoftmax(const Attention& attention, Emitter* emitter)
      : attention_(&attention), emitter_(emitter) {
    rows_ = attention.weights_letters.substr(0, attention.weights_letters.size() - 1);
    sums_ = rows_ + attention.mixed_letters.back();
  }

  // A block of keys; `start`: where the queries begin, counted from its first key.
  void Add(Value scaled, Value values, const AttributeValue& start, const std::string& suffix) {
    const Dims block = emitter_->DimsOf(scaled);
    Dims row = block;
    row.pop_back();
    Dims sum = row;
    sum.push_back(emitter_->DimsOf(values).back());
    const auto out = [&](const char* name, const Dims& dims) {
      return Out{absl::StrCat(attention_->prefix, name, suffix), dims, false, /*local=*/true};
    };
    const bool first = maximum_ == kNoValue;
    Call most = first ? Call{"online_max_first", {scaled}, {}, /*stop_gradient=*/true}
                      : Call{"online_max", {scaled, maximum_}, {}, /*stop_gradient=*/true};
    const Value before = maximum_;
    maximum_ = emitter_->Apply(WithStart(std::move(most), start), out("maximum", row));
    const Value weights = emitter_->Apply(WithStart({"online_weights", {scaled, maximum_}}, start),
                                          out("block_weights", block));
    const Value total =
        emitter_->Apply({"sum", {weights}, {{"dim", int64_t{-1}}}}, out("block_total", row));
    const Value mixed = Einsum(
        absl::StrCat(attention_->weights_letters, ",", attention_->values_letters, "->", sums_),
        {weights, values}, out("block_mixed", sum), emitter_);
    if (first) {
      total_ = total;
      mixed_ = mixed;
      return;
    }
    const Value change = emitter_->Apply({"sub", {before, maximum_}}, out("change", row));
    const Value factor = emitter_->Apply({"exp", {change}}, out("factor", row));
    const Value old_total = emitter_->Apply({"mul", {total_, factor}}, out("old_total", row));
    total_ = emitter_->Apply({"add", {old_total, total}}, out("total", row));
    const Value old_mixed = Einsum(absl::StrCat(sums_, ",", rows_, "->", sums_), {mixed_, factor},
                                   out("old_mixed", sum), emitter_);
    mixed_ = emitter_->Apply({"add", {old_mixed, mixed}}, out("new_mixed", sum));
  }

  // Of two blocks of queries that one rank holds, the state of the first where `start` is 0, of the
  // second where it is the extent of a block. No block is added to a `final` one.
  static OnlineSoftmax OneOf(const OnlineSoftmax& first, const OnlineSoftmax& second,
                             const Expression& start, Dim::Which which, const std::string& suffix,
                             bool final = false) {
    OnlineSoftmax one(*first.attention_, first.emitter_);
    const auto select = [&](Value a, Value b, const char* what) {
      return one.Select(a, b, start, which, absl::StrCat(what, suffix));
    };
    if (!final) one.maximum_ = select(first.maximum_, second.maximum_, "maximum");
    one.total_ = select(first.total_, second.total_, "total");
    one.mixed_ = select(first.mixed_, second.mixed_, "mixed");
    return one;
  }

  Value Quotient(const Queries& part) {
    const Value inverse = emitter_->Apply({"div", {"1", total_}},
                                          {absl::StrCat(attention_->prefix, "inverse", part.suffix),
                                           emitter_->DimsOf(total_), false, /*local=*/true});
    return Einsum(absl::StrCat(sums_, ",", rows_, "->", attention_->mixed_letters),
                  {mixed_, inverse}, Mixed(*attention_, part, *emitter_), emitter_);
  }

 private:
  Value Select(Value a, Value b, const Expression& start, Dim::Which which,
               const std::string& name) {
    const int rows = static_cast<int>(rows_.size()) - 1;
    const Dim positions = emitter_->DimsOf(a)[rows];
    Out out{absl::StrCat(attention_->prefix, name), emitter_->DimsOf(a), false, /*local=*/true};
    out.dims[rows] = Layout::Block(positions, Dim::Which::kBoth);
    const Value both = emitter_->Apply({"concat", {a, b}, {{"dim", int64_t{rows}}}}, out);
    return emitter_->NarrowAt(both, rows, start, "@one", Layout::Block(positions, which));
  }

  const Attention* attention_;
  Emitter* emitter_;
  std::string rows_, sums_;  // letters of a row's number, and of a row's sum of values
  Value maximum_ = kNoValue, total_ = kNoValue, mixed_ = kNoValue;
};

Value AroundTheRing(const Attention& attention, Emitter* emitter) {
  OnlineSoftmax softmax(attention, emitter);
  std::vector<Value> keys = attention.keys;
  Value values = attention.values;
  const Layout& layout = emitter->layout();
  const int64_t ranks = layout.Extent(layout.context_axes()[0]);
  for (int64_t round = 0; round < ranks; ++round) {
    if (round > 0) {
      for (Value& key : keys) key = emitter->PassOn(key, 1);
      values = emitter->PassOn(values, 1);
    }
    const std::string suffix = absl::StrCat("@", round);
    const Value scaled =
        Scaled(attention, attention.scores(attention.queries, keys, suffix), suffix, emitter);
    softmax.Add(scaled, values, StartOf(emitter->DimsOf(scaled), layout), suffix);
  }
  return softmax.Quotient({attention.queries, ""});
}

// In zigzag order, on rank r of n. Of the blocks that rank s holds, r != s, the late queries see
// the early keys, the early queries the late keys never; and the early queries see the early keys
// if s < r, else the late queries the late keys: which of these a rank computes is a matter of
// where it takes its slices. (The schedule of zigzag_ring_flash_attn_func in ring-flash-attention.)
class ZigzagRing {
 public:
  ZigzagRing(const Attention& attention, Emitter* emitter)
      : attention_(attention),
        emitter_(*emitter),
        parts_(Parts(attention, emitter)),
        early_(attention, emitter),
        late_(attention, emitter),
        keys_(attention.keys),
        values_(attention.values) {
    block_ = emitter->DimsOf(values_)[1].block;
  }

  Value Run() {
    const Layout& layout = emitter_.layout();
    const int64_t ranks = layout.Extent(layout.context_axes()[0]);
    for (int64_t round = 0; round < ranks; ++round) {
      if (round == 0) {
        See(parts_[0], KeysOf(Dim::Which::kEarly, "@block0"), 0, round, &early_);
      } else {
        for (Value& key : keys_) key = emitter_.PassOn(key, 1);
        values_ = emitter_.PassOn(values_, 1);
      }
      See(parts_[1], KeysOf(Dim::Which::kEarly, "@block0"), block_, round, &late_);
      if (round == 0) {
        See(parts_[1], KeysOf(Dim::Which::kLate, "@block1"), 0, round, &late_);
      } else {
        SeeOneOf(round, ranks);
      }
    }
    return Joined(attention_, {early_.Quotient(parts_[0]), late_.Quotient(parts_[1])}, &emitter_);
  }

 private:
  // Keys and values of a block, and what is appended to their names.
  struct Keys {
    std::vector<Value> keys;
    Value values = kNoValue;
    std::string suffix;
  };

  Keys KeysOf(Dim::Which which, const std::string& suffix) {
    const auto key = std::pair(values_, which);
    const auto [at, fresh] = narrowed_.try_emplace(key);
    if (fresh) {
      at->second = {BlockOf(keys_, which, suffix, true, &emitter_),
                    BlockOf({values_}, which, suffix, true, &emitter_)[0], suffix};
    }
    return at->second;
  }

  void See(const Queries& queries, const Keys& keys, int64_t start, int64_t round,
           OnlineSoftmax* softmax) {
    const std::string suffix = absl::StrCat(queries.suffix, "@", round, keys.suffix);
    const Value scores = attention_.scores(queries.values, keys.keys, suffix);
    softmax->Add(Scaled(attention_, scores, suffix, &emitter_), keys.values, start, suffix);
  }

  // Early queries and keys on the ranks from `round` on, late ones on those before.
  void SeeOneOf(int64_t round, int64_t ranks) {
    Dim either = Layout::Block(emitter_.DimsOf(values_)[1], Dim::Which::kEither);
    either.early_from = round;
    const std::string& axis = emitter_.layout().context_axes()[0];
    const Expression start = {
        absl::StrCat("(1 - (", axis, " + ", ranks - round, ") / ", ranks, ") * ", block_)};
    const auto one = [&](Value x, const std::string& suffix) {
      Dim part = either;
      part.shift = emitter_.DimsOf(x)[1].shift;
      return emitter_.NarrowAt(x, 1, start, suffix, part);
    };
    const std::string suffix = absl::StrCat("@", round, "@one");
    Queries queries{{}, "@one"};
    for (Value query : attention_.queries) queries.values.push_back(one(query, suffix));
    Keys keys{{}, one(values_, "@one"), "@one"};
    for (Value key : keys_) keys.keys.push_back(one(key, "@one"));
    const auto after = [&](const char* of) { return absl::StrCat("@", of, "@", round); };
    OnlineSoftmax seeing =
        OnlineSoftmax::OneOf(early_, late_, start, Dim::Which::kEither, after("before"));
    See(queries, keys, block_, round, &seeing);
    const bool last = round + 1 == ranks;
    early_ = OnlineSoftmax::OneOf(seeing, early_, start, Dim::Which::kEarly, after("early"), last);
    late_ = OnlineSoftmax::OneOf(late_, seeing, start, Dim::Which::kLate, after("late"), last);
  }

  const Attention& attention_;
  Emitter& emitter_;
  const std::vector<Queries> parts_;
  OnlineSoftmax early_, late_;
  std::vector<Value> keys_;
  Value values_;
  int64_t block_ = 0;
  std::map<std::pair<Value, Dim::Which>, Keys> narrowed_;
};

}  // namespace

Value CausalAttention(const Attention& attention, Emitter* emitter) {
  if (!emitter->layout().RingAttention()) return OverAllKeys(attention, emitter);
  if (emitter->layout().Zigzag()) return ZigzagRing(attention, emitter).Run();
  return AroundTheRing(attention, emitter);
}

}  // namespace planproof::generator
