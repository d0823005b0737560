import { defineConfig, loadEnv, type Plugin } from "vite";

/** The page shows text from the network: nothing inline may run, and only a broker may be spoken to. */
const policy = (tiles: string) => [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  `img-src data: ${tiles}`.trim(),
  "connect-src ws: wss:",
  "worker-src blob:", // the timer of mqtt.js, which keeps the connection alive in a tab in the background
  "base-uri 'none'",
  "form-action 'none'",
];

const contentSecurityPolicy = (tiles: string): Plugin => ({
  name: "content-security-policy",
  apply: "build", // the development server needs inline styles
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: policy(tiles).join("; ") },
      injectTo: "head-prepend",
    },
  ],
});

/** The origin of the tile server; empty without one. */
function tileOrigin({ VITE_TILES: template, VITE_TILES_BY: by }: Record<string, string>): string {
  if (!template) return "";
  if (!by) throw new Error("VITE_TILES: expected VITE_TILES_BY with it, the attribution that the tile server asks for");
  return new URL(template).origin;
}

export default defineConfig(({ mode }) => ({
  base: "./", // served from any folder
  build: { target: "es2022", modulePreload: { polyfill: false }, chunkSizeWarningLimit: 600 },
  plugins: [contentSecurityPolicy(tileOrigin(loadEnv(mode, import.meta.dirname)))],
}));
