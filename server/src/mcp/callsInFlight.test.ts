import { describe, expect, it } from "vitest";
import { CallsInFlight } from "./callsInFlight.ts";

describe("a call that its client cancels", () => {
  it("is aborted if it is in progress, and undone if it was answered", async () => {
    const calls = new CallsInFlight();
    const [waiting, answered] = [calls.begin("a 1"), calls.begin("a 2")];
    const undone: string[] = [];
    answered.onUndelivered(async () => void undone.push("a 2"));
    answered.end();
    await calls.giveUpAll("a ");
    expect(waiting.signal.aborted).toBe(true);
    expect(undone).toEqual(["a 2"]);
  });

  it("does not begin if the cancellation arrived before the call", () => {
    const calls = new CallsInFlight();
    calls.giveUp("a 1");
    expect(calls.begin("a 2").signal.aborted).toBe(false);
    expect(calls.begin("a 1").signal.aborted).toBe(true);
    expect(calls.begin("a 1").signal.aborted).toBe(false);
  });

  it("is undone once, even if it is canceled several times, and other clients' calls are not affected", async () => {
    const calls = new CallsInFlight();
    const [one, other] = [calls.begin("a 1"), calls.begin("b 1")];
    let count = 0;
    one.onUndelivered(async () => void count++);
    calls.giveUp("a 1");
    calls.giveUp("a 1");
    await calls.giveUpAll("a ");
    expect(count).toBe(1);
    expect(other.signal.aborted).toBe(false);
  });
});
