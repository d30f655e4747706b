#include "dumps/npz_file.h"

#include <minizip/unzip.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <regex>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {
namespace {

constexpr size_t kMostNpyHeader = 1 << 16;
constexpr size_t kMagicBytes = 8;  // "\x93NUMPY", major and minor version
constexpr size_t kMostNameBytes = 4096;

struct NumpyType {
  std::string_view code;
  sdfg::DType dtype;
};
constexpr std::array<NumpyType, 9> kNumpyTypes = {{{"<f8", sdfg::DType::kFloat64},
                                                   {"<f4", sdfg::DType::kFloat32},
                                                   {"<f2", sdfg::DType::kFloat16},
                                                   {"<i8", sdfg::DType::kInt64},
                                                   {"<i4", sdfg::DType::kInt32},
                                                   {"<i2", sdfg::DType::kInt16},
                                                   {"|i1", sdfg::DType::kInt8},
                                                   {"|u1", sdfg::DType::kUInt8},
                                                   {"|b1", sdfg::DType::kBool}}};

struct Member {
  unz64_file_pos position = {};
  size_t header = 0;  // bytes before the elements
  size_t elements = 0;
};

class NpzFile : public TensorFile {
 public:
  explicit NpzFile(std::string path) : path_(std::move(path)), archive_(unzOpen64(path_.c_str())) {}
  NpzFile(const NpzFile&) = delete;
  NpzFile& operator=(const NpzFile&) = delete;
  ~NpzFile() override {
    if (archive_ != nullptr) unzClose(archive_);
  }

  absl::Status ReadDirectory() {
    if (archive_ == nullptr) return Refuse("/", "a damaged archive; dump it again");
    for (int status = unzGoToFirstFile(archive_); status != UNZ_END_OF_LIST_OF_FILE;
         status = unzGoToNextFile(archive_)) {
      if (status != UNZ_OK) return Refuse("/", "a damaged archive; dump it again");
      if (members_.size() >= kMostTensors) return Refuse("/", "too many tensors");
      PLAN_RETURN_IF_ERROR(AddMember());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Read(const std::string& name) override {
    const auto found = members_.find(name);
    if (found == members_.end())
      return absl::InternalError("an array that the archive does not have");
    Member& member = found->second;
    if (unzGoToFilePos64(archive_, &member.position) != UNZ_OK ||
        unzOpenCurrentFile(archive_) != UNZ_OK) {
      return Refuse(name, "cannot be read; dump it again");
    }
    std::string bytes(member.header, '\0');
    bool whole = ReadMember(bytes.data(), bytes.size());
    bytes.resize(member.elements);
    whole = whole && ReadMember(bytes.data(), bytes.size());
    // Closing compares the checksum once all has been read.
    if (unzCloseCurrentFile(archive_) != UNZ_OK || !whole)
      return Refuse(name, "is damaged; dump it again");
    return bytes;
  }

 private:
  absl::Status Refuse(const std::string& place, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", place, ": ", what));
  }

  // Of the member that is open.
  bool ReadMember(char* out, size_t bytes) {
    constexpr size_t kMostAtOnce = size_t{1} << 30;
    while (bytes > 0) {
      const int got =
          unzReadCurrentFile(archive_, out, static_cast<unsigned>(std::min(bytes, kMostAtOnce)));
      if (got <= 0) return false;
      out += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }

  absl::Status AddMember() {
    unz_file_info64 info = {};
    std::string name(kMostNameBytes, '\0');
    if (unzGetCurrentFileInfo64(archive_, &info, name.data(), name.size() - 1, nullptr, 0, nullptr,
                                0) != UNZ_OK ||
        info.size_filename >= name.size()) {
      return Refuse("/", "a damaged archive; dump it again");
    }
    name.resize(info.size_filename);
    Member member;
    if (unzGetFilePos64(archive_, &member.position) != UNZ_OK ||
        unzOpenCurrentFile(archive_) != UNZ_OK) {
      return Refuse(name, "cannot be read; is it encrypted? dump it again");
    }
    const absl::StatusOr<TensorType> type = ReadNpyHeader(&member);
    unzCloseCurrentFile(archive_);  // not all was read: no checksum
    if (!type.ok()) return Refuse(name, std::string(type.status().message()));
    const absl::StatusOr<int64_t> count = CountElements(type->shape);
    if (!count.ok()) return Refuse(name, std::string(count.status().message()));
    member.elements = static_cast<size_t>(*count * BytesOf(type->dtype));
    if (member.header + member.elements != info.uncompressed_size)
      return Refuse(name, "its size is not that of its elements; dump it again");
    name = std::string(absl::StripSuffix(name, ".npy"));
    if (!members_.emplace(name, member).second) return Refuse(name, "is there twice");
    tensors_[name] = *type;
    return absl::OkStatus();
  }

  absl::StatusOr<TensorType> ReadNpyHeader(Member* member) {
    constexpr std::string_view kMagic = "\x93NUMPY";
    std::array<char, kMagicBytes> magic = {};
    const auto damaged = [] { return absl::InvalidArgumentError("it is no array of numpy's"); };
    if (!ReadMember(magic.data(), magic.size()) ||
        std::string_view(magic.data(), kMagic.size()) != kMagic) {
      return damaged();
    }
    const int version = magic[kMagic.size()];
    const size_t length_bytes = version == 1 ? 2 : 4;
    uint32_t length = 0;
    std::array<char, 4> raw = {};
    if (version < 1 || version > 3 || !ReadMember(raw.data(), length_bytes)) return damaged();
    std::memcpy(&length, raw.data(), raw.size());
    if (length > kMostNpyHeader) return damaged();
    std::string text(length, '\0');
    if (!ReadMember(text.data(), text.size())) return damaged();
    member->header = kMagicBytes + length_bytes + length;
    return ParseNpyHeader(text);
  }

  const std::string path_;
  unzFile archive_;
  std::map<std::string, Member> members_;
};

}  // namespace

absl::StatusOr<TensorType> ParseNpyHeader(std::string_view text) {
  static const std::regex* const form = new std::regex(
      R"re(\{'descr': '([^']{1,8})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,700})\),? ?\}\s{0,200})re");
  std::match_results<std::string_view::const_iterator> match;
  if (text.size() > 1024 || !std::regex_match(text.begin(), text.end(), match, *form)) {
    return absl::InvalidArgumentError(
        "an array of plain numbers is expected (no objects, no structures); save it with "
        "numpy.savez");
  }
  TensorType type;
  for (const NumpyType& known : kNumpyTypes) {
    if (match[1].str() == known.code) type.dtype = known.dtype;
  }
  if (type.dtype == sdfg::DType::kUnknown) {
    return absl::InvalidArgumentError(
        absl::StrCat("elements of type '", match[1].str(),
                     "' are not read; of bfloat16 and FP8 write safetensors"));
  }
  if (match[2].length() == 4) {  // True
    return absl::InvalidArgumentError(
        "it is in column-major order; save numpy.ascontiguousarray of it");
  }
  const std::string extents = match[3].str();
  for (const absl::string_view word :
       absl::StrSplit(extents, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    int64_t extent = 0;
    if (!absl::SimpleAtoi(word, &extent))
      return absl::InvalidArgumentError("an extent is too large");
    type.shape.push_back(extent);
  }
  return type;
}

absl::StatusOr<std::unique_ptr<TensorFile>> OpenNpz(const std::string& path) {
  auto opened = std::make_unique<NpzFile>(path);
  PLAN_RETURN_IF_ERROR(opened->ReadDirectory());
  return std::unique_ptr<TensorFile>(std::move(opened));
}

}  // namespace planproof::dumps
