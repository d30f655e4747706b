#include "runtime_check/matrix_product.h"

#include <algorithm>
#include <map>
#include <utility>

namespace planproof::runtime_check {
namespace {

// A whole number as a sum of multiples of variables.
struct Affine {
  int64_t constant = 0;
  std::map<int32_t, int64_t> factors;  // by the variable's register

  void Add(const Affine& other, int64_t times) {
    constant += other.constant * times;
    for (const auto& [variable, factor] : other.factors) factors[variable] += factor * times;
  }
  int64_t Of(int32_t variable) const {
    const auto found = factors.find(variable);
    return found == factors.end() ? 0 : found->second;
  }
};

struct Reading {
  int operand = 0;
  Affine at;
};

// A real number: an element, a product of two, or a sum of such products.
struct Term {
  std::vector<Reading> elements;
  bool constant = false;
  double factor = 1;
};

struct Variable {
  int32_t reg = -1;
  int64_t extent = 1;
  int64_t left = 0, right = 0, result = 0;  // elements between neighbours
};

// Neighbours, the second the faster, as one dimension where all strides allow it.
void Fuse(std::vector<Variable>* variables) {
  for (size_t i = 0; i + 1 < variables->size();) {
    Variable& outer = (*variables)[i];
    const Variable& inner = (*variables)[i + 1];
    if (outer.left == inner.left * inner.extent && outer.right == inner.right * inner.extent &&
        outer.result == inner.result * inner.extent) {
      outer = {inner.reg, outer.extent * inner.extent, inner.left, inner.right, inner.result};
      variables->erase(variables->begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

// Takes the longest dimension for the matrices; the others are loops.
Variable TakeLongest(std::vector<Variable>* variables, std::vector<Variable>* loops) {
  Variable longest;
  Fuse(variables);
  const auto at =
      std::max_element(variables->begin(), variables->end(),
                       [](const Variable& a, const Variable& b) { return a.extent < b.extent; });
  if (at != variables->end()) {
    longest = *at;
    variables->erase(at);
  }
  loops->insert(loops->end(), variables->begin(), variables->end());
  return longest;
}

// Runs the tape on what it would compute.
class Recognition {
 public:
  explicit Recognition(const Tape& tape) : tape_(tape) {}

  std::optional<MatrixProduct> Run() {
    for (const auto& [reg, value] : tape_.int_constants) ints_[reg].constant = value;
    for (const auto& [reg, value] : tape_.real_constants)
      reals_[reg] = {.constant = true, .factor = value};
    int64_t stride = 1;
    for (const LaneDimension& dim : tape_.lane_dimensions) {
      results_.push_back({.reg = dim.reg, .extent = dim.extent, .result = dim.stride});
      stride *= dim.extent;
      ints_[dim.reg].factors[dim.reg] = 1;
    }
    std::reverse(results_.begin(), results_.end());  // outermost first
    const size_t lanes = results_.size();
    for (const Instruction& i : tape_.code) {
      if (!Step(i)) return std::nullopt;
    }
    // The loops that are open at the strip are the output's other dimensions.
    for (size_t r = results_.size(); r-- > lanes;) {
      results_[r].result = stride;
      stride *= results_[r].extent;
    }
    std::rotate(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(lanes),
                results_.end());
    return Described();
  }

 private:
  bool Step(const Instruction& i) {
    switch (i.code) {
      case Code::kLoop:
        ints_[i.out].factors[i.out] = 1;
        open_.push_back({.reg = i.out, .extent = i.value});
        return true;
      case Code::kEndLoop:
        if (!open_.empty()) open_.pop_back();
        return true;
      case Code::kStrip:
        results_.insert(results_.end(), open_.begin(), open_.end());
        return true;
      case Code::kEndStrip:
      case Code::kFill:
      case Code::kSumEnd:
        return true;
      case Code::kMultiplyAdd: {
        Affine sum = ints_[i.a];
        sum.Add(ints_[i.b], i.value);
        ints_[i.out] = std::move(sum);
        return true;
      }
      case Code::kIntAdd: {
        Affine sum = ints_[i.a];
        sum.Add(ints_[i.b], 1);
        ints_[i.out] = std::move(sum);
        return true;
      }
      case Code::kIntScale: {
        Affine product;
        product.Add(ints_[i.a], i.value);
        ints_[i.out] = std::move(product);
        return true;
      }
      case Code::kRead: {
        if (i.c >= 0) return false;
        Reading reading{static_cast<int>(i.value), ints_[i.a]};
        reading.at.Add(ints_[i.b], 1);
        reals_[i.out] = {.elements = {std::move(reading)}};
        return true;
      }
      case Code::kMul:
        return Multiply(i);
      case Code::kSumStep: {
        // Of a product, or of a sum of products over further variables.
        const Term& term = reals_[i.a];
        if (term.elements.size() != 2) return false;
        sums_.push_back(open_.back());
        reals_[i.out] = term;
        return true;
      }
      case Code::kStore:
        stored_ = reals_[i.a];
        return true;
      default:
        return false;
    }
  }

  bool Multiply(const Instruction& i) {
    const Term &a = reals_[i.a], &b = reals_[i.b];
    Term product;
    product.factor = a.factor * b.factor;
    product.elements = a.elements;
    product.elements.insert(product.elements.end(), b.elements.begin(), b.elements.end());
    if (product.elements.size() > 2) return false;
    // Elements may only be multiplied before they are added up.
    const bool one_is_constant = a.constant || b.constant;
    if (!sums_.empty() && !one_is_constant) return false;
    product.constant = a.constant && b.constant;
    reals_[i.out] = std::move(product);
    return true;
  }

  std::optional<MatrixProduct> Described() const {
    if (tape_.int_output || sums_.empty() || stored_.elements.size() != 2) return std::nullopt;
    const Reading &left = stored_.elements[0], &right = stored_.elements[1];
    const auto strides = [&](Variable variable) {
      variable.left = left.at.Of(variable.reg);
      variable.right = right.at.Of(variable.reg);
      return variable;
    };
    std::vector<Variable> rows, columns, depth, loops;
    for (const Variable& result : results_) {
      const Variable variable = strides(result);
      if (variable.extent == 1) continue;
      if (variable.left != 0 && variable.right == 0) {
        rows.push_back(variable);
      } else if (variable.left == 0 && variable.right != 0) {
        columns.push_back(variable);
      } else {
        loops.push_back(variable);
      }
    }
    for (const Variable& sum : sums_) {
      const Variable variable = strides(sum);
      if (variable.extent == 1) continue;
      if (variable.left == 0 || variable.right == 0) return std::nullopt;
      depth.push_back(variable);
    }
    // The order of a sum does not matter.
    std::sort(depth.begin(), depth.end(),
              [](const Variable& a, const Variable& b) { return a.left > b.left; });
    std::vector<Variable> sums;
    const Variable sum = TakeLongest(&depth, &sums);
    const Variable row = TakeLongest(&rows, &loops), column = TakeLongest(&columns, &loops);
    Fuse(&loops);
    MatrixProduct product;
    product.left_operand = left.operand;
    product.right_operand = right.operand;
    product.left_offset = left.at.constant;
    product.right_offset = right.at.constant;
    product.rows = row.extent;
    product.columns = column.extent;
    product.depth = sum.extent;
    product.left_row = row.left;
    product.left_depth = sum.left;
    product.right_depth = sum.right;
    product.right_column = column.right;
    product.result_row = row.result;
    product.result_column = column.result;
    for (const Variable& loop : loops)
      product.loops.push_back({loop.extent, loop.left, loop.right, loop.result});
    std::stable_sort(product.loops.begin(), product.loops.end(),
                     [](const auto& a, const auto& b) { return a.extent < b.extent; });
    for (const Variable& other : sums)
      product.sums.push_back({other.extent, other.left, other.right, 0});
    product.factor = stored_.factor;
    return product;
  }

  const Tape& tape_;
  std::map<int32_t, Affine> ints_;  // by register
  std::map<int32_t, Term> reals_;
  std::vector<Variable> open_;     // loops
  std::vector<Variable> results_;  // dimensions of the output, outermost first
  std::vector<Variable> sums_;
  Term stored_;
};

// A matrix of `height` x `width` elements with these strides, stored by columns; false if it is
// not, nor is its transpose.
bool Stored(int64_t height, int64_t width, int64_t down, int64_t across, bool* transposed,
            int64_t* leading) {
  if ((height == 1 || down == 1) && (width == 1 || across >= height)) {
    *transposed = false;
    *leading = width == 1 ? height : across;
    return true;
  }
  if ((width == 1 || across == 1) && (height == 1 || down >= width)) {
    *transposed = true;
    *leading = height == 1 ? width : down;
    return true;
  }
  return false;
}

}  // namespace

double MatrixProduct::Multiplications() const {
  double count =
      static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  for (const Loop& loop : loops) count *= static_cast<double>(loop.extent);
  for (const Loop& sum : sums) count *= static_cast<double>(sum.extent);
  return count;
}

double MatrixProduct::Calls() const {
  double count = 1;
  for (size_t l = 0; l + 1 < loops.size(); ++l) count *= static_cast<double>(loops[l].extent);
  for (const Loop& sum : sums) count *= static_cast<double>(sum.extent);
  return count;
}

std::optional<MatrixProduct> AsMatrixProduct(const Tape& tape) { return Recognition(tape).Run(); }

std::optional<BlasProduct> AsBlasProduct(const MatrixProduct& p) {
  BlasProduct blas;
  bool transposed = false;
  // Stored by rows, which is its transpose by columns: the right operand comes first then.
  if (Stored(p.columns, p.rows, p.result_column, p.result_row, &transposed, &blas.result_leading) &&
      !transposed) {
    blas.m = p.columns;
    blas.n = p.rows;
  } else if (Stored(p.rows, p.columns, p.result_row, p.result_column, &transposed,
                    &blas.result_leading) &&
             !transposed) {
    blas.first_is_right = false;
    blas.m = p.rows;
    blas.n = p.columns;
  } else {
    return std::nullopt;
  }
  blas.k = p.depth;
  const bool right = blas.first_is_right;
  if (!Stored(blas.m, blas.k, right ? p.right_column : p.left_row,
              right ? p.right_depth : p.left_depth, &blas.transpose_first, &blas.first_leading) ||
      !Stored(blas.k, blas.n, right ? p.left_depth : p.right_depth,
              right ? p.left_row : p.right_column, &blas.transpose_second, &blas.second_leading)) {
    return std::nullopt;
  }
  return blas;
}

}  // namespace planproof::runtime_check
