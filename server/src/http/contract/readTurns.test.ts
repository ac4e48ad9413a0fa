import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { createReadTurns } from "./readTurns.ts";

const limit = { name: "reads", underWay: 2, waiting: 1, retryAfterSeconds: 2 };

/** A reply that keeps its headers. */
function replyWith(headers: Map<string, unknown>): FastifyReply {
  const reply = {
    header(name: string, value: unknown) {
      headers.set(name, value);
      return reply;
    },
  };
  return reply as unknown as FastifyReply;
}

test("an organization has a few reads under way, one waits, and the next is refused; others are not held up", async () => {
  const turns = createReadTurns(limit);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const headers = new Map<string, unknown>();
  const start = (org: string, name: string): Promise<string> =>
    turns(org, replyWith(headers), async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const reads = [start("a", "a1"), start("a", "a2"), start("a", "a3")];
  await expect(start("a", "a4")).rejects.toMatchObject({ status: 429, retryAfterSeconds: 2 });
  expect(headers.get("ratelimit")).toBe('"reads";r=0;t=2');
  expect(headers.get("ratelimit-policy")).toBe('"reads";q=3;qu="concurrent-requests"');
  const other = start("b", "b1");
  expect(begun).toEqual(["a1", "a2", "b1"]);
  ends.get("a2")!();
  await reads[1];
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
  for (const name of ["a1", "a3", "b1"]) ends.get(name)!();
  expect(await Promise.all([...reads, other])).toEqual(["a1", "a2", "a3", "b1"]);
});

test("a read that fails gives its turn back", async () => {
  const turns = createReadTurns({ ...limit, underWay: 1, waiting: 0 });
  const fail = (): Promise<never> => Promise.reject(new Error("no"));
  for (let n = 0; n < 3; n++) await expect(turns("a", replyWith(new Map()), fail)).rejects.toThrow("no");
});
