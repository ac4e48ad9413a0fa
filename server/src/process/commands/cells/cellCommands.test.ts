import { expect, it } from "vitest";
import { placeOfServer } from "../../../postgres/cellServers.ts";
import { readServer } from "./cellCommands.ts";

it.each(["db.example.com:5433", "10.0.0.1:5432", "[fd00::1]:5432"])(
  "the server %s is written as it is read",
  (text) => {
    expect(placeOfServer(readServer(text))).toBe(text);
  },
);
