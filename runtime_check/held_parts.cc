#include "runtime_check/held_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dumps/tensor_file.h"
#include "sdfg/status_macros.h"

namespace planproof::runtime_check {
namespace {

using dumps::SplitOrder;

absl::StatusOr<int> AxisNamed(const std::string& name, const Mesh& mesh) {
  std::vector<std::string> names;
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    if (mesh.axes[a].name == name) return static_cast<int>(a);
    names.push_back(mesh.axes[a].name);
  }
  return absl::InvalidArgumentError(absl::StrCat("the candidate's mesh has no axis \"", name,
                                                 "\", only ", absl::StrJoin(names, ", ")));
}

// Puts the parts of a tensor together from what ranks hold.
class LayingOut {
 public:
  LayingOut(const Division& division, const Mesh& mesh, const std::vector<Held>& held,
            const sdfg::Shape& whole)
      : division_(division), mesh_(mesh), held_(held), whole_(whole) {}

  Parts Run() {
    if (CheckShapes() && CheckHolders() && CheckSizes()) MakeParts();
    return std::move(result_);
  }

 private:
  bool Refuse(DumpFinding finding, const std::string& what, std::vector<int> ranks = {}) {
    result_.parts.clear();
    result_.finding = finding;
    result_.what = what;
    result_.ranks = std::move(ranks);
    return false;
  }

  const std::vector<int64_t>& Coordinates(int rank) const { return mesh_.coordinates[rank]; }

  int64_t PartCount(size_t d) const {
    int64_t count = 1;
    for (const int axis : division_.dimensions[d].axes) count *= mesh_.axes[axis].size;
    return count;
  }
  // Which of a dimension's parts a rank has.
  int64_t PartAt(size_t d, int rank) const {
    int64_t at = 0;
    for (const int axis : division_.dimensions[d].axes)
      at = at * mesh_.axes[axis].size + Coordinates(rank)[axis];
    return at;
  }
  // "tp 1, dp 0"
  std::string PlaceText(const std::vector<int>& axes, const std::vector<int64_t>& at) const {
    std::vector<std::string> words;
    for (const int axis : axes) words.push_back(absl::StrCat(mesh_.axes[axis].name, " ", at[axis]));
    return absl::StrJoin(words, ", ");
  }

  // The extents that parts have; all ranks with the same part of a dimension agree.
  bool CheckShapes() {
    sizes_.resize(whole_.size());
    for (size_t d = 0; d < whole_.size(); ++d) sizes_[d].assign(PartCount(d), -1);
    for (const Held& held : held_) {
      const auto shapes = [&](const absl::AlphaNum& why) {
        return Refuse(DumpFinding::kShapes,
                      absl::StrCat("rank ", held.rank, " holds ", dumps::ShapeText(held.shape),
                                   " of the reference's ", dumps::ShapeText(whole_), why),
                      {held.rank});
      };
      if (held.shape.size() != whole_.size()) return shapes("");
      for (size_t d = 0; d < whole_.size(); ++d) {
        const bool split = !division_.dimensions[d].axes.empty();
        if (!split && held.shape[d] != whole_[d])
          return shapes(absl::StrCat(": dimension ", d, " is not said to be split"));
        int64_t& known = sizes_[d][PartAt(d, held.rank)];
        if (known >= 0 && known != held.shape[d])
          return shapes(absl::StrCat(": others with that part of dimension ", d, " hold ", known));
        known = held.shape[d];
      }
    }
    return true;
  }

  // Every part has a rank, every partial value all terms, and no rank lacks what its like have.
  bool CheckHolders() {
    std::vector<int> split;
    for (const Division::Dimension& dimension : division_.dimensions)
      split.insert(split.end(), dimension.axes.begin(), dimension.axes.end());
    if (!CheckCombinations(split, DumpFinding::kOmitted, "no rank holds the part of "))
      return false;
    std::vector<int> needed = split;
    needed.insert(needed.end(), division_.partial.begin(), division_.partial.end());
    if (!CheckCombinations(needed, DumpFinding::kOmitted, "no rank holds the term of "))
      return false;
    // Of other axes (pipeline stages) some coordinates may be missing, for all alike.
    std::vector<std::set<int64_t>> seen(mesh_.axes.size());
    std::set<int> holders;
    for (const Held& held : held_) {
      holders.insert(held.rank);
      for (size_t a = 0; a < seen.size(); ++a) seen[a].insert(Coordinates(held.rank)[a]);
    }
    std::vector<int> lacking;
    for (size_t rank = 0; rank < mesh_.coordinates.size(); ++rank) {
      bool expected = !holders.contains(static_cast<int>(rank));
      for (size_t a = 0; a < seen.size(); ++a)
        expected = expected && seen[a].contains(mesh_.coordinates[rank][a]);
      if (expected) lacking.push_back(static_cast<int>(rank));
    }
    if (lacking.empty()) return true;
    const std::string text =
        absl::StrCat(lacking.size() == 1 ? "rank " : "ranks ", absl::StrJoin(lacking, ", "),
                     lacking.size() == 1 ? " does" : " do");
    return Refuse(DumpFinding::kLacking, text + " not have it, others in that place do", lacking);
  }

  bool CheckCombinations(const std::vector<int>& axes, DumpFinding finding, const char* what) {
    std::set<std::vector<int64_t>> present;
    for (const Held& held : held_) {
      std::vector<int64_t> key;
      for (const int axis : axes) key.push_back(Coordinates(held.rank)[axis]);
      present.insert(std::move(key));
    }
    for (const std::vector<int64_t>& at : mesh_.coordinates) {
      std::vector<int64_t> key;
      for (const int axis : axes) key.push_back(at[axis]);
      if (!present.contains(key)) return Refuse(finding, what + PlaceText(axes, at));
    }
    return true;
  }

