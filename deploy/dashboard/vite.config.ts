import { defineConfig, type Plugin } from "vite";

// The page shows text from the network: nothing inline may run, and only a broker may be spoken to.
// The worker is the timer of mqtt.js, which keeps the connection alive in a tab in the background.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src data:",
  "connect-src ws: wss:",
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const contentSecurityPolicy: Plugin = {
  name: "content-security-policy",
  apply: "build", // the development server needs inline styles
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: POLICY },
      injectTo: "head-prepend",
    },
  ],
};

export default defineConfig({
  base: "./", // served from any folder
  build: { target: "es2022", modulePreload: { polyfill: false }, chunkSizeWarningLimit: 600 },
  plugins: [contentSecurityPolicy],
});
