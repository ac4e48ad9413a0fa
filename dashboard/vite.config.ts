import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// Whatever the environment says: a test runner or a person's shell must not make another build than everybody's.
if (process.argv.includes("build")) process.env["NODE_ENV"] = "production";

export default defineConfig({
  // Relative, so that the page works below any path prefix; the server makes those of index.html absolute.
  base: "./",
  plugins: [react(), tailwindcss(), compressedTwins()],
  build: {
    target: "es2023",
    // Says what the first load is made of, for its budget.
    manifest: true,
    // A data: URL would be a font or script that the page's Content-Security-Policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    // Without the chunks' names: the first load lists the files of every page. The manifest says which is which.
    rolldownOptions: {
      output: {
        chunkFileNames: "assets/[hash].js",
        // A page loads few files: what many pages share is one chunk, beside the one of the first load. Each file costs a
        // request, and Lighthouse's desktop connection makes a page of 90 files wait for the last of them.
        codeSplitting: {
          groups: [
            { name: "initial", tags: ["$initial"], priority: 2 },
            // Values of target kinds are a chunk of their own: many pages share them, but the first load needs none.
            {
              name: "common",
              test: /^(?!.*\/targets\/(kinds|settingTexts))/,
              minShareCount: 12,
              priority: 1,
            },
          ],
        },
      },
    },
  },
});

/** Writes a gzip twin beside each text asset, which the server sends to browsers that take it. */
function compressedTwins(): Plugin {
  return {
    name: "compressed-twins",
    apply: "build",
    // From the files as they were written: Vite still changes chunks after `generateBundle`.
    async writeBundle({ dir = "" }, bundle) {
      for (const name of Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name))) {
        const text = await readFile(join(dir, name));
        await writeFile(join(dir, `${name}.gz`), gzipSync(text, { level: 9 }));
      }
    },
  };
}
