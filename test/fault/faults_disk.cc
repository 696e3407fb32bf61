// A disk that is full.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "fault/fault.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

// Uses all free space on the disk of `directory`, until it is destroyed.
class Filler {
 public:
  explicit Filler(const std::string& directory) : path_(directory + "/filler") {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) throw std::runtime_error("cannot open " + path_ + ": " + std::strerror(errno));
  }
  ~Filler() {
    ::close(file_);
    std::filesystem::remove(path_);
  }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  // Repeats this, because space that is freed meanwhile must also be used.
  void Fill() const {
    static const std::string kZeros(std::size_t{1} << 16, '\0');
    std::size_t size = kZeros.size();
    while (size > 0) {
      const ssize_t written = ::write(file_, kZeros.data(), size);
      if (written < 0 && errno == ENOSPC) size /= 2;
    }
  }

 private:
  const std::string path_;
  int file_ = -1;
};

void FillDisk(Scene& scene) {
  // By default the broker stops accepting messages long before the disk is full; this test lets it
  // fill the disk.
  scene.node().Control({"set_disk_free_limit", "1"});
  {
    const Filler filler(scene.node().directory());
    for (const absl::Time end = absl::Now() + Scene::kLong; absl::Now() < end;) {
      filler.Fill();
      scene.Last(absl::Milliseconds(200));
    }
  }
  scene.node().Restart();
}

// A quorum queue whose process ended while the disk was full may not be started by the node that
// comes up next (rabbitmq-server issue 4512); its messages wait for another start.
void RestartAgain(Scene& scene) { scene.node().Restart(); }

}  // namespace

std::vector<Fault> DiskFaults() {
  return {
      {.name = "disk-full",
       .what =
           "the broker's disk has no space left for 9 s, its own alarm for that being off, and it "
           "may crash; then it is restarted",
       .place = Fault::Place::kSmallDisk,
       .classic_may_lose = "F25",
       .unstick = RestartAgain,
       .strike = FillDisk},
  };
}

}  // namespace retryq::fault
