// Records for tests of the spool and of what reads it.
#ifndef FLEETMARK_TESTS_UNIT_AGENT_SPOOL_RECORDS_H_
#define FLEETMARK_TESTS_UNIT_AGENT_SPOOL_RECORDS_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/spool/spool.h"

namespace fleetmark::agent {

// Removed with all its content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fleetmark-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline v1::Record RunRecord(std::string text) {
  v1::Record record;
  record.mutable_run()->set_benchmark("b");
  record.mutable_run()->set_reason(std::move(text));
  return record;
}

// What the spool holds: the text of each run, "report N" for drops, the message of other events.
inline std::vector<std::string> TextsOf(Spool& spool) {
  std::vector<std::string> texts;
  const auto batch = spool.ReadAfter(0, 64 << 20, 1'000'000);
  if (!batch.ok()) return {batch.status().ToString()};
  for (const v1::Record& record : batch->records()) {
    if (record.has_run()) {
      texts.push_back(record.run().reason());
    } else if (record.event().kind() == v1::Event::KIND_RECORDS_DROPPED) {
      texts.push_back("report " + record.event().new_value());
    } else {
      texts.push_back(record.event().message());
    }
  }
  return texts;
}

}  // namespace fleetmark::agent

#endif  // FLEETMARK_TESTS_UNIT_AGENT_SPOOL_RECORDS_H_
