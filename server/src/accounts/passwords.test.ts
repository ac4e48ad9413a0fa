import { describe, expect, it } from "vitest";
import { createPasswords, unmatchableHash } from "./passwords.ts";

describe("passwords", () => {
  it("are hashed with argon2id at OWASP's cost, each with its own salt", async () => {
    const passwords = createPasswords();
    const [first, second] = await Promise.all([
      passwords.hash("correct horse"),
      passwords.hash("correct horse"),
    ]);
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(second).not.toBe(first);
    expect(await passwords.verify("correct horse", first)).toBe("right");
    expect(await passwords.verify("correct horsE", first)).toBe("wrong");
  });

  it("are never right when there is no account, and cost as much to verify as for an account", async () => {
    const passwords = createPasswords();
    const costOf = (hash: string): string => hash.split("$").slice(0, 4).join("$");
    expect(costOf(unmatchableHash)).toBe(costOf((await passwords.hash("correct horse"))!));
    expect(unmatchableHash).toHaveLength((await passwords.hash("correct horse"))!.length);
    for (const password of ["", "A", "\0", "correct horse"]) {
      expect(await passwords.verify(password, undefined)).toBe("wrong");
    }
  });

  it("are refused when too many wait, and accepted again when the queue has room", async () => {
    const passwords = createPasswords({ concurrency: 1, maxWaiting: 2 });
    const accepted = [passwords.hash("a"), passwords.hash("b"), passwords.hash("c")];
    expect(passwords.isFull()).toBe(true);
    expect(await passwords.hash("d")).toBeUndefined();
    expect(await passwords.verify("d", undefined)).toBe("overloaded");
    for (const hash of await Promise.all(accepted)) expect(hash).toMatch(/^\$argon2id/);
    expect(passwords.isFull()).toBe(false);
    expect(await passwords.verify("e", await passwords.hash("e"))).toBe("right");
  });

  it("let the next one be hashed when hashing fails", async () => {
    const passwords = createPasswords({ concurrency: 1, maxWaiting: 5 });
    const outcomes = await Promise.allSettled([
      passwords.verify("a", "not a hash"),
      passwords.verify("b", "not a hash"),
      passwords.hash("c"),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  });
});
