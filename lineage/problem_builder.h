// Makes the Problem that a reader reads: the one way from graphs and relations to what is decided.
//
// A reader fills the two graphs and says how their tensors are related. The builder checks what
// every format must keep to: that each tensor which the plan does not compute has a relation to the
// model, that relations stay inside the tensors that they name, and that what devices hold of an
// input, and what is required of an output, is all of it (cover.h).
//
// What is required comes from two places only. RequireOutput: the specification, or the framework
// about its own results, states the relation. RequireAsHeld: a new value or a gradient of what the
// plan reads is required in the relation in which that is read, which the builder takes from there.
// There is no third: a relation that was found in the program under test, or inferred, is never
// required.
#ifndef PLANPROOF_LINEAGE_PROBLEM_BUILDER_H_
#define PLANPROOF_LINEAGE_PROBLEM_BUILDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/cover.h"
#include "lineage/lineage.h"

namespace planproof::lineage {

class ProblemBuilder {
 public:
  // The reader's to fill. Tensors keep their numbers.
  sdfg::Graph logical;
  sdfg::Graph parallel;
  Schedule schedule;
  std::vector<Problem::InputPremise> premises;
  std::map<sdfg::TensorId, std::vector<solver::Rational>> recorded;
  std::vector<std::string> assumptions;
  std::vector<std::string> warnings;

  // Who holds a tensor, for messages ("program stage0", "device 3"), and whether the format
  // declares that the slices which its instances hold overlap without being equal.
  struct Holding {
    std::string holder;
    bool overlap = false;
  };

  // The plan does not compute `tensor`; its elements are those of a tensor that the model does not
  // compute. Errors: InvalidArgument, without position.
  absl::Status RelateInput(sdfg::TensorId tensor, Lineage lineage, Holding holding);
  // The same of a constant of a program, whose elements the reader has compared with those of the
  // model's constant: the plan need not have all of them. Errors as above.
  absl::Status RelateConstant(sdfg::TensorId tensor, Lineage lineage);
  // What the elements of a computed tensor are said to be; proved before it is used.
  void Claim(sdfg::TensorId tensor, Lineage lineage);
  // Of a tensor without relation: a lineage of kind kNone.
  const Lineage& LineageOf(sdfg::TensorId tensor) const;

  // The relation is a part of the specification.
  absl::Status RequireOutput(sdfg::TensorId tensor, Lineage lineage, std::string what,
                             Holding holding);
  // `logical`, a new value or the gradient of what `input` holds, in the relation of `input`, which
  // has the same local shape. `tensor` may vary over further axes: it is required at each of their
  // coordinates.
  absl::Status RequireAsHeld(sdfg::TensorId tensor, sdfg::TensorId logical, sdfg::TensorId input,
                             std::string what, Holding holding);
  // All of the logical value, which is required as something is held, must be required somewhere:
  // also if the plan holds nothing of that kind.
  void MustBeRequired(sdfg::TensorId logical);
  const std::vector<RequiredRelation>& required() const { return required_; }

  // What a check of the whole is about, so that a reader can say where in its files that stands.
  struct Subject {
    enum class Kind : uint8_t { kModel, kPlan, kInput, kOutput } kind = Kind::kModel;
    sdfg::TensorId logical = sdfg::kNone;  // kInput, kOutput
  };
  // Gives an error of the whole its place in the reader's files.
  using Locate = std::function<absl::Status(const Subject&, const absl::Status&)>;

  // The problem, checked as a whole; the builder is empty afterwards. Errors are InvalidArgument,
  // or Unimplemented where cover is not decided (CheckCoverOf).
  absl::StatusOr<Problem> Build(const Locate& locate = {});
  // The same without cover: of a problem that was built before and may have been changed since (the
  // raw form of plans), in which a slice that nobody holds is a difference like any other.
  absl::StatusOr<Problem> Rebuild();

 private:
  absl::Status CheckCover(const Locate& locate) const;
  absl::StatusOr<Problem> Finish(const Locate& locate);
  absl::Status CheckFull(sdfg::TensorId tensor, const Lineage& lineage) const;
  absl::Status CheckInput(sdfg::TensorId tensor, const Lineage& lineage) const;
  CoverBox BoxOf(sdfg::TensorId tensor, const Lineage& lineage, Holding holding) const;
  enum class Origin : uint8_t { kStated, kAsHeld };
  absl::Status AddRequired(Origin origin, sdfg::TensorId tensor, Lineage lineage, std::string what,
                           Holding holding);
  absl::Status CheckRelated() const;

  std::vector<Lineage> lineage_;  // by parallel tensor, as far as there are any
  std::vector<RequiredRelation> required_;
  // What the plan holds of an input, and what of an output is required: by logical tensor, and
  // outputs by whether they are required as something is held. Each of these is all of it.
  std::map<sdfg::TensorId, std::vector<CoverBox>> held_;
  std::map<std::pair<sdfg::TensorId, Origin>, std::vector<CoverBox>> asked_;
};

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_PROBLEM_BUILDER_H_
