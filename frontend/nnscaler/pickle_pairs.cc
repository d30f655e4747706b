// The reader of nnScaler's pickles, as the registry knows it.
#include "frontend/nnscaler/reader.h"
#include "frontend/registry.h"

namespace planproof::frontend::nnscaler {
namespace {

class PicklePairReader : public Reader {
 public:
  std::string_view Name() const override { return "nnScaler pickle"; }

  // The opcode PROTO and the number of a protocol; protocols 0 and 1 start with a text opcode and
  // are not written by anything we read.
  bool Recognises(const InputFile& file) const override {
    return file.start.size() > 1 && static_cast<unsigned char>(file.start[0]) == 0x80 &&
           static_cast<unsigned char>(file.start[1]) <= 5;
  }

  // An nnScaler plan is verified against its single-device plan.
  Files HowMany() const override { return {2, 2, "LOGICAL PARALLEL"}; }

  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const ReadOptions& options) const override {
    ReaderOptions reader;
    reader.operators = options.operators;
    reader.collective_order =
        options.collective_by_rank ? CollectiveOrder::kRank : CollectiveOrder::kIndexMap;
    return ReadPair(paths[0], paths[1], reader);
  }
};

}  // namespace

const Reader& PicklePairs() {
  static const auto* const reader = new PicklePairReader;
  return *reader;
}

}  // namespace planproof::frontend::nnscaler
