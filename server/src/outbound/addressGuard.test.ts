import { BlockList, isIPv4 } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseNetworks, refusedKind } from "./addressGuard.ts";

/** No exempt networks, as in production. */
const noNetworks = parseNetworks("");

test.each([
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["169.254.1.1", "link-local"],
  ["169.254.169.254", "a cloud metadata address"],
  ["100.100.100.200", "a cloud metadata address"],
  ["168.63.129.16", "a cloud metadata address"],
  ["100.64.0.1", "in carrier-grade NAT space"],
  ["100.127.255.255", "in carrier-grade NAT space"],
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "unspecified"],
  ["192.0.0.1", "reserved for protocols"],
  ["192.0.2.1", "reserved for documentation"],
  ["198.51.100.1", "reserved for documentation"],
  ["203.0.113.1", "reserved for documentation"],
  ["198.19.255.255", "reserved for benchmarks"],
  ["192.88.99.1", "a 6to4 relay"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["255.255.255.255", "broadcast"],
  ["240.0.0.1", "reserved"],
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["::ffff:127.0.0.1", "an IPv4 address mapped into IPv6"],
  ["::ffff:8.8.8.8", "an IPv4 address mapped into IPv6"],
  ["::ffff:0:8.8.8.8", "an IPv4 address translated into IPv6"],
  ["::8.8.8.8", "an IPv4 address written as IPv6"],
  ["64:ff9b::7f00:1", "a NAT64 address"],
  ["64:ff9b:1::1", "a NAT64 address"],
  ["2002:7f00:1::", "a 6to4 address"],
  ["2001::1", "a Teredo address"],
  ["2001:db8::1", "reserved for documentation"],
  ["3fff::1", "reserved for documentation"],
  ["2001:2::1", "reserved for benchmarks"],
  ["2001:10::1", "reserved for protocols"],
  ["fd00:ec2::254", "a cloud metadata address"],
  ["fd20:ce::254", "a cloud metadata address"],
  ["fc00::1", "private"],
  ["fdff::1", "private"],
  ["fe80::1", "link-local"],
  ["fec0::1", "site-local"],
  ["ff02::1", "multicast"],
  ["100::1", "a discard address"],
  ["5f00::1", "not a public address"],
  ["4000::1", "not a public address"],
  ["fe80::1%eth0", "bound to one network interface"],
  ["2606:4700::1%1", "bound to one network interface"],
  ["example.com", "not an IP address"],
  ["", "not an IP address"],
  ["2130706433", "not an IP address"],
])("%s is refused: %s", (ip, kind) => {
  expect(refusedKind(ip, noNetworks)).toBe(kind);
});

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "191.255.255.255",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001::1",
  "2003::1",
])("%s is public", (ip) => {
  expect(refusedKind(ip, noNetworks)).toBeNull();
});

const refusedV4 = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  refusedV4.addSubnet(network, bits, "ipv4");
}

test("agrees with Node's own block list on every IPv4 address", () => {
  fc.assert(
    fc.property(fc.ipV4(), (ip) => {
      expect(refusedKind(ip, noNetworks) !== null).toBe(refusedV4.check(ip, "ipv4"));
    }),
    { numRuns: 2000 },
  );
});

test("no IPv6 address outside 2000::/3 passes, and none that carries an IPv4 address", () => {
  fc.assert(
    fc.property(fc.ipV6(), (ip) => {
      fc.pre(refusedKind(ip, noNetworks) === null);
      const first = Number.parseInt(/^[0-9a-f]*/i.exec(ip)?.[0] || "0", 16);
      expect(first >> 13).toBe(1);
      expect(first).not.toBe(0x20_02);
    }),
    { numRuns: 300, maxSkipsPerRun: 1000 },
  );
});

test("every notation that embeds an IPv4 address is refused, even for public addresses", () => {
  fc.assert(
    fc.property(fc.ipV4(), (ip) => {
      for (const carrier of [`::ffff:${ip}`, `::ffff:0:${ip}`, `64:ff9b::${ip}`, `64:ff9b:1::${ip}`]) {
        expect(refusedKind(carrier, noNetworks)).not.toBeNull();
      }
    }),
  );
});

test("an exempt network lets its addresses through and no other", () => {
  const networks = parseNetworks("127.0.0.0/8, ::1/128,10.1.2.3");
  expect(refusedKind("127.0.0.1", networks)).toBeNull();
  expect(refusedKind("::1", networks)).toBeNull();
  expect(refusedKind("10.1.2.3", networks)).toBeNull();
  expect(refusedKind("10.1.2.4", networks)).toMatch(/private/);
  expect(refusedKind("::2", networks)).not.toBeNull();
  expect(refusedKind("::ffff:127.0.0.1", networks)).toMatch(/mapped/);
});

test("exempting NAT64 or 6to4 does not open the private addresses behind them", () => {
  const networks = parseNetworks(["64:ff9b::/96", "2002::/16", "2001::/32", "::ffff:0:0/96"]);
  expect(refusedKind("64:ff9b::808:808", networks)).toBeNull();
  expect(refusedKind("64:ff9b::7f00:1", networks)).toMatch(/loopback/);
  expect(refusedKind("2002:a00:1::1", networks)).toMatch(/private/);
  expect(refusedKind("2002:808:808::1", networks)).toBeNull();
  expect(refusedKind("2001::80ff:fffe", networks)).toMatch(/loopback/);
  expect(refusedKind("::ffff:169.254.169.254", networks)).toMatch(/metadata/);
});

test("every address is allowed if all networks are exempt", () => {
  const networks = parseNetworks("0.0.0.0/0,::/0");
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (ip) => {
      expect(refusedKind(ip, networks)).toBeNull();
    }),
  );
});

test("a network allows exactly the addresses it contains", () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), fc.ipV4(), (network, bits, ip) => {
      fc.pre(isIPv4(network));
      const oracle = new BlockList();
      oracle.addSubnet(network, bits, "ipv4");
      const open = refusedKind(ip, parseNetworks(`${network}/${bits}`)) === null;
      expect(open).toBe(oracle.check(ip, "ipv4") || refusedKind(ip, noNetworks) === null);
    }),
  );
});

test.each([
  "10.0.0.0/33",
  "::1/129",
  "10.0.0/8",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "10.0.0.0/8/8",
  "localhost",
  "fe80::1%eth0/64",
  "10.0.0.0/8;::1",
])("%s is not a network, and the error says what is", (entry) => {
  expect(() => parseNetworks(entry)).toThrow(`"${entry}" is not a network; write CIDR notation`);
});

test("an empty list exempts nothing", () => {
  expect(parseNetworks("").ranges).toEqual([]);
  expect(parseNetworks(" , ").ranges).toEqual([]);
});
