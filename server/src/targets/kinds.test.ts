import { describe, expect, it } from "vitest";
import { isPulled, kindNumbers, targetKinds } from "../postgres/kinds.ts";
import { findKind, kindNamed, kindNames } from "./kinds.ts";

describe.each(targetKinds)("the kind %s", (name) => {
  const kind = kindNamed(name);

  it("has its own name, and is found by it", () => {
    expect(kind.name).toBe(name);
    expect(findKind(name)).toBe(kind);
  });

  it("has a sender unless consumers claim its items", () => {
    expect(kind.sender === null).toBe(isPulled(kindNumbers[name]));
  });
});

it("no kind has the name of something that every object has", () => {
  expect(findKind("toString")).toBeUndefined();
});

it("names kinds in words", () => {
  expect(kindNames(({ name }) => name !== "a2a").startsWith("webhook")).toBe(true);
});
