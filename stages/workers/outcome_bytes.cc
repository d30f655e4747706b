#include "stages/workers/outcome_bytes.h"

#include <cstdint>
#include <vector>

#include "stages/workers/byte_stream.h"

namespace planproof::stages {

using solver::PremiseKind;

namespace {

bool ReadConditions(const std::string& bytes, ByteReader* in, std::vector<Condition>* out) {
  int64_t n;
  if (!in->Int(&n) || n < 0 || static_cast<uint64_t>(n) > bytes.size()) return false;
  out->resize(static_cast<size_t>(n));
  for (Condition& c : *out) {
    int64_t kind, never;
    if (!in->Int(&kind) || kind < 0 || kind > static_cast<int64_t>(PremiseKind::kNonNegative)) {
      return false;
    }
    c.kind = static_cast<PremiseKind>(kind);
    if (!in->Text(&c.operator_name) || !in->Text(&c.term) || !in->Int(&never) ||
        !in->Text(&c.declared)) {
      return false;
    }
    c.never = never != 0;
  }
  return true;
}

}  // namespace

std::string ToBytes(const ClaimOutcome& o) {
  std::string out;
  PutInt(static_cast<int64_t>(o.status), &out);
  PutInt(static_cast<int64_t>(o.method), &out);
  PutInt(static_cast<int64_t>(o.limit), &out);
  PutInt(o.unsatisfiable, &out);
  PutInt(o.cells, &out);
  PutInt(static_cast<int64_t>(o.evaluate_s * 1e9), &out);
  for (const std::string* s : {&o.reason, &o.logical_term, &o.parallel_term, &o.difference}) {
    PutText(*s, &out);
  }
  for (const auto* list : {&o.premises, &o.restrictions}) {
    PutInt(static_cast<int64_t>(list->size()), &out);
    for (const Condition& c : *list) {
      PutInt(static_cast<int64_t>(c.kind), &out);
      PutText(c.operator_name, &out);
      PutText(c.term, &out);
      PutInt(c.never, &out);
      PutText(c.declared, &out);
    }
  }
  PutInt(static_cast<int64_t>(o.box.size()), &out);
  for (const auto& [low, high] : o.box) {
    PutInt(low, &out);
    PutInt(high, &out);
  }
  PutInt(static_cast<int64_t>(o.mentioned.size()), &out);
  for (int32_t tensor : o.mentioned) PutInt(tensor, &out);
  return out;
}

bool FromBytes(const std::string& bytes, ClaimOutcome* o) {
  ByteReader in(bytes);
  int64_t status, method, limit, unsatisfiable, nanoseconds;
  if (!in.Int(&status) || !in.Int(&method) || !in.Int(&limit) || !in.Int(&unsatisfiable) ||
      !in.Int(&o->cells) || !in.Int(&nanoseconds)) {
    return false;
  }
  o->evaluate_s = static_cast<double>(nanoseconds) * 1e-9;
  if (status < 0 || status > static_cast<int64_t>(ClaimStatus::kAbandoned)) return false;
  o->status = static_cast<ClaimStatus>(status);
  if (method < 0 || method > static_cast<int64_t>(ProofMethod::kZ3Unfolded)) return false;
  o->method = static_cast<ProofMethod>(method);
  if (limit < 0 || limit > static_cast<int64_t>(Limit::kMemory)) return false;
  o->limit = static_cast<Limit>(limit);
  o->unsatisfiable = unsatisfiable != 0;
  for (std::string* s : {&o->reason, &o->logical_term, &o->parallel_term, &o->difference}) {
    if (!in.Text(s)) return false;
  }
  int64_t dims;
  if (!ReadConditions(bytes, &in, &o->premises) || !ReadConditions(bytes, &in, &o->restrictions) ||
      !in.Int(&dims) || dims < 0 || static_cast<uint64_t>(dims) > bytes.size()) {
    return false;
  }
  o->box.resize(static_cast<size_t>(dims));
  for (auto& [low, high] : o->box) {
    if (!in.Int(&low) || !in.Int(&high)) return false;
  }
  if (!in.Int(&dims) || dims < 0 || static_cast<uint64_t>(dims) > bytes.size()) return false;
  o->mentioned.resize(static_cast<size_t>(dims));
  for (int32_t& tensor : o->mentioned) {
    int64_t value;
    if (!in.Int(&value)) return false;
    tensor = static_cast<int32_t>(value);
  }
  return in.AtEnd();
}

}  // namespace planproof::stages
