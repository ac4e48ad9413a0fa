import { expect, it } from "vitest";
import { Window } from "./window.ts";

it("a pause does not shorten how long the circuit is open", () => {
  const window = new Window(32);
  for (let failure = 0; failure < 40; failure++) window.noteFailure(false, false, 0);
  expect(window.isCircuitOpen(29_999)).toBe(true);
  // A request that was sent before the circuit opened ends because this process lacks a resource.
  window.pause(500);
  expect(window.isCircuitOpen(29_999)).toBe(true);
  expect(window.admits(0, 29_999)).toBe(false);
  window.pause(40_000);
  expect(window.closedUntilMs).toBe(40_000);
});
