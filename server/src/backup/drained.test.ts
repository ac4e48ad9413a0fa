import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { drained } from "./load.ts";

function slowSink(write: (done: (error?: Error) => void) => void): Writable {
  return new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => setImmediate(write, done) });
}

test("waiting for a stream many times leaves no listeners behind", async () => {
  const sink = slowSink((done) => done());
  const listeners = (): number => sink.eventNames().reduce((sum, name) => sum + sink.listenerCount(name), 0);
  const before = listeners();
  for (let n = 0; n < 30; n++) {
    expect(sink.write("x")).toBe(false);
    await drained(sink);
    expect(listeners()).toBe(before);
  }
});

test("waiting for a stream that fails rejects with its error", async () => {
  const sink = slowSink((done) => done(new Error("the other side is gone")));
  sink.on("error", () => undefined);
  sink.write("x");
  await expect(drained(sink)).rejects.toThrow("the other side is gone");
});
