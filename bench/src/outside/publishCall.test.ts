import { expect, test } from "vitest";
import { createIdFinder } from "./eventId.ts";
import { createRequestWriter } from "./publishCall.ts";

const call = {
  url: "http://localhost:8000/publish?to=x",
  method: "POST",
  headers: ["authorization:Bearer k"],
};

function request(body: string, number: number, sentAtMs: number): { head: string; body: string } {
  const text = createRequestWriter({ ...call, body }, "bench1", 3)(number, sentAtMs).toString();
  const [head = "", rest = ""] = text.split("\r\n\r\n");
  return { head, body: rest };
}

test.each([
  '{"id":"{{id}}","data":"{{data}}","again":"{{id}}"}',
  '{"id":"{{id}}","key":"{{uuid}}","at":"{{now}}"}',
])("writes the id into %s", (template) => {
  const { head, body } = request(template, 12_345, 9_876_543.21);
  expect(head).toMatch(/^POST \/publish\?to=x HTTP\/1\.1\r\nhost: localhost:8000\r\n/);
  expect(head).toContain("\r\nauthorization: Bearer k\r\n");
  expect(head).toContain(`\r\ncontent-length: ${Buffer.byteLength(body)}`);
  expect(body).not.toContain("{{");
  expect(createIdFinder("bench1")(body)).toEqual({ number: 12_345, sentAtMs: 9_876_543.21 });
  expect(new Set(body.match(/bench1-\d+-\d+/g)).size).toBe(1);
});

test("an id of another run is not found", () => {
  const { body } = request('{"id":"{{id}}"}', 1, 1);
  expect(createIdFinder("bench2")(body)).toBeUndefined();
});

test("refuses a header without a colon", () => {
  const broken = { ...call, headers: ["authorization"], body: "{{id}}" };
  expect(() => createRequestWriter(broken, "bench1", 3)).toThrow('"name: value"');
});
