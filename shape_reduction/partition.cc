#include "shape_reduction/partition.h"

#include <algorithm>
#include <utility>

namespace planproof::shape_reduction {
namespace {

void SortUnique(std::vector<int64_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

std::vector<int64_t> AllValues(int64_t extent) {
  std::vector<int64_t> values(extent);
  for (int64_t i = 0; i < extent; ++i) values[i] = i;
  return values;
}

}  // namespace

DimPartition::DimPartition(int64_t extent) : extent_(extent) {
  digits_.push_back({extent, {}});
  if (extent > 0) digits_[0].starts.push_back(0);
  CountBlocks();
}

DimPartition DimPartition::WithCuts(int64_t extent, std::vector<int64_t> cuts) {
  DimPartition result(extent);
  if (extent == 0) return result;
  std::vector<int64_t>& starts = result.digits_[0].starts;
  for (int64_t cut : cuts) {
    if (cut > 0 && cut < extent) starts.push_back(cut);
  }
  SortUnique(&starts);
  result.CountBlocks();
  return result;
}

DimPartition DimPartition::Full(int64_t extent) {
  DimPartition result(extent);
  if (extent > kMaxBlocks) {
    result.too_fine_ = true;
  } else {
    result.digits_[0].starts = AllValues(extent);
  }
  result.CountBlocks();
  return result;
}

DimPartition DimPartition::WithDigitCuts(int64_t extent, int64_t div, int64_t digit_extent,
                                         const std::vector<int64_t>& cuts) {
  if (extent == 0) return DimPartition(0);
  std::vector<int64_t> inside;
  for (int64_t cut : cuts) {
    if (cut > 0 && cut < digit_extent) inside.push_back(cut);
  }
  if (inside.empty()) return DimPartition(extent);
  if (digit_extent >= (extent + div - 1) / div) {  // the most significant digit: plain cuts
    for (int64_t& cut : inside) cut = cut <= extent / div ? cut * div : extent;
    return WithCuts(extent, std::move(inside));
  }
  const int64_t period = div * digit_extent;
  if (extent % period != 0) return Full(extent);
  DimPartition result(extent);
  result.digits_.clear();
  result.digits_.push_back({extent / period, {0}});
  result.digits_.push_back({digit_extent, {0}});
  for (int64_t cut : inside) result.digits_.back().starts.push_back(cut);
  SortUnique(&result.digits_.back().starts);
  if (div > 1) result.digits_.push_back({div, {0}});
  result.CountBlocks();
  return result;
}

void DimPartition::CountBlocks() {
  blocks_ = 1;
  for (const Digit& digit : digits_) {
    if (__builtin_mul_overflow(blocks_, static_cast<int64_t>(digit.starts.size()), &blocks_)) {
      too_fine_ = true;
      return;
    }
  }
  if (blocks_ > kMaxBlocks) too_fine_ = true;
}

int64_t DimPartition::BlockOf(int64_t index) const {
  int64_t block = 0;
  int64_t stride = extent_;
  for (const Digit& digit : digits_) {
    stride /= digit.extent;
    const int64_t value = index / stride;
    index -= value * stride;
    const std::vector<int64_t>& starts = digit.starts;
    int64_t interval;
    if (starts.size() == 1) {
      interval = 0;
    } else if (static_cast<int64_t>(starts.size()) == digit.extent) {
      interval = value;
    } else {
      interval = std::upper_bound(starts.begin(), starts.end(), value) - starts.begin() - 1;
    }
    block = block * static_cast<int64_t>(starts.size()) + interval;
  }
  return block;
}

template <typename ValueOf>
std::vector<int64_t> DimPartition::OfBlocks(ValueOf value_of) const {
  std::vector<int64_t> result = {0};
  if (blocks_ == 0) return {};
  int64_t stride = extent_;
  for (const Digit& digit : digits_) {
    stride /= digit.extent;
    std::vector<int64_t> next;
    next.reserve(result.size() * digit.starts.size());
    for (int64_t base : result) {
      for (size_t i = 0; i < digit.starts.size(); ++i) {
        next.push_back(base + value_of(digit, i) * stride);
      }
    }
    result = std::move(next);
  }
  return result;
}

std::vector<int64_t> DimPartition::Representatives() const {
  return OfBlocks([](const Digit& digit, size_t i) { return digit.starts[i]; });
}

std::vector<int64_t> DimPartition::Lasts() const {
  return OfBlocks([](const Digit& digit, size_t i) {
    return (i + 1 < digit.starts.size() ? digit.starts[i + 1] : digit.extent) - 1;
  });
}

std::vector<int64_t> DimPartition::Weights() const {
  std::vector<int64_t> result = {1};
  if (blocks_ == 0) return {};
  for (const Digit& digit : digits_) {
    std::vector<int64_t> next;
    next.reserve(result.size() * digit.starts.size());
    for (int64_t base : result) {
      for (size_t i = 0; i < digit.starts.size(); ++i) {
        const int64_t end = i + 1 < digit.starts.size() ? digit.starts[i + 1] : digit.extent;
        next.push_back(base * (end - digit.starts[i]));
      }
    }
    result = std::move(next);
  }
  return result;
}

std::vector<int64_t> DimPartition::Strides() const {
  std::vector<int64_t> strides;
  int64_t stride = extent_;
  for (const Digit& digit : digits_) {
    stride /= digit.extent;
    strides.push_back(stride);
  }
  return strides;
}

// A cut of this digit (stride a, extent m) at c is the position c a within the digit's span. In a
// digit (stride s, next stride S) of the result that lies inside, the position has the value
// q = floor(c a / s) mod (S / s): the interval boundary falls on q if everything below is 0, else
// the value q itself is cut off on both sides; nothing happens if everything from s up to S is 0.
void DimPartition::AddCutsTo(const std::vector<int64_t>& strides, DimPartition* out) const {
  const std::vector<int64_t> own = Strides();
  for (size_t k = 0; k < strides.size(); ++k) {
    const int64_t low = strides[k];
    const int64_t high = k == 0 ? extent_ : strides[k - 1];
    Digit& digit = out->digits_[k];
    for (size_t j = 0; j < digits_.size(); ++j) {
      const int64_t own_low = own[j];
      const int64_t own_high = j == 0 ? extent_ : own[j - 1];
      if (own_high <= low || own_low >= high || digits_[j].starts.size() <= 1) continue;
      if (own_low > low || own_high < high) {  // only part of the digit is ours: every value
        if (digit.extent > kMaxBlocks) {
          out->too_fine_ = true;
          return;
        }
        digit.starts = AllValues(digit.extent);
        break;
      }
      for (size_t c = 1; c < digits_[j].starts.size(); ++c) {
        const int64_t position = digits_[j].starts[c] * own_low;
        if (position % high == 0) continue;
        const int64_t value = position / low % digit.extent;
        digit.starts.push_back(value);
        if (position % low != 0 && value + 1 < digit.extent) digit.starts.push_back(value + 1);
      }
    }
    SortUnique(&digit.starts);
  }
}

DimPartition DimPartition::Refine(const DimPartition& other) const {
  if (too_fine_ || other.IsWhole() || *this == other) return *this;
  if (other.too_fine_ || IsWhole()) return other;
  if (IsFull()) return *this;
  if (other.IsFull()) return other;
  std::vector<int64_t> strides = Strides();
  const std::vector<int64_t> theirs = other.Strides();
  strides.insert(strides.end(), theirs.begin(), theirs.end());
  SortUnique(&strides);
  std::vector<int64_t> kept;  // strides comparable with all others by divisibility, descending
  for (auto s = strides.rbegin(); s != strides.rend(); ++s) {
    const bool comparable = std::all_of(strides.begin(), strides.end(),
                                        [&](int64_t t) { return *s % t == 0 || t % *s == 0; });
    if (comparable && *s < extent_) kept.push_back(*s);
  }
  DimPartition result(extent_);
  result.digits_.clear();
  int64_t high = extent_;
  for (int64_t stride : kept) {
    result.digits_.push_back({high / stride, {0}});
    high = stride;
  }
  AddCutsTo(kept, &result);
  other.AddCutsTo(kept, &result);
  result.CountBlocks();
  if (!result.too_fine_) return result;
  DimPartition fine(extent_);
  fine.too_fine_ = true;
  return fine;
}

std::string DimPartition::ToString() const {
  std::string text = std::to_string(extent_) + " =";
  for (const Digit& digit : digits_) {
    text += " " + std::to_string(digit.extent) + "x";
    if (static_cast<int64_t>(digit.starts.size()) == digit.extent && digit.extent > 1) {
      text += "{all}";
      continue;
    }
    text += "{";
    for (size_t i = 0; i < digit.starts.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(digit.starts[i]);
    }
    text += "}";
  }
  return too_fine_ ? text + " (too fine)" : text;
}

}  // namespace planproof::shape_reduction
