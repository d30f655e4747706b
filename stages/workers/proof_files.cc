#include "stages/workers/proof_files.h"

#include <cstdlib>
#include <utility>

#include "stages/engine_version.h"

namespace planproof::stages {
namespace {

constexpr char kFileName[] = "verdicts.sqlite";

}  // namespace

std::string DefaultCacheDirectory() {
  // Relative paths are to be ignored (XDG Base Directory Specification).
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
    return std::string(cache) + "/planproof";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/.cache/planproof";
  return "";
}

std::unique_ptr<verdict_cache::Store> CacheIn(const std::string& directory, int64_t megabytes) {
  const std::string place = directory.empty() ? DefaultCacheDirectory() : directory;
  if (place.empty()) return nullptr;
  verdict_cache::StoreOptions options;
  options.path = place + "/" + kFileName;
  options.engine = stages::EngineVersion();
  options.size_limit = megabytes << 20;
  return std::make_unique<verdict_cache::Store>(std::move(options));
}

std::unique_ptr<verdict_cache::Store> JournalIn(const std::string& file) {
  verdict_cache::StoreOptions options;
  options.path = file;
  options.engine = stages::EngineVersion();
  options.size_limit = int64_t{1} << 40;  // of one run, which ends
  options.foreign = verdict_cache::Foreign::kRefuse;
  return std::make_unique<verdict_cache::Store>(std::move(options));
}

}  // namespace planproof::stages
