#include "generator/attention.h"

#include <cmath>

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

// Some of the queries, and what is appended to the names of what is computed for them.
struct Queries {
  std::vector<Value> values;
  std::string suffix;
};

// Tensor by tensor, the block `which` along the positions.
std::vector<Value> BlockOf(const std::vector<Value>& tensors, int which, const std::string& suffix,
                           bool local_gradient, Emitter* emitter) {
  std::vector<Value> blocks;
  for (Value x : tensors) {
    const Dim positions = emitter->DimsOf(x)[1];
    blocks.push_back(emitter->Narrow(x, 1, which * positions.block, suffix,
                                     Layout::Block(positions, which), local_gradient));
  }
  return blocks;
}

// All queries at once, or in zigzag order block by block.
std::vector<Queries> Parts(const Attention& attention, Emitter* emitter) {
  if (!emitter->layout().Zigzag()) return {{attention.queries, ""}};
  std::vector<Queries> parts;
  for (const int which : {0, 1}) {
    const std::string suffix = absl::StrCat("@", which);
    parts.push_back({BlockOf(attention.queries, which, suffix, false, emitter), suffix});
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
    const Value masked =
        emitter->Apply(WithStart({"causal_mask", {scaled}}, dims, *emitter), out("masked"));
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

  Value Quotient(const Queries& part) {
    const Value inverse = emitter_.Apply({"div", {"1", total_}},
                                         {absl::StrCat(attention_.prefix, "inverse", part.suffix),
                                          emitter_.DimsOf(total_), false, /*local=*/true});
    return Einsum(absl::StrCat(sums_, ",", rows_, "->", attention_.mixed_letters),
                  {mixed_, inverse}, Mixed(attention_, part, emitter_), &emitter_);
  }

 private:
  const Attention& attention_;
  Emitter& emitter_;
  std::string rows_, sums_;  // letters of a row's number, and of a row's sum of values
  Value maximum_ = kNoValue, total_ = kNoValue, mixed_ = kNoValue;
};

// A block of the keys and values that a rank holds, and what is appended to their names.
struct Block {
  std::vector<Value> keys;
  Value values = kNoValue;
  std::string suffix;
};

// All of them, or in zigzag order one of two.
Block BlockAt(const std::vector<Value>& keys, Value values, int which, Emitter* emitter) {
  if (!emitter->layout().Zigzag()) return {keys, values, ""};
  const std::string suffix = absl::StrCat("@block", which);
  return {BlockOf(keys, which, suffix, true, emitter),
          BlockOf({values}, which, suffix, true, emitter)[0], suffix};
}

// In zigzag order, where it is known which blocks a rank holds: whether the mask hides all these
// keys from all these queries.
bool Hidden(const Dim& queries, const Dim& keys, const Layout& layout) {
  return layout.Zigzag() && keys.starts[0] >= queries.starts[0] + layout.Local(queries);
}

Value AroundTheRing(const Attention& attention, Emitter* emitter) {
  const std::vector<Queries> parts = Parts(attention, emitter);
  std::vector<OnlineSoftmax> softmax(parts.size(), OnlineSoftmax(attention, emitter));
  std::vector<Value> keys = attention.keys;
  Value values = attention.values;
  const Layout& layout = emitter->layout();
  const int64_t ranks = layout.Extent(layout.context_axes()[0]);
  for (int64_t round = 0; round < ranks; ++round) {
    if (round > 0) {
      for (Value& key : keys) key = emitter->PassOn(key, 1);
      values = emitter->PassOn(values, 1);
    }
    const Dim held = emitter->DimsOf(keys[0])[1];
    for (int which = 0; which < (layout.Zigzag() ? 2 : 1); ++which) {
      const Dim positions = layout.Zigzag() ? Layout::Block(held, which) : held;
      std::vector<size_t> seeing;
      for (size_t p = 0; p < parts.size(); ++p) {
        if (!Hidden(emitter->DimsOf(parts[p].values[0])[1], positions, layout)) seeing.push_back(p);
      }
      if (seeing.empty()) continue;
      const Block block = BlockAt(keys, values, which, emitter);
      for (const size_t p : seeing) {
        const std::string suffix = absl::StrCat(parts[p].suffix, "@", round, block.suffix);
        const Value scores = attention.scores(parts[p].values, block.keys, suffix);
        softmax[p].Add(Scaled(attention, scores, suffix, emitter), block.values, suffix);
      }
    }
  }
  std::vector<Value> mixed;
  for (size_t p = 0; p < parts.size(); ++p) mixed.push_back(softmax[p].Quotient(parts[p]));
  return Joined(attention, mixed, emitter);
}

}  // namespace

Value CausalAttention(const Attention& attention, Emitter* emitter) {
  return emitter->layout().RingAttention() ? AroundTheRing(attention, emitter)
                                           : OverAllKeys(attention, emitter);
}

}  // namespace planproof::generator
