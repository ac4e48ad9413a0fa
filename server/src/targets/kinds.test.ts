import { describe, expect, it } from "vitest";
import { isPulled, kindNumbers, targetKinds } from "../postgres/kinds.ts";
import { kindNamed, kindNames } from "./kinds.ts";

describe.each(targetKinds)("the kind %s", (name) => {
  const kind = kindNamed(name);

  it("has its own name", () => {
    expect(kind.name).toBe(name);
  });

  it("has a sender, except for the kind whose items consumers claim", () => {
    expect(kind.sender === null).toBe(isPulled(kindNumbers[name]));
  });
});

it("kindNames joins the names of kinds to a list in words", () => {
  expect(kindNames(({ name }) => name !== "a2a").startsWith("webhook")).toBe(true);
});
