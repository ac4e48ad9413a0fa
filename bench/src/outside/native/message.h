/* HTTP/1.1 messages with a content-length or in chunks, for the client and the receiver of bench:outside. */
#define _GNU_SOURCE
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A connection with the bytes that were read from it and not yet processed. */
struct connection {
  int fd;
  int number; /* in the client: the event whose answer is awaited, or -1 */
  size_t have, room;
  char *bytes;
};

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void send_at_once(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Reads the bytes that have arrived; returns 0 if the connection is closed or broken. */
static int read_more(struct connection *from) {
  if (from->room - from->have < 4096) {
    from->room = from->room ? from->room * 2 : 16384;
    from->bytes = realloc(from->bytes, from->room);
    if (!from->bytes) fail("realloc");
  }
  ssize_t size = read(from->fd, from->bytes + from->have, from->room - from->have);
  if (size <= 0) return 0;
  from->have += size;
  return 1;
}

/* Returns the length of the first message, or 0 while it is incomplete. Sets `body` to the offset of its body. */
static size_t message_length(const struct connection *from, size_t *body) {
  const char *end = memmem(from->bytes, from->have, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t length = 0;
  int chunked = 0;
  for (const char *line = from->bytes; line < end;) {
    line = (const char *)memchr(line, '\n', end + 2 - line) + 1;
    if (!strncasecmp(line, "content-length:", 15)) length = strtoul(line + 15, NULL, 10);
    else if (!strncasecmp(line, "transfer-encoding: chunked", 26)) chunked = 1;
  }
  *body = end + 4 - from->bytes;
  if (chunked) {
    /* Searches from the end of the head on, because the body may consist of the last chunk alone. */
    const char *last = memmem(end + 2, from->bytes + from->have - end - 2, "\r\n0\r\n\r\n", 7);
    return last ? last + 7 - from->bytes : 0;
  }
  return *body + length <= from->have ? *body + length : 0;
}

/* Removes a processed message from the buffer. */
static void drop(struct connection *from, size_t length) {
  from->have -= length;
  if (from->have) memmove(from->bytes, from->bytes + length, from->have);
}

/*
 * Works like the interrupt moderation of network cards: while more than 2,000 messages per second arrive, the program sleeps
 * before it polls again, so that one poll finds many sockets ready and a message costs less processor time. At low rates it does
 * not sleep.
 */
enum { window_ms = 20, busy_messages = 40, sleep_us = 250 };

static void moderate(int messages) {
  static double window_from;
  static int counted, busy;
  counted += messages;
  double now = now_ms();
  if (now - window_from >= window_ms) {
    busy = counted > busy_messages * (now - window_from) / window_ms;
    window_from = now;
    counted = 0;
  }
  if (busy) usleep(sleep_us);
}

/* Records are written to the standard output in groups, at most 10 ms late. */
static char records[16384];
static size_t recorded;
static double flushed_at;

static void flush_records(void) {
  for (size_t at = 0; at < recorded;) {
    ssize_t size = write(1, records + at, recorded - at);
    if (size <= 0) exit(0); /* the reader has ended */
    at += size;
  }
  recorded = 0;
  flushed_at = now_ms();
}

static void put_record(const void *record, size_t size) {
  if (recorded + size > sizeof records) flush_records();
  memcpy(records + recorded, record, size);
  recorded += size;
}

static void flush_if_late(void) {
  if (recorded && now_ms() - flushed_at >= 10) flush_records();
}
