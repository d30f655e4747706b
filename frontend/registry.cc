#include "frontend/registry.h"

namespace planproof::frontend {
namespace {

std::vector<const Reader*>& Registered() {
  static auto* const readers = new std::vector<const Reader*>{
#define PLANPROOF_READER(space, name) &space::name(),
#include "frontend/readers.inc"
#undef PLANPROOF_READER
  };
  return *readers;
}

}  // namespace

const std::vector<const Reader*>& Readers() { return Registered(); }

void AddReader(const Reader& reader) { Registered().push_back(&reader); }

const Reader* ReaderOf(const InputFile& file) {
  for (const Reader* reader : Readers()) {
    if (reader->Recognises(file)) return reader;
  }
  return nullptr;
}

}  // namespace planproof::frontend
