#ifndef RETRYQ_TEST_SUPPORT_TEMPORARY_DIRECTORY_H_
#define RETRYQ_TEST_SUPPORT_TEMPORARY_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace retryq::testing {

// A directory that goes with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "retryq-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  std::string File(const std::string& name) const { return (path_ / name).string(); }

  std::string Write(const std::string& name, const std::string& text,
                    bool executable = false) const {
    std::ofstream(File(name)) << text;
    if (executable) std::filesystem::permissions(File(name), std::filesystem::perms::owner_all);
    return File(name);
  }

  std::string Read(const std::string& name) const {
    std::ifstream file(File(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_TEMPORARY_DIRECTORY_H_
