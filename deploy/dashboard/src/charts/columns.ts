/** A day of windows for a chart: runs of neighbours to draw, and columns for scales and cursor. */

import type { AlignedData } from "uplot";
import type { Estimate, Window } from "../wire";

/** Runs of neighbouring windows that have a value; between runs the line is broken. */
export function runs<T extends Window>(windows: T[]): T[][] {
  const found: T[][] = [];
  for (const window of windows) {
    const run = found.at(-1);
    if (window.value === null) {
      if (run && run.length > 0) found.push([]);
    } else if (run && (run.length === 0 || run.at(-1)!.endMs >= window.startMs)) run.push(window);
    else found.push([window]);
  }
  return found.filter((run) => run.length > 0);
}

/** The time between two windows that are not neighbours. */
export interface Gap {
  startMs: number;
  endMs: number;
}

/** One point per window at its middle, in seconds, and an empty one for each gap. */
export function columns(windows: Estimate[]): { data: AlignedData; slots: (Estimate | Gap)[] } {
  const slots = windows.flatMap((window, i): (Estimate | Gap)[] => {
    const before = windows[i - 1];
    const gap = before && window.startMs > before.endMs ? [{ startMs: before.endMs, endMs: window.startMs }] : [];
    return [...gap, window];
  });
  const pick = (read: (window: Estimate) => number | null): (number | null)[] =>
    slots.map((slot) => ("sensor" in slot ? read(slot) : null));
  const bounded = (window: Estimate) => window.low !== null && window.high !== null && window.value !== null;
  return {
    slots,
    data: [
      slots.map(({ startMs, endMs }) => (startMs + endMs) / 2000),
      pick((window) => (bounded(window) ? window.low : null)),
      pick((window) => (bounded(window) ? window.high : null)),
      pick((window) => window.value),
      pick((window) => (window.quality === 1 ? null : window.value)),
    ],
  };
}
