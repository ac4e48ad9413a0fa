import { expect, test } from "vitest";
import { outboundWith, receiverThat } from "../../test/support/outboundParts.ts";
import { parseNetworks } from "./addressGuard.ts";
import type { OutboundOptions } from "./outbound.ts";

async function start(options: Partial<OutboundOptions>) {
  const receiver = await receiverThat((socket) =>
    socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
  );
  const outbound = outboundWith({ networks: parseNetworks(""), ...options });
  const request = (host: string) =>
    outbound.request({ method: "POST", url: `http://${host}:${receiver.port}/`, headers: [] });
  return { receiver, request };
}

const refusal = "the host points to an address that is not allowed";

test.each(["127.0.0.1", "[::1]", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost"])(
  "%s is refused at connect, and nothing arrives",
  async (host) => {
    const { receiver, request } = await start({});
    expect(await request(host)).toMatchObject({
      kind: "error",
      code: "refused_address",
      message: refusal,
      sent: false,
    });
    expect(receiver.connections).toBe(0);
  },
);

test("the error is the same for every refused address, whether literal or resolved", async () => {
  const { request } = await start({ resolve: () => Promise.resolve(["10.0.0.1"]) });
  for (const host of ["127.0.0.1", "[fd00:ec2::254]", "inside.example", "localhost"]) {
    expect(await request(host)).toMatchObject({ message: refusal });
  }
});

test("a name that changes from an allowed to a refused address is never connected to (DNS rebinding)", async () => {
  const answers = [["127.0.0.2"], ["127.0.0.1"], ["127.0.0.1"]];
  // 127.0.0.2 plays the public address: only it is exempt, and the receiver listens on 127.0.0.1.
  const { receiver, request } = await start({
    networks: parseNetworks("127.0.0.2/32"),
    resolve: () => Promise.resolve(answers.shift() ?? []),
  });
  expect(await request("rebind.example")).toMatchObject({ code: "connect_refused" });
  expect(await request("rebind.example")).toMatchObject({ code: "refused_address", sent: false });
  expect(await request("rebind.example")).toMatchObject({ code: "refused_address", sent: false });
  expect(receiver.connections).toBe(0);
});

test("only the allowed addresses of a name are tried", async () => {
  const { receiver, request } = await start({
    networks: parseNetworks("127.0.0.1/32"),
    resolve: () => Promise.resolve(["10.255.255.1", "127.0.0.1", "fd00::1"]),
  });
  expect(await request("mixed.example")).toMatchObject({ kind: "response", status: 200 });
  expect(receiver.connections).toBe(1);
});

test("every new connection is checked again", async () => {
  const answers = [["127.0.0.1"], ["10.0.0.1"]];
  const { receiver, request } = await start({
    networks: parseNetworks("127.0.0.1/32"),
    resolve: () => Promise.resolve(answers.shift() ?? []),
  });
  expect(await request("later.example")).toMatchObject({ status: 200 });
  await receiver.closed(1);
  expect(await request("later.example")).toMatchObject({ code: "refused_address" });
});

test("plain http is refused unless it is allowed", async () => {
  const { receiver, request } = await start({ allowHttp: false, networks: parseNetworks("127.0.0.0/8") });
  expect(await request("127.0.0.1")).toMatchObject({
    code: "refused_address",
    message: "http: URLs are not allowed",
  });
  expect(receiver.connections).toBe(0);
});
