#include "cli/output/output.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"

namespace fleetmark::cli {
namespace {

void Write(FILE* to, std::string_view text) { fwrite(text.data(), 1, text.size(), to); }

}  // namespace

absl::Status Output::Json(const google::protobuf::Message& message) const {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return absl::InternalError(absl::StrCat("writing JSON: ", status.ToString()));
  Write(stdout, text);
  return absl::OkStatus();
}

void Output::Print(const Table& table, std::string_view when_empty) const {
  if (csv()) {
    Write(stdout, table.RenderCsv());
  } else if (table.empty()) {
    Note(when_empty);
  } else {
    Write(stdout, table.Render(options_.format == Format::kWide, options_.color));
  }
}

void Output::Say(std::string_view text) const {
  if (json() || csv()) return;
  Write(stdout, text);
  Write(stdout, "\n");
}

void Output::Raw(std::string_view text) const { Write(stdout, text); }

void Output::Note(std::string_view text) const {
  Write(stderr, text);
  Write(stderr, "\n");
}

}  // namespace fleetmark::cli
