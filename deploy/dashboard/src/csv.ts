/** The windows of a sensor as CSV: the columns, the order and the cells of `edge-agent export`. */

import type { Estimate } from "./wire";

const WINDOW = ["sensor", "start_utc", "end_utc", "value", "low", "high", "level", "unit", "unit_at", "quality", "reasons"];
const ORIGIN = ["other_inputs", "minutes", "expected", "site", "lat", "lon", "spread_m", "speed_kmh", "model", "clock", "agent", "seq", "revision"];
/** The channels that an agent has by default. Inputs beside them share one column. */
const CHANNELS = ["op1", "op2", "temperature"];

/** RFC 4180 with the line ends of `edge-agent export`, in UTC. */
export function csvOf(windows: Estimate[]): string {
  return [[...WINDOW, ...CHANNELS, ...ORIGIN], ...windows.map(rowOf)].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

function rowOf(window: Estimate): string[] {
  const { inputs, position } = window;
  const others = Object.entries(inputs).filter(([name]) => !CHANNELS.includes(name));
  return [
    safe(window.sensor),
    ...[window.startMs, window.endMs].map(instant),
    ...[window.value, window.low, window.high, window.level].map(decimal),
    safe(window.unit),
    mapOf(Object.entries(window.unitAt)),
    whole(window.quality),
    window.reasons.join(" "),
    ...CHANNELS.map((name) => decimal(inputs[name])),
    mapOf(others),
    ...[fewestMinutes(window), window.expectedMinutes].map(whole),
    safe(window.site),
    ...[position?.lat, position?.lon, position?.spreadM, position?.speedKmh].map(decimal),
    ...[window.model, window.clock, window.agent].map(safe),
    ...[window.seq, window.revision].map(whole),
  ];
}

/** Those of the electrode that has fewest; without a value those of the poorest channel. */
function fewestMinutes({ minutes, weights }: Estimate): number | null {
  const weighed = Object.keys(weights).length > 0;
  const counts = Object.entries(minutes).flatMap(([name, count]) => (!weighed || name in weights ? [count] : []));
  return counts.length > 0 ? Math.min(...counts) : null;
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");
}

function mapOf(pairs: [string, number | null][]): string {
  return pairs.map(([name, value]) => `${name}=${decimal(value)}`).join(" ");
}

function whole(value: number | null): string {
  return value === null ? "" : String(value);
}

/** A number as the agent writes it: 206.0, 1e-05. */
function decimal(value: number | null | undefined): string {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size > 0 && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Text that a spreadsheet would run as a formula gets an apostrophe before it. */
function safe(words: string | null): string {
  return words !== null && /^[=+\-@\t\r]/.test(words) ? `'${words}` : (words ?? "");
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
