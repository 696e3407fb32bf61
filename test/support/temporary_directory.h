#ifndef RETRYQ_TEST_SUPPORT_TEMPORARY_DIRECTORY_H_
#define RETRYQ_TEST_SUPPORT_TEMPORARY_DIRECTORY_H_

#include <string>

namespace retryq::testing {

// A directory that is removed with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  std::string File(const std::string& name) const { return path_ + "/" + name; }

  std::string Write(const std::string& name, const std::string& text,
                    bool executable = false) const;

  std::string Read(const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_TEMPORARY_DIRECTORY_H_
