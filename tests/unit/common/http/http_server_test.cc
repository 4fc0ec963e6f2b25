#include "common/http/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(HttpServer, ServesHandlersAndTurnsErrorsIntoJson) {
  HttpServer server;
  server.Handle("GET", "/hello", [](const HttpRequest& request) -> absl::StatusOr<HttpResponse> {
    return HttpResponse{.content_type = "text/plain", .body = "hi " + request.Query("name")};
  });
  server.Handle("GET", "/fail", [](const HttpRequest&) -> absl::StatusOr<HttpResponse> {
    return absl::InvalidArgumentError("limit: must be \"small\"");
  });
  const int port = server.Start("127.0.0.1", 0).value();
  httplib::Client client("127.0.0.1", port);

  auto hello = client.Get("/hello?name=you");
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->status, 200);
  EXPECT_EQ(hello->body, "hi you");

  auto fail = client.Get("/fail");
  EXPECT_EQ(fail->status, 400);
  EXPECT_EQ(fail->body, "{\"code\":\"INVALID_ARGUMENT\",\"message\":\"limit: must be \\\"small\\\"\"}\n");

  auto missing = client.Get("/nothing");
  EXPECT_EQ(missing->status, 404);
  EXPECT_NE(missing->body.find("nothing is served at /nothing"), std::string::npos);
}

TEST(HttpServer, StreamsPieceByPiece) {
  HttpServer server;
  server.Handle("POST", "/stream", [](const HttpRequest&) -> absl::StatusOr<HttpResponse> {
    HttpResponse response;
    response.content_type = "text/plain";
    response.stream = [n = 0](const HttpResponse::Write& write) mutable {
      return write(std::to_string(n) + "\n") && ++n < 3;
    };
    return response;
  });
  const int port = server.Start("127.0.0.1", 0).value();
  httplib::Client client("127.0.0.1", port);
  EXPECT_EQ(client.Post("/stream")->body, "0\n1\n2\n");
}

TEST(HttpServer, AnAddressInUseIsAnError) {
  HttpServer first, second;
  const int port = first.Start("127.0.0.1", 0).value();
  const absl::Status status = second.Start("127.0.0.1", port).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("Address already in use"), absl::string_view::npos) << status;
}

// As `curl -X POST` without data does.
TEST(HttpServer, APostWithoutALengthIsRefusedAtOnce) {
  HttpServer server;
  server.Handle("POST", "/x",
                [](const HttpRequest&) -> absl::StatusOr<HttpResponse> { return HttpResponse{}; });
  const int port = server.Start("127.0.0.1", 0).value();
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string request = "POST /x HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  char answer[64] = "";
  ASSERT_GT(recv(fd, answer, sizeof answer - 1, 0), 0);
  EXPECT_EQ(std::string(answer).substr(0, 12), "HTTP/1.1 411");
  close(fd);
}

TEST(HttpServer, ErrorsAreJsonWhateverBytesTheyQuote) {
  const std::string body = ErrorResponse(absl::InvalidArgumentError("not a time: \xff")).body;
  EXPECT_NE(body.find("not a time: \xEF\xBF\xBD"), std::string::npos) << body;
}

TEST(HttpServer, ABodyAboveTheBoundIsRefused) {
  HttpServer server;
  server.Handle("POST", "/x",
                [](const HttpRequest&) -> absl::StatusOr<HttpResponse> { return HttpResponse{}; });
  const int port = server.Start("127.0.0.1", 0).value();
  httplib::Client client("127.0.0.1", port);
  auto response = client.Post("/x", std::string(2 << 20, 'x'), "text/plain");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 413);
}

TEST(HttpServer, StopIsIdempotentAndQuick) {
  HttpServer server;
  ASSERT_TRUE(server.Start("127.0.0.1", 0).ok());
  server.Stop();
  server.Stop();
  HttpServer never_started;
  never_started.Stop();
}

}  // namespace
}  // namespace fleetmark
