import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, it, onTestFinished, vi } from "vitest";
import { useFragment } from "./useFragment.ts";

it("returns the same fragment when React drops an unfinished render and begins again", () => {
  const location = { hash: "#token=secret", pathname: "/reset-password" };
  const replaceState = (_state: unknown, _unused: string, path: string): void => {
    location.hash = "";
    location.pathname = path;
  };
  vi.stubGlobal("window", { location, history: { state: null, replaceState } });
  onTestFinished(() => void vi.unstubAllGlobals());
  // No effect runs here, as in a render that React drops.
  const render = (): string => renderToString(createElement(useFragment));
  expect([render(), render()]).toEqual(["token=secret", "token=secret"]);
});
