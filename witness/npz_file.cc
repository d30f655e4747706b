#include "witness/npz_file.h"

#include <zlib.h>

#include <bit>
#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::witness {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kAlignment = 64;  // of the numbers in a .npy file
constexpr uint16_t kZipVersion = 20, kDeflated = 8;
constexpr uint16_t kFirstDay = 0x21;  // 1 January 1980: equal arrays make equal files

template <typename T>
void Append(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
void AppendAll(const std::vector<T>& values, std::string* out) {
  if (!values.empty())
    out->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string Npy(const NpzArray& array) {
  std::string header = absl::StrCat(
      "{'descr': '", array.is_integer ? "<i8" : "<f8", "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(array.shape, ", "), array.shape.size() == 1 ? ",), }" : "), }");
  constexpr size_t kBefore = 10;  // magic, version, length
  header.append(kAlignment - 1 - (kBefore + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  Append(static_cast<uint16_t>(header.size()), &out);
  out += header;
  AppendAll(array.reals, &out);
  AppendAll(array.integers, &out);
  return out;
}

// Without zlib's own header, as archives have it.
absl::StatusOr<std::string> Deflated(std::string_view bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return absl::InternalError("zlib could not be started");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (end != Z_STREAM_END) return absl::InternalError("zlib could not compress");
  return out;
}

}  // namespace

absl::StatusOr<std::string> ToNpz(const std::vector<NpzArray>& arrays) {
  std::string out, directory;
  size_t total = 0;
  for (const NpzArray& array : arrays) {
    total += (array.reals.size() + array.integers.size()) * sizeof(double);
    if (total > kMostBytes) return absl::ResourceExhaustedError("the arrays together exceed 1 GiB");
    const std::string bytes = Npy(array), name = array.name + ".npy";
    const absl::StatusOr<std::string> packed = Deflated(bytes);
    if (!packed.ok()) return packed.status();
    const auto offset = static_cast<uint32_t>(out.size());
    std::string entry;  // what both headers of an entry have
    Append(kZipVersion, &entry);
    Append(uint16_t{0}, &entry);  // flags
    Append(kDeflated, &entry);
    Append(uint16_t{0}, &entry);  // time
    Append(kFirstDay, &entry);
    const uLong sum =
        crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    Append(static_cast<uint32_t>(sum), &entry);
    Append(static_cast<uint32_t>(packed->size()), &entry);
    Append(static_cast<uint32_t>(bytes.size()), &entry);
    Append(static_cast<uint16_t>(name.size()), &entry);
    Append(uint16_t{0}, &entry);  // no extra field
    absl::StrAppend(&out, "PK\x03\x04", entry, name, *packed);
    absl::StrAppend(&directory, "PK\x01\x02");
    Append(kZipVersion, &directory);
    directory += entry;
    directory.append(10, '\0');  // comment, disk, attributes
    Append(offset, &directory);
    directory += name;
  }
  const auto start = static_cast<uint32_t>(out.size());
  absl::StrAppend(&out, directory, "PK\x05\x06");
  Append(uint32_t{0}, &out);  // one disk
  Append(static_cast<uint16_t>(arrays.size()), &out);
  Append(static_cast<uint16_t>(arrays.size()), &out);
  Append(static_cast<uint32_t>(directory.size()), &out);
  Append(start, &out);
  Append(uint16_t{0}, &out);  // no comment
  return out;
}

}  // namespace planproof::witness
