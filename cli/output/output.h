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

enum class Format { kTable, kWide, kJson, kYaml, kCsv };

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
  // One document, as Document or DocumentText writes it, and nothing else.
  bool document() const { return options_.format == Format::kJson || options_.format == Format::kYaml; }
  bool csv() const { return options_.format == Format::kCsv; }
  bool color() const { return options_.color; }
  bool live() const { return options_.live; }
  size_t columns() const { return options_.columns; }

  // The message as JSON or YAML with the names of its .proto file: one document, one newline.
  absl::Status Document(const google::protobuf::Message& message) const;

  // One that is JSON already, without a newline at its end.
  absl::Status DocumentText(const std::string& json) const;

  // The table in the format asked for (not a document). An empty one is said in words on standard error, so
  // that standard output stays empty for scripts; as CSV it is the header alone.
  void Print(const Table& table, std::string_view when_empty) const;

  // A line or paragraph for people; nothing as a document or CSV.
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
