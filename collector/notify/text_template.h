// A text with variables in double braces, "{{title}}: {{how_much}}", which are the parts of a message
// (alert_text.h). An unknown variable is an error when the template is made, not when it is needed.
//
//   {{name}}              the part; nothing where there is nothing to say
//   {{?name}}…{{/name}}   what is between, unless the part is empty; not one within another
//
// Thread-safety: const methods, any thread.
#ifndef FLEETMARK_COLLECTOR_NOTIFY_TEXT_TEMPLATE_H_
#define FLEETMARK_COLLECTOR_NOTIFY_TEXT_TEMPLATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

class TextTemplate {
 public:
  static constexpr size_t kMaxBytes = 16 * 1024;

  TextTemplate() = default;  // the whole message

  // InvalidArgument says what is wrong and where, and names the nearest known variable.
  static absl::StatusOr<TextTemplate> Parse(const std::string& text);

  std::string Render(const v1::Notice& notice, absl::Time now) const;

 private:
  struct Piece {
    std::string text;      // as it is
    std::string variable;  // after it; empty: none
    std::string only_if;   // nothing of it unless this part has something; empty: always
  };
  std::vector<Piece> pieces_;
  bool whole_message_ = true;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_TEXT_TEMPLATE_H_
