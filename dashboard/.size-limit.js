import { readFileSync } from "node:fs";
import { join } from "node:path";

/*
 * The JavaScript of a first load: the entry and the opened page, with all their static imports. It is measured on a separate
 * build (package.json, `size`), because browser tests use the one in `dist`.
 */
const dist = join(import.meta.dirname, "../node_modules/.cache/dashboard-size");
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));
const firstPages = ["src/overview/OverviewPage.tsx", "src/signIn/SignInPage.tsx"];

function filesOf(keys, seen = new Set()) {
  for (const key of keys) {
    if (seen.has(key)) continue;
    seen.add(key);
    filesOf(manifest[key].imports ?? [], seen);
  }
  return [...seen].map((key) => join(dist, manifest[key].file));
}

export default firstPages.map((page) => ({
  name: page,
  path: filesOf(["index.html", page]),
  gzip: true,
  limit: "130 KiB",
}));
