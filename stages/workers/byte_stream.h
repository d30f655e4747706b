// Numbers and texts as bytes, for the way from a worker to its parent: one program, one machine.
#ifndef PLANPROOF_STAGES_WORKERS_BYTE_STREAM_H_
#define PLANPROOF_STAGES_WORKERS_BYTE_STREAM_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace planproof::stages {

inline void PutInt(int64_t v, std::string* out) {
  char buffer[8];
  std::memcpy(buffer, &v, 8);
  out->append(buffer, 8);
}

inline void PutReal(double v, std::string* out) {
  char buffer[8];
  std::memcpy(buffer, &v, 8);
  out->append(buffer, 8);
}

inline void PutText(const std::string& s, std::string* out) {
  PutInt(static_cast<int64_t>(s.size()), out);
  out->append(s);
}

inline void PutTexts(const std::vector<std::string>& list, std::string* out) {
  PutInt(static_cast<int64_t>(list.size()), out);
  for (const std::string& s : list) PutText(s, out);
}

template <typename Int>
void PutInts(const std::vector<Int>& list, std::string* out) {
  PutInt(static_cast<int64_t>(list.size()), out);
  for (const Int v : list) PutInt(v, out);
}

// Every function is false where the bytes are not such a value.
class ByteReader {
 public:
  explicit ByteReader(const std::string& bytes) : bytes_(bytes) {}

  bool Int(int64_t* v) { return Eight(v); }
  bool Real(double* v) { return Eight(v); }
  bool Text(std::string* s) {
    size_t n;
    if (!Length(1, &n)) return false;
    s->assign(bytes_, at_, n);
    at_ += n;
    return true;
  }
  bool Texts(std::vector<std::string>* list) {
    size_t n;
    if (!Length(8, &n)) return false;
    list->resize(n);
    for (std::string& s : *list) {
      if (!Text(&s)) return false;
    }
    return true;
  }
  template <typename Number>
  bool Ints(std::vector<Number>* list) {
    size_t n;
    if (!Length(8, &n)) return false;
    list->resize(n);
    for (Number& number : *list) {
      if (!Int(&number)) return false;
    }
    return true;
  }
  // An integer of another type, or an enumerator.
  template <typename Number>
  bool Int(Number* number) {
    int64_t v;
    if (!Eight(&v)) return false;
    *number = static_cast<Number>(v);
    return true;
  }
  bool AtEnd() const { return at_ == bytes_.size(); }

 private:
  template <typename T>
  bool Eight(T* v) {
    static_assert(sizeof(T) == 8);
    if (bytes_.size() - at_ < 8) return false;
    std::memcpy(v, bytes_.data() + at_, 8);
    at_ += 8;
    return true;
  }
  // A length of so many pieces of at least `size` bytes each.
  bool Length(size_t size, size_t* n) {
    int64_t v;
    if (!Eight(&v) || v < 0 || static_cast<uint64_t>(v) > (bytes_.size() - at_) / size)
      return false;
    *n = static_cast<size_t>(v);
    return true;
  }

  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_BYTE_STREAM_H_
