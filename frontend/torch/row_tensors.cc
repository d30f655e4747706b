#include "frontend/torch/row_tensors.h"

#include <algorithm>
#include <set>

namespace planproof::frontend::torch {

void RowLayout::Add(const Segment& segment, int64_t places) {
  if (!starts_.emplace(segment, extent_).second) return;
  segments_.push_back(segment);
  extent_ += places;
}

std::optional<RowLayout> RowLayout::Of(const std::vector<RowLabel>& rows,
                                       const std::vector<Choice>& choices) {
  std::map<Segment, std::set<int64_t>> places;
  std::vector<Segment> segments;  // as they are mentioned
  for (const RowLabel& row : rows) {
    std::set<int64_t>& of_segment = places[row.segment];
    if (of_segment.empty()) segments.push_back(row.segment);
    if (!of_segment.insert(row.place).second) return std::nullopt;
  }
  for (const auto& [segment, found] : places) {
    const Choice& choice = choices[segment.choice];
    const auto first = choice.chosen.begin() + segment.set * choice.places;
    // Rows are chosen ones, so that as many as were chosen are all of them.
    if (std::count(first, first + choice.places, true) != static_cast<int64_t>(found.size())) {
      return std::nullopt;
    }
  }
  const bool of_one = std::all_of(segments.begin(), segments.end(), [&](const Segment& each) {
    return each.choice == segments[0].choice;
  });
  if (of_one) std::sort(segments.begin(), segments.end());
  RowLayout layout;
  for (const Segment& segment : segments) layout.Add(segment, choices[segment.choice].places);
  return layout;
}

RowLayout RowLayout::OfAll(int choice, const Choice& table) {
  RowLayout layout;
  for (int64_t set = 0; set < table.sets; ++set) layout.Add({choice, set}, table.places);
  return layout;
}

std::set<sdfg::TensorId> RowTensors::OriginsOf(const RowLayout& layout) const {
  std::set<sdfg::TensorId> origins;
  for (const Segment& segment : layout.segments()) {
    const std::set<sdfg::TensorId>& own = choices[segment.choice].origins;
    origins.insert(own.begin(), own.end());
  }
  return origins;
}

}  // namespace planproof::frontend::torch
