// Reads and writes relations that were proved, as a file (docs/inference.md).
//
// A certificate says what to claim; each of its relations is proved again where it is used. One of
// an older version of a plan is a hint.
#ifndef PLANPROOF_INFERENCE_CERTIFICATE_H_
#define PLANPROOF_INFERENCE_CERTIFICATE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/relation_inference.h"
#include "stages/result.h"

namespace planproof::inference {

struct Certificate {
  std::vector<stages::ProvedRelation> relations;
  // Tensors that have none.
  std::vector<std::pair<std::string, int64_t>> unrelated;
};

Certificate CertificateOf(const stages::Result& result);

// JSON, one relation a line.
std::string ToText(const Certificate& certificate);
// InvalidArgument: "/relations/3/map: what is wrong"; ResourceExhausted beyond the limits.
absl::StatusOr<Certificate> FromText(std::string_view text);

// Claims what a certificate says, as far as there are such tensors. What it does not mention is
// inferred, if that is wanted; where all that proves nothing, everything is.
class CertifiedRelations : public stages::LineageInference {
 public:
  CertifiedRelations(Certificate certificate, bool infer_rest)
      : certificate_(std::move(certificate)), infer_rest_(infer_rest) {}

  stages::InferredRelations Infer(const lineage::Problem& problem,
                                  const stages::StopRequest* stop) const override;
  const stages::LineageInference* Otherwise(const lineage::Problem&, bool) const override {
    return infer_rest_ ? &inference_ : nullptr;
  }

 private:
  const Certificate certificate_;
  const bool infer_rest_;
  const RelationInference inference_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_CERTIFICATE_H_
