// Where a command writes: results to standard output in the format that was asked for, everything else to
// standard error.
//
// Thread-safety: none; main's.
#ifndef FLEETMARK_CLI_OUTPUT_OUTPUT_H_
#define FLEETMARK_CLI_OUTPUT_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "cli/output/table.h"

namespace google::protobuf {
class Message;
}

namespace fleetmark::cli {

enum class Format { kTable, kWide, kJson, kCsv };

class Output {
 public:
  struct Options {
    Format format = Format::kTable;
    bool color = false;   // on standard output
    bool live = false;    // standard error is a terminal, so that a line may be redrawn
    size_t columns = 80;  // of the terminal
  };

  explicit Output(Options options) : options_(options) {}

  Format format() const { return options_.format; }
  bool json() const { return options_.format == Format::kJson; }
  bool csv() const { return options_.format == Format::kCsv; }
  bool color() const { return options_.color; }
  bool live() const { return options_.live; }
  size_t columns() const { return options_.columns; }

  // The message as JSON with the names of its .proto file: one document, one newline.
  absl::Status Json(const google::protobuf::Message& message) const;

  // The table in the format asked for (not JSON). An empty one is said in words on standard error, so that
  // standard output stays empty for scripts; as CSV it is the header alone.
  void Print(const Table& table, std::string_view when_empty) const;

  // A line or paragraph for people; nothing as JSON or CSV.
  void Say(std::string_view text) const;

  // Text that is the result itself, in every format.
  void Raw(std::string_view text) const;

  // To standard error.
  void Note(std::string_view text) const;

 private:
  const Options options_;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_CLI_OUTPUT_OUTPUT_H_
