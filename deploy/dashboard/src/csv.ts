/** The windows of a sensor as CSV, with the numbers as they came. */

import type { Estimate } from "./wire";

const COLUMNS = ["sensor", "start", "end", "gas", "value", "unit", "low", "high", "level", "quality", "reasons", "revision", "seq", "model", "agent"];

/** RFC 4180, in UTC. */
export function csvOf(windows: Estimate[]): string {
  return [COLUMNS, ...windows.map(rowOf)].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function rowOf(window: Estimate): (string | number | null)[] {
  const { sensor, startMs, endMs, gas, value, unit, low, high, level, quality, reasons, revision, seq, model, agent } = window;
  return [sensor, instant(startMs), instant(endMs), gas, value, unit, low, high, level, quality, reasons.join(" "), revision, seq, model, agent];
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** Text that a spreadsheet would run as a formula gets an apostrophe before it. */
function cell(content: string | number | null): string {
  if (typeof content !== "string") return content === null ? "" : String(content);
  const safe = /^[=+\-@\t\r]/.test(content) ? `'${content}` : content;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