  // What parts have of a dimension adds up to it.
  bool CheckSizes() {
    for (size_t d = 0; d < whole_.size(); ++d) {
      const Division::Dimension& dimension = division_.dimensions[d];
      const auto parts = static_cast<int64_t>(sizes_[d].size());
      int64_t sum = 0;
      for (const int64_t size : sizes_[d]) sum += size;
      if (sum != whole_[d]) {
        return Refuse(sum < whole_[d] ? DumpFinding::kOmitted : DumpFinding::kOverlaps,
                      absl::StrCat("along dimension ", d, " ranks hold ", sum,
                                   " elements together, the reference has ", whole_[d]));
      }
      bool fits = true;
      for (int64_t p = 0; p < parts; ++p) {
        const int64_t size = sizes_[d][p];
        if (dimension.order == SplitOrder::kBlocks)
          fits = fits && size == sizes_[d][0] && size % dimension.blocks == 0;
        if (dimension.order == SplitOrder::kZigzag)
          fits = fits && size == sizes_[d][0] && size % 2 == 0;
        if (dimension.order == SplitOrder::kRoundRobin)
          fits = fits && size == (whole_[d] - p + parts - 1) / parts;
      }
      if (!fits) {
        return Refuse(DumpFinding::kShapes,
                      absl::StrCat("the sizes that ranks hold of dimension ", d, " (",
                                   absl::StrJoin(sizes_[d], ", "),
                                   ") are not those of the order that is said"));
      }
    }
    return true;
  }

  sdfg::IndexMap MapOf(size_t d, int rank) const {
    const Division::Dimension& dimension = division_.dimensions[d];
    const auto parts = static_cast<int64_t>(sizes_[d].size());
    const int64_t own = PartAt(d, rank), size = sizes_[d][own];
    const auto dim = static_cast<int32_t>(d);
    switch (dimension.order) {
      case SplitOrder::kContiguous: {
        int64_t start = 0;
        for (int64_t p = 0; p < own; ++p) start += sizes_[d][p];
        return {start, {{.dim = dim}}};
      }
      case SplitOrder::kBlocks: {
        const int64_t local = std::max<int64_t>(size / dimension.blocks, 1);
        const int64_t block = whole_[d] / dimension.blocks;
        return {own * local, {{.dim = dim}, {.dim = dim, .scale = block - local, .div = local}}};
      }
      case SplitOrder::kZigzag: {
        const int64_t half = std::max<int64_t>(size / 2, 1);
        const int64_t jump = (2 * parts - 1 - own) * half - own * half - half;
        return {own * half, {{.dim = dim}, {.dim = dim, .scale = jump, .div = half}}};
      }
      case SplitOrder::kRoundRobin:
        return {own, {{.dim = dim, .scale = parts}}};
    }
    return {};
  }

  void MakeParts() {
    // Ranks that differ only along partial axes hold terms of one part.
    std::map<std::vector<int64_t>, size_t> known;
    for (const Held& held : held_) {
      std::vector<int64_t> key = Coordinates(held.rank);
      for (const int axis : division_.partial) key[axis] = -1;
      const auto [at, fresh] = known.try_emplace(std::move(key), result_.parts.size());
      if (fresh) {
        HeldPart& part = result_.parts.emplace_back();
        part.shape = held.shape;
        for (size_t d = 0; d < whole_.size(); ++d) part.map.push_back(MapOf(d, held.rank));
      }
      result_.parts[at->second].ranks.push_back(held.rank);
    }
  }

  const Division& division_;
  const Mesh& mesh_;
  const std::vector<Held>& held_;
  const sdfg::Shape& whole_;
  std::vector<std::vector<int64_t>> sizes_;  // by dimension and part
  Parts result_;
};

}  // namespace

absl::StatusOr<Division> DivisionOf(const dumps::TensorRule* rule, const Mesh& mesh,
                                    size_t dimensions) {
  Division division;
  division.dimensions.resize(dimensions);
  if (rule == nullptr) return division;
  std::set<int> used;
  const auto take = [&](const std::string& name) -> absl::StatusOr<int> {
    PLAN_ASSIGN_OR_RETURN(const int axis, AxisNamed(name, mesh));
    if (used.insert(axis).second) return axis;
    return absl::InvalidArgumentError(absl::StrCat("axis \"", name, "\" is used twice"));
  };
  const auto count = static_cast<int64_t>(dimensions);
  for (const dumps::Split& split : rule->splits) {
    const int64_t at = split.dimension + (split.dimension < 0 ? count : 0);
    if (at < 0 || at >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", split.dimension, " of a tensor that has ", count));
    }
    Division::Dimension& dimension = division.dimensions[at];
    if (!dimension.axes.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", at, " is split twice"));
    }
    dimension.order = split.order;
    dimension.blocks = split.blocks;
    for (const std::string& name : split.axes) {
      PLAN_ASSIGN_OR_RETURN(const int axis, take(name));
      dimension.axes.push_back(axis);
    }
  }
  for (const std::string& name : rule->partial) {
    PLAN_ASSIGN_OR_RETURN(const int axis, take(name));
    division.partial.push_back(axis);
  }
  division.factor = rule->factor;
  for (const std::string& name : rule->times) {
    PLAN_ASSIGN_OR_RETURN(const int axis, AxisNamed(name, mesh));
    division.factor *= static_cast<double>(mesh.axes[axis].size);
  }
  return division;
}

Parts PartsOf(const Division& division, const Mesh& mesh, const std::vector<Held>& held,
              const sdfg::Shape& whole) {
  return LayingOut(division, mesh, held, whole).Run();
}

}  // namespace planproof::runtime_check
