// Remembers hashes of parts of terms under a colouring of symbols, since binders within binders are
// hashed again for each colour of each variable around them, most of which they do not mention. A
// hash orders what is equal either way (solver/structure.h), so that two keys that collide cost a
// form that is less canonical, and never make two terms one.
#ifndef PLANPROOF_SOLVER_STRUCTURE_HASHES_H_
#define PLANPROOF_SOLVER_STRUCTURE_HASHES_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace planproof::solver {

class StructureHashes {
 public:
  enum class Part : uint8_t { kAtom, kPoly };
  struct Key {
    Part part;
    uint32_t id;
    uint64_t colours;  // of the symbols that the part mentions, in their order
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.part, k.id, k.colours);
    }
  };

  // Null where it is not remembered; valid until the next Remember.
  const uint64_t* Find(const Key& key) const {
    const auto it = hashes_.find(key);
    return it == hashes_.end() ? nullptr : &it->second;
  }
  void Remember(const Key& key, uint64_t hash) {
    if (hashes_.size() >= kMaxEntries) hashes_.clear();
    hashes_.emplace(key, hash);
  }

 private:
  static constexpr size_t kMaxEntries = size_t{1} << 18;  // about 12 MB
  absl::flat_hash_map<Key, uint64_t> hashes_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_STRUCTURE_HASHES_H_
