// A folder of its own for a test, with short ways to write files below it.
#ifndef FLEETMARK_TESTS_UNIT_AGENT_GATE_FILES_H_
#define FLEETMARK_TESTS_UNIT_AGENT_GATE_FILES_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace fleetmark::agent {

class Files {
 public:
  Files() {
    std::string pattern = testing::TempDir() + "fm_gate_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~Files() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  std::string Path(const std::string& path) const { return root_ + path; }
  void Folder(const std::string& path) const { std::filesystem::create_directories(root_ + path); }
  void Remove(const std::string& path) const { std::filesystem::remove_all(root_ + path); }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

 private:
  std::string root_;
};

// A process's folder in /proc, with its times in ticks.
inline void WriteProcess(const Files& files, int pid, int parent, const std::string& name, int user,
                         int children_user = 0, const std::string& children = "") {
  const std::string folder = "/proc/" + std::to_string(pid);
  files.Write(folder + "/stat", std::to_string(pid) + " (" + name + ") S " + std::to_string(parent) +
                                    " 1 1 0 -1 0 0 0 0 0 " + std::to_string(user) + " 0 " +
                                    std::to_string(children_user) + " 0 20 0 1 0 1000 0 0\n");
  files.Write(folder + "/task/" + std::to_string(pid) + "/children", children);
}

}  // namespace fleetmark::agent

#endif  // FLEETMARK_TESTS_UNIT_AGENT_GATE_FILES_H_
