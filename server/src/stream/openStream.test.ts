import { expect, test } from "vitest";
import type { ChangeType } from "../items/changes.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { OpenStream } from "./openStream.ts";

const caller: Caller = { kind: "apiKey", orgId: "0".repeat(32), keyId: "1".repeat(32), scope: undefined };
/** A frame of the maximum size. */
const frame = (id: number) => ({ id, type: "item" as const, data: JSON.stringify("x".repeat(1_990)) });

/** A stream whose client starts to read only when the test says so. */
function openUnread(types: readonly ChangeType[] = []) {
  const response = {
    writableFinished: false,
    isDestroyed: false,
    destroy() {
      this.isDestroyed = true;
      return this as never;
    },
  };
  const stream = new OpenStream({ caller, types, nodeTag: "0123abcd", response });
  stream.begin(1);
  return { stream, response };
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("a client that does not read has a bounded backlog and is told that it missed frames", async () => {
  const { stream } = openUnread();
  for (let id = 0; id < 1_000; id++) stream.send([frame(10 * id), frame(10 * id + 1)]);
  expect(stream.body.writableLength + stream.body.readableLength).toBeLessThan(256 * 1024);
  let text = "";
  stream.body.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  await turn();
  stream.send([frame(20_000)]);
  await turn();
  expect(text).toContain('id: 19999-0123abcd\nevent: reset\ndata: {"reason":"slow"}\n\nid: 20000-0123abcd\n');
});

test("a client that has read nothing between two heartbeats is disconnected, others are not", async () => {
  const { stream, response } = openUnread();
  const fill = (): void => {
    for (let id = 0; id < 100; id++) stream.send([frame(id)]);
  };
  fill();
  stream.beat();
  expect(response.isDestroyed).toBe(false);
  const drained = new Promise((resolve) => stream.body.once("drain", resolve));
  stream.body.resume();
  await drained;
  stream.body.pause();
  fill();
  stream.beat();
  expect(response.isDestroyed).toBe(false);
  stream.beat();
  expect(response.isDestroyed).toBe(true);
});

test("unread data of an ended stream is not kept", async () => {
  const { stream, response } = openUnread();
  stream.end("unauthorized");
  await expect.poll(() => response.isDestroyed).toBe(true);
});

test("a client that subscribes to some types is still told to read everything again", async () => {
  const { stream } = openUnread(["item"]);
  let text = "";
  stream.body.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  stream.send([
    { id: 2, type: "target", data: '{"id":"1"}' },
    { id: 3, type: "reset", data: '{"reason":"many"}' },
  ]);
  await turn();
  expect(text).not.toContain("event: target");
  expect(text).toContain('id: 3-0123abcd\nevent: reset\ndata: {"reason":"many"}\n\n');
});
