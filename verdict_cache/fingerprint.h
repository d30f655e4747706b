// Computes checksums of stored bytes. They find rows and notice damage; what decides a hit is the
// comparison of all bytes.
#ifndef PLANPROOF_VERDICT_CACHE_FINGERPRINT_H_
#define PLANPROOF_VERDICT_CACHE_FINGERPRINT_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace planproof::verdict_cache {

// 128 bits (XXH3) of the parts and their lengths: ("ab", "c") differs from ("a", "bc").
struct Fingerprint {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  std::string Bytes() const;  // 16 bytes
};

Fingerprint FingerprintOf(std::initializer_list<std::string_view> parts);

}  // namespace planproof::verdict_cache

#endif  // PLANPROOF_VERDICT_CACHE_FINGERPRINT_H_
