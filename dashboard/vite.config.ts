import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// Set whatever the environment says: a test runner or a shell must not change the build.
if (process.argv.includes("build")) process.env["NODE_ENV"] = "production";

export default defineConfig({
  // Relative URLs, so that the page works below any path prefix; the server makes the URLs in index.html absolute.
  base: "./",
  plugins: [react(), tailwindcss(), compressedTwins()],
  build: {
    target: "es2023",
    // Lists the files of the first load, for the size limit.
    manifest: true,
    // No data: URLs: the page's Content-Security-Policy refuses fonts and scripts in them.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    // No names of chunks, because the first load lists the files of every page. The manifest maps files to their sources.
    rolldownOptions: {
      output: {
        chunkFileNames: "assets/[hash].js",
        // Code that many pages share is one chunk, in addition to the chunk of the first load, so that a page loads few
        // files. Each file costs a request, and on Lighthouse's simulated desktop connection a page of 90 files waits long
        // for the last one.
        codeSplitting: {
          groups: [
            { name: "initial", tags: ["$initial"], priority: 2 },
            // The target kinds are not in this chunk: many pages share them, but the first load does not need them.
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

/** Writes a gzipped copy beside each script and stylesheet, which the server sends to browsers that accept gzip. */
function compressedTwins(): Plugin {
  return {
    name: "compressed-twins",
    apply: "build",
    // Compresses the written files, because Vite still changes chunks after `generateBundle`.
    async writeBundle({ dir = "" }, bundle) {
      for (const name of Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name))) {
        const text = await readFile(join(dir, name));
        await writeFile(join(dir, `${name}.gz`), gzipSync(text, { level: 9 }));
      }
    },
  };
}
