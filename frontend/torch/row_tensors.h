// Keeps the tensors whose rows are those that data chose, and the dense tensors that stand for
// them.
//
// A choice is a table of sets and places that is true where a set (an expert) has a place (a token,
// or one of its choices). A tensor of chosen rows has one row for each such entry of whole sets, in
// any order. Its dense form has a row for every place of these sets, in the order of the layout,
// whatever was chosen: row (set, place) of the dense tensor is the row of that label. What the
// dense rows hold that were not chosen is of no meaning, or zero, where that is known (`zero`).
#ifndef PLANPROOF_FRONTEND_TORCH_ROW_TENSORS_H_
#define PLANPROOF_FRONTEND_TORCH_ROW_TENSORS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::frontend::torch {

struct Choice {
  // The table, set by set, in one dimension: of type bool, on the rank that chose.
  sdfg::TensorId mask = sdfg::kNone;
  sdfg::Device device = -1;
  int64_t sets = 0, places = 0;
  std::vector<bool> chosen;  // in the recording
  // The recorded tensors that it is computed from.
  std::set<sdfg::TensorId> origins;
  std::string where;  // the operator that chose, for people
};

struct Segment {
  int choice = 0;
  int64_t set = 0;
  friend bool operator<(const Segment& a, const Segment& b) {
    return std::make_pair(a.choice, a.set) < std::make_pair(b.choice, b.set);
  }
  friend bool operator==(const Segment& a, const Segment& b) {
    return a.choice == b.choice && a.set == b.set;
  }
};

struct RowLabel {
  Segment segment;
  int64_t place = 0;
  friend bool operator==(const RowLabel& a, const RowLabel& b) {
    return a.segment == b.segment && a.place == b.place;
  }
};

// Segments one after another, and where each begins.
class RowLayout {
 public:
  // In the order in which the rows mention them, or of their sets if they are all of one choice.
  // Nothing if these are not exactly the chosen rows of whole segments, each once.
  static std::optional<RowLayout> Of(const std::vector<RowLabel>& rows,
                                     const std::vector<Choice>& choices);
  // All segments of a choice, also those of which nothing was chosen.
  static RowLayout OfAll(int choice, const Choice& table);

  const std::vector<Segment>& segments() const { return segments_; }
  int64_t StartOf(const Segment& segment) const { return starts_.at(segment); }
  int64_t extent() const { return extent_; }
  void Add(const Segment& segment, int64_t places);

 private:
  std::vector<Segment> segments_;
  std::map<Segment, int64_t> starts_;
  int64_t extent_ = 0;
};

struct RowTensor {
  size_t dim = 0;
  std::vector<RowLabel> rows;
  RowLayout layout;
  sdfg::TensorId dense = sdfg::kNone;
  bool zero = false;     // the dense tensor is zero in rows that are not chosen
  bool uniform = false;  // the dense rows of one set are all the same
};

struct RowTensors {
  std::vector<Choice> choices;
  std::map<sdfg::TensorId, RowTensor> by_tensor;

  // Of the choices whose rows the layout has.
  std::set<sdfg::TensorId> OriginsOf(const RowLayout& layout) const;
  const RowTensor* Find(sdfg::TensorId tensor) const {
    const auto found = by_tensor.find(tensor);
    return found == by_tensor.end() ? nullptr : &found->second;
  }
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ROW_TENSORS_H_
