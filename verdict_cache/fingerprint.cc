#include "verdict_cache/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace planproof::verdict_cache {

std::string Fingerprint::Bytes() const {
  std::string bytes(sizeof(low) + sizeof(high), '\0');
  std::memcpy(bytes.data(), &low, sizeof(low));
  std::memcpy(bytes.data() + sizeof(low), &high, sizeof(high));
  return bytes;
}

Fingerprint FingerprintOf(std::initializer_list<std::string_view> parts) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const std::string_view part : parts) {
    const uint64_t size = part.size();
    XXH3_128bits_update(&state, &size, sizeof(size));
    XXH3_128bits_update(&state, part.data(), part.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

}  // namespace planproof::verdict_cache
