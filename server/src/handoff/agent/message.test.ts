import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toMessage } from "./message.ts";

const base = { messageId: "m1", metadata: { event_id: "e1" } };

function parse(payload: string | Buffer, place: { taskId?: string; contextId?: string } = {}) {
  const { json, extensions } = toMessage({ ...base, ...place, payload: Buffer.from(payload) });
  return {
    text: json.toString("utf8"),
    value: JSON.parse(json.toString("utf8")) as Record<string, unknown>,
    extensions,
  };
}

describe("a payload becomes a message", () => {
  it("with its bytes unchanged, so that no number and no repeated name is altered", () => {
    const payload = '{"n":12345678901234567890, "x":1.0,"x":2}';
    expect(parse(payload).text).toContain(`{"data":${payload},"mediaType":"application/json"}`);
  });

  it.each([
    ['"hello"', [{ text: "hello", mediaType: "text/plain" }]],
    ['{"text":"hello"}', [{ text: "hello", mediaType: "text/plain" }]],
    ['{"text":"hello","event_type":"a"}', [{ text: "hello", mediaType: "text/plain" }]],
    ['{"text":"hello","more":1}', [{ data: { text: "hello", more: 1 }, mediaType: "application/json" }]],
    ['{"text":1}', [{ data: { text: 1 }, mediaType: "application/json" }]],
    ["null", [{ data: null, mediaType: "application/json" }]],
    ["[1]", [{ data: [1], mediaType: "application/json" }]],
    ["\ufeff7", [{ data: 7, mediaType: "application/json" }]],
  ])("%s", (payload, parts) => {
    expect(parse(payload).value).toEqual({
      messageId: "m1",
      role: "ROLE_USER",
      metadata: { event_id: "e1" },
      parts,
    });
  });

  it("for any JSON value, which its data part returns unchanged", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const value = JSON.parse(json) as unknown;
        fc.pre(
          typeof value !== "string" && !(value !== null && typeof value === "object" && "text" in value),
        );
        const { parts } = parse(json).value as { parts: { data: unknown }[] };
        expect(parts[0]!.data).toEqual(value);
      }),
    );
  });

  it("of a task when it continues one", () => {
    expect(parse('"yes"', { taskId: "t", contextId: "c" }).value).toMatchObject({
      taskId: "t",
      contextId: "c",
    });
  });
});

describe("a payload that is a message", () => {
  const message = { role: "ROLE_USER", messageId: "theirs", parts: [{ text: "a" }], taskId: "t9" };

  it("passes through with our id, by which a repeated message can be found", () => {
    expect(parse(JSON.stringify(message)).value).toEqual({
      ...message,
      messageId: "m1",
      metadata: { original_message_id: "theirs", event_id: "e1" },
    });
  });

  it("keeps its numbers as written", () => {
    const data = '{"id":12345678901234567890,"price":1.10,"large":1e400}';
    const payload = `{ "role":"ROLE_USER","parts":[{"data":${data}}], "metadata" : {"own":98765432109876543210} }`;
    const { text } = parse(payload);
    expect(text).toContain(`"parts":[{"data":${data}}]`);
    expect(text).toContain('"metadata":{"own":98765432109876543210,"event_id":"e1"}');
  });

  it("is read as a parser reads it, with our members replacing its own, however it is written", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.oneof(fc.string(), fc.constantFrom("metadata", "messageId", "taskId")),
          fc.jsonValue(),
        ),
        fc.constantFrom(undefined, 1, "\t"),
        (fields, indent) => {
          const given = { ...fields, role: "ROLE_USER", parts: [{ text: '"}],\\' }] };
          const { metadata, messageId, ...others } = JSON.parse(JSON.stringify(given)) as Record<
            string,
            unknown
          >;
          const isObject = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
          expect(parse(JSON.stringify(given, undefined, indent), { taskId: "t1" }).value).toEqual({
            ...others,
            taskId: "t1",
            messageId: "m1",
            metadata: {
              ...(isObject && metadata),
              ...(typeof messageId === "string" && { original_message_id: messageId }),
              event_id: "e1",
            },
          });
        },
      ),
    );
  });

  it("lists the extensions it uses", () => {
    const { extensions } = parse(JSON.stringify({ ...message, extensions: ["urn:a", 7] }));
    expect(extensions).toEqual(["urn:a"]);
  });

  it.each([
    { ...message, role: "ROLE_AGENT" },
    { ...message, role: undefined },
    { ...message, parts: [] },
    { ...message, parts: [{ text: "a", data: 1 }] },
    { ...message, parts: [{ kind: "text" }] },
  ])("is data when it only looks like one: %j", (payload) => {
    const text = JSON.stringify(payload);
    expect((parse(text).value as { parts: unknown }).parts).toEqual([
      { data: JSON.parse(text) as unknown, mediaType: "application/json" },
    ]);
  });

  it("is sent as data, byte for byte, when it nests too deeply to be serialized again", () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const payload = `{"role":"ROLE_USER","parts":[{"data":${deep}}]}`;
    expect(parse(payload).text).toContain(`{"data":${payload},"mediaType":"application/json"}`);
  });
});
