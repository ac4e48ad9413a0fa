import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { collectGarbage } from "../../test/support/collectGarbage.ts";
import { createResolve } from "./resolve.ts";

const typeA = 1;
const typeAaaa = 28;
const stops: (() => unknown)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) {
    stop();
  }
});

/** Record types with their addresses as bytes; undefined: the server does not answer; an empty list: no addresses. */
type Answers = Record<number, number[][] | undefined>;

/** A name server that returns the same answers for every name. */
async function startNameServer(answers: Answers, lateMs: Record<number, number> = {}) {
  const socket = createSocket("udp4");
  const questions: number[] = [];
  socket.on("message", (query, from) => {
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    questions.push(type);
    const addresses = answers[type];
    if (addresses !== undefined) {
      const header = Buffer.from([
        query[0] ?? 0,
        query[1] ?? 0,
        0x81,
        0x80,
        0,
        1,
        0,
        addresses.length,
        0,
        0,
        0,
        0,
      ]);
      const records = addresses.map((bytes) =>
        Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]),
      );
      const answer = Buffer.concat([header, query.subarray(12, end), ...records]);
      setTimeout(() => socket.send(answer, from.port, from.address), lateMs[type] ?? 0);
    }
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  stops.push(() => socket.close());
  return { questions, server: `127.0.0.1:${socket.address().port}` };
}

const ipv4 = [192, 0, 2, 7];
const ipv6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];

test("returns the addresses of both families", async () => {
  const { server } = await startNameServer({ [typeA]: [ipv4], [typeAaaa]: [ipv6] });
  const resolve = createResolve({ servers: [server] });
  expect(await resolve("both.example")).toEqual(["192.0.2.7", "2001:db8::7"]);
});

test("addresses of one family suffice, and a missing answer for the other does not delay them", async () => {
  const onlyV6 = await startNameServer({ [typeA]: [], [typeAaaa]: [ipv6] });
  expect(await createResolve({ servers: [onlyV6.server] })("six.example")).toEqual(["2001:db8::7"]);
  const silentV6 = await startNameServer({ [typeA]: [ipv4] });
  expect(await createResolve({ servers: [silentV6.server] })("four.example")).toEqual(["192.0.2.7"]);
  // The resolver repeats an unanswered query once. If the lookup had waited for IPv6, there would be three queries.
  expect(silentV6.questions).toHaveLength(2);
});

test("either family may answer first, and may have no addresses", async () => {
  const lateA = await startNameServer({ [typeA]: [ipv4], [typeAaaa]: [] }, { [typeA]: 50 });
  expect(await createResolve({ servers: [lateA.server] })("a.example")).toEqual(["192.0.2.7"]);
  const lateAaaa = await startNameServer({ [typeA]: [], [typeAaaa]: [ipv6] }, { [typeAaaa]: 50 });
  expect(await createResolve({ servers: [lateAaaa.server] })("b.example")).toEqual(["2001:db8::7"]);
});

test("concurrent lookups of one name share one query", async () => {
  const { questions, server } = await startNameServer({ [typeA]: [ipv4], [typeAaaa]: [] });
  const resolve = createResolve({ servers: [server] });
  const answers = await Promise.all(Array.from({ length: 50 }, () => resolve("same.example")));
  expect(new Set(answers.flat())).toEqual(new Set(["192.0.2.7"]));
  expect(questions.toSorted((one, two) => one - two)).toEqual([typeA, typeAaaa]);
});

test("a silent name server gives an error, and the name is not looked up on the worker threads", async () => {
  const { server } = await startNameServer({});
  const resolve = createResolve({ servers: [server], queryTimeoutMs: 50 });
  await expect(resolve("silent.example")).rejects.toMatchObject({ code: "ETIMEOUT" });
});

test("localhost is loopback without a DNS query", async () => {
  const { questions, server } = await startNameServer({ [typeA]: [ipv4], [typeAaaa]: [ipv6] });
  const resolve = createResolve({ servers: [server] });
  for (const name of ["localhost", "LOCALHOST.", "a.localhost"]) {
    expect(await resolve(name)).toEqual(["127.0.0.1", "::1"]);
  }
  expect(questions).toEqual([]);
});

test("an unknown name gives an error", async () => {
  const { server } = await startNameServer({ [typeA]: [], [typeAaaa]: [] });
  await expect(createResolve({ servers: [server] })("unknown.invalid")).rejects.toMatchObject({
    code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
  });
});

test("a name that the system's resolver does not find in time delays no other name for long, and names of the hosts file not at all", async () => {
  const { server } = await startNameServer({ [typeA]: [], [typeAaaa]: [] });
  const slow = Promise.withResolvers<string[]>();
  const looked: string[] = [];
  const lookup = (name: string): Promise<string[]> => {
    looked.push(name);
    return name === "late.example" ? Promise.resolve(["192.0.2.8"]) : slow.promise;
  };
  const folder = mkdtempSync(join(tmpdir(), "hosts-"));
  stops.push(() => rmSync(folder, { recursive: true }));
  const hostsFile = join(folder, "hosts");
  writeFileSync(
    hostsFile,
    "# 192.0.2.1 listed.example\n192.0.2.9\tother Listed.example # mine\n::9 listed.example\n",
  );
  const resolve = createResolve({ servers: [server], lookup, hostsFile });
  const failed: unknown[] = [];
  const answers = ["one.example", "two.example", "three.example"].map((name) =>
    resolve(name).catch((error: unknown) => void failed.push(error)),
  );
  await expect.poll(() => failed.length).toBe(2);
  expect(failed).toEqual([1, 2].map(() => expect.objectContaining({ code: "ETIMEOUT" })));
  expect(looked).toHaveLength(1);
  expect(await resolve("listed.example")).toEqual(["192.0.2.9", "::9"]);
  const late = resolve("late.example");
  slow.resolve(["192.0.2.7"]);
  expect((await Promise.all(answers)).filter(Boolean)).toEqual([["192.0.2.7"]]);
  expect(await late).toEqual(["192.0.2.8"]);
});

test("keeps no answer of the system's resolver", async () => {
  const { server } = await startNameServer({ [typeA]: [], [typeAaaa]: [] });
  const answers: WeakRef<string[]>[] = [];
  const lookup = async (): Promise<string[]> => {
    const answer = ["192.0.2.7"];
    answers.push(new WeakRef(answer));
    return answer;
  };
  const resolve = createResolve({ servers: [server], lookup });
  for (const name of ["one.example", "two.example", "three.example"]) await resolve(name);
  await collectGarbage();
  expect(answers.map((answer) => answer.deref())).toEqual([undefined, undefined, undefined]);
});
