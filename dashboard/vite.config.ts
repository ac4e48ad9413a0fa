import { gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

export default defineConfig({
  // Relative, so that the page works below any path prefix; the server makes those of index.html absolute.
  base: "./",
  plugins: [react(), tailwindcss(), compressedTwins()],
  build: {
    target: "es2023",
    // A data: URL would be a font or script that the page's Content-Security-Policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
});

/** Writes a gzip twin beside each text asset, which the server sends to browsers that take it. */
function compressedTwins(): Plugin {
  return {
    name: "compressed-twins",
    apply: "build",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (!/\.(js|css)$/.test(file.fileName)) continue;
        const text = file.type === "chunk" ? file.code : file.source;
        this.emitFile({
          type: "asset",
          fileName: `${file.fileName}.gz`,
          source: gzipSync(text, { level: 9 }),
        });
      }
    },
  };
}
