import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientSubject } from "./rateLimit.ts";

describe("clientSubject", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:cb00:7107", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001:0002::", "2001:db8:1:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["fe80::1%br-lan", "fe80:0:0:0::/64"],
    ["[fe80::1%eth0.100]:443", "fe80:0:0:0::/64"],
    ["", "unknown"],
    ["garbage", "unknown"],
    ["203.0.113", "unknown"],
    ["0xcb.0.113.7", "unknown"],
    ["203.0.113.7:443", "203.0.113.7"],
    ["[203.0.113.7]:443", "203.0.113.7"],
    ["[2001:db8:1:2::7]", "2001:db8:1:2::/64"],
    ["[2001:db8:1:2::7]:50123", "2001:db8:1:2::/64"],
    ["[::ffff:203.0.113.7]:80", "203.0.113.7"],
    ["203.0.113.7:", "unknown"],
    ["203.0.113.7:port", "unknown"],
    ["[2001:db8::7", "unknown"],
    ["[]:80", "unknown"],
  ])("counts %s as %s", (address, subject) => {
    expect(clientSubject(address)).toBe(subject);
  });

  it("gives each IPv4 address its own subject, also when written as IPv4-mapped IPv6", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(clientSubject(address)).toBe(address);
        expect(clientSubject(`::ffff:${address}`)).toBe(address);
      }),
    );
  });

  it("gives all IPv6 addresses of a /64 the same subject, and those of other networks another one", () => {
    const part = fc.integer({ min: 0, max: 0xffff });
    const parts = (length: number): fc.Arbitrary<number[]> =>
      fc.array(part, { minLength: length, maxLength: length });
    const write = (values: number[]): string => values.map((value) => value.toString(16)).join(":");
    const network = parts(4).filter((values) => values.some((value) => value !== 0));
    fc.assert(
      fc.property(network, parts(4), parts(4), fc.nat(3), (prefix, one, two, at) => {
        const subject = clientSubject(write([...prefix, ...one]));
        expect(clientSubject(write([...prefix, ...two]))).toBe(subject);
        const elsewhere = prefix.with(at, prefix[at]! ^ 0x8000);
        expect(clientSubject(write([...elsewhere, ...one]))).not.toBe(subject);
      }),
    );
  });

  it("gives every text a subject of a bounded length", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(clientSubject(text).length).toBeLessThanOrEqual(40);
      }),
    );
  });
});
