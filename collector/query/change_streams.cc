#include "collector/query/change_streams.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/query/query_api.h"

namespace fleetmark::collector {
namespace {

// Equal for equal messages. A plain serialisation has the entries of a map in any order.
std::string Fingerprint(const v1::GetStatusResponse& status) {
  std::string text;
  {
    google::protobuf::io::StringOutputStream stream(&text);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    status.SerializeToCodedStream(&out);
  }
  return text;
}

}  // namespace

struct ChangeStreams::Stream {
  explicit Stream(std::shared_ptr<ChangeStreams> s) : streams(std::move(s)) {}
  ~Stream() {
    MutexLock lock(streams->mu_);
    --streams->open_;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const std::shared_ptr<ChangeStreams> streams;
  bool begun = false;
  std::string last;  // without the time, which always changes
  MonoTime written;
};

absl::StatusOr<HttpResponse> ChangeStreams::Open() {
  {
    MutexLock lock(mu_);
    if (ended_) return absl::UnavailableError("the collector is stopping");
    if (open_ >= options_.max_streams) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", options_.max_streams, " readers follow changes; ask from time to time"));
    }
    ++open_;
  }
  const auto stream = std::make_shared<Stream>(shared_from_this());
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers["Cache-Control"] = "no-store";
  response.headers["X-Accel-Buffering"] = "no";  // a proxy must not hold it back
  response.stream = [stream](const HttpResponse::Write& write) {
    return stream->streams->WriteNext(*stream, write);
  };
  return response;
}

void ChangeStreams::End() {
  MutexLock lock(mu_);
  ended_ = true;
  end_.NotifyAll();
}

bool ChangeStreams::Wait() {
  MutexLock lock(mu_);
  const MonoTime deadline = options_.clock->Mono() + options_.interval;
  while (!ended_ && options_.clock->WaitUntil(end_, mu_, deadline)) {
  }
  return !ended_;
}

bool ChangeStreams::WriteNext(Stream& stream, const HttpResponse::Write& write) {
  if (stream.begun && !Wait()) return false;
  stream.begun = true;
  absl::StatusOr<v1::GetStatusResponse> status = options_.api->GetStatus({});
  if (!status.ok()) return false;
  const int64_t time = status->time_unix_ns();
  status->clear_time_unix_ns();
  status->clear_store_bytes();  // grows and shrinks by itself
  const std::string now = Fingerprint(*status);
  const MonoTime mono = options_.clock->Mono();
  if (now == stream.last) {
    if (mono - stream.written < options_.keep_alive) return true;
    stream.written = mono;
    return write(":\n\n");
  }
  stream.last = now;
  stream.written = mono;
  status->set_time_unix_ns(time);
  google::protobuf::util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  print.always_print_primitive_fields = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(*status, &json, print).ok()) return false;
  return write(absl::StrCat("retry: 2000\nevent: status\ndata: ", json, "\n\n"));
}

}  // namespace fleetmark::collector
