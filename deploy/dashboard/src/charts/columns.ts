/** A day of windows as a chart draws it: runs of neighbours, and columns for the scales and the cursor. */

import type { AlignedData } from "uplot";
import type { Estimate } from "../wire";

/** Runs of neighbouring windows that have a value; between runs the line is broken. */
export function runs(windows: Estimate[]): Estimate[][] {
  const found: Estimate[][] = [];
  for (const window of windows) {
    const run = found.at(-1);
    if (window.value === null) {
      if (run && run.length > 0) found.push([]);
    } else if (run && (run.length === 0 || run.at(-1)!.endMs >= window.startMs)) run.push(window);
    else found.push([window]);
  }
  return found.filter((run) => run.length > 0);
}

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
