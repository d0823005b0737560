/** A day of windows as the columns a chart draws. */

import type { AlignedData } from "uplot";
import type { Estimate } from "../wire";

export const LOW = 1;
export const HIGH = 2;

/** One point per window at its middle, in seconds, and an empty one wherever windows are missing between two. */
export function columns(windows: Estimate[]): { data: AlignedData; windows: (Estimate | null)[] } {
  const spaced = windows.flatMap((window, i) => {
    const before = windows[i - 1];
    return before && window.startMs > before.endMs ? [null, window] : [window];
  });
  const x: number[] = spaced.map((window, i) => middleS(window ?? between(spaced[i - 1]!, spaced[i + 1]!)));
  const pick = (read: (window: Estimate) => number | null): (number | null)[] =>
    spaced.map((window) => (window ? read(window) : null));
  const bounded = (window: Estimate) => window.low !== null && window.high !== null && window.value !== null;
  return {
    windows: spaced,
    data: [
      x,
      pick((window) => (bounded(window) ? window.low : null)),
      pick((window) => (bounded(window) ? window.high : null)),
      pick((window) => window.value),
      pick((window) => (window.quality === 1 ? null : window.value)),
    ],
  };
}

function middleS({ startMs, endMs }: { startMs: number; endMs: number }): number {
  return (startMs + endMs) / 2000;
}

function between(before: Estimate, after: Estimate): { startMs: number; endMs: number } {
  return { startMs: before.endMs, endMs: after.startMs };
}
