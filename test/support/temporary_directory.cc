#include "support/temporary_directory.h"

#include <filesystem>
#include <fstream>

#include "support/standard.h"

namespace retryq::testing {

TemporaryDirectory::TemporaryDirectory()
    : path_(std::filesystem::temp_directory_path() / "retryq-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

std::string TemporaryDirectory::Write(const std::string& name, const std::string& text,
                                      bool executable) const {
  std::ofstream(File(name)) << text;
  if (executable) std::filesystem::permissions(File(name), std::filesystem::perms::owner_all);
  return File(name);
}

std::string TemporaryDirectory::Read(const std::string& name) const {
  std::ifstream file(File(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace retryq::testing
