/** The last day as a small SVG, for the overview. */

import { DAY_MS } from "../fleet";
import { svg } from "../dom";
import { isWarming } from "../start";
import type { Window } from "../wire";
import { runs } from "./columns";

const WIDTH = 240;
const HEIGHT = 48;
const EDGE = 3;

export function sparkline(windows: Window[]): SVGElement {
  const endMs = windows.at(-1)?.endMs ?? 0;
  const top = Math.max(0.1, ...windows.map((window) => window.high ?? window.value ?? 0));
  const bottom = Math.min(0, ...windows.map((window) => window.low ?? window.value ?? 0));
  const x = (window: Window) => (WIDTH * ((window.startMs + window.endMs) / 2 - endMs + DAY_MS)) / DAY_MS;
  const y = (value: number) => EDGE + (HEIGHT - 2 * EDGE) * (1 - (value - bottom) / (top - bottom));
  const at = (read: (window: Window) => number) => (window: Window) =>
    `${x(window).toFixed(1)},${y(read(window)).toFixed(1)}`;
  const paths = runs(windows).flatMap((run) => {
    const upper = run.map(at((window) => window.high ?? window.value!));
    const lower = run.map(at((window) => window.low ?? window.value!)).reverse();
    const line = run.map(at((window) => window.value!));
    return [
      svg("path", { class: "spark-band", d: `M${[...upper, ...lower].join("L")}Z` }),
      // A line of no length with round ends is a dot, so a single window is visible.
      line.length === 1
        ? svg("path", { class: "spark-line lone", d: `M${line[0]}h0` })
        : svg("path", { class: "spark-line", d: `M${line.join("L")}` }),
    ];
  });
  const flags = windows.filter((window) => window.quality !== 1);
  const marks = flags.map((window) => svg("path", { class: isWarming(window) ? "spark-flag wait" : "spark-flag", d: `M${x(window).toFixed(1)},${HEIGHT}v-4` }));
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...paths,
    ...marks,
  );
}
