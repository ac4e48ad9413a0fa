import { describe, expect, it } from "vitest";
import { isPulled, kindNumbers, targetKinds } from "../postgres/kinds.ts";
import { findKind, kindNamed, kindNames } from "./kinds.ts";

describe.each(targetKinds)("the kind %s", (name) => {
  const kind = kindNamed(name);

  it("has its own name, and is found by it", () => {
    expect(kind.name).toBe(name);
    expect(findKind(name)).toBe(kind);
  });

  it("has a sender, except for the kind whose items consumers claim", () => {
    expect(kind.sender === null).toBe(isPulled(kindNumbers[name]));
  });
});

it("no kind has the name of a property of Object.prototype", () => {
  expect(findKind("toString")).toBeUndefined();
});

it("kindNames joins the names of kinds to a list in words", () => {
  expect(kindNames(({ name }) => name !== "a2a").startsWith("webhook")).toBe(true);
});
