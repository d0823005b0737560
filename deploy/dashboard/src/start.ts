/** A start in good order: when the first values come, and when the sensors have warmed up. */

import { agentOf, sorted, type Agent, type Fleet, type Sensor } from "./fleet";
import type { Estimate, Window } from "./wire";

const WARMING = "temperature_history_incomplete";
/** The agent flags estimates until half of the weight of a 4 h memory is known; see `docs/mqtt.md`. */
const WARMING_MS = 3 * 3_600_000;
/** A pause after which a new start is counted. */
const PAUSE_MS = 3_600_000;
/** Defaults of an agent; without an estimate the page knows no others. */
const WINDOW_MS = 900_000;
const GRACE_MS = 60_000;
const COVERAGE = 0.75;

export interface Warming {
  /** When the first estimate with the whole history begins; null if it is overdue. */
  untilMs: number | null;
}

/** Whether warming up is all that is flagged. */
export function isWarming({ quality, reasons }: Window): boolean {
  return quality === 3 && reasons.length === 1 && reasons[0] === WARMING;
}

/** Null unless warming up is the only thing against the newest window. */
export function warmingOf({ newest, windows }: Sensor): Warming | null {
  if (!newest || !isWarming(newest)) return null;
  const before = windows.findLastIndex((window, i) => isBefore(window, windows[i + 1]));
  const untilMs = (windows[before + 1] ?? newest).startMs + WARMING_MS;
  return { untilMs: newest.endMs > untilMs ? null : untilMs };
}

/** Whether the warming up began after this window: it had its history, or a long pause follows it. */
function isBefore({ value, reasons, endMs }: Estimate, next: Estimate | undefined): boolean {
  return (value !== null && !reasons.includes(WARMING)) || (next?.startMs ?? endMs) - endMs > PAUSE_MS;
}

/** When the first window of a sensor that has none is due; null if it is overdue or the start is unknown. */
export function firstValueMs(fleet: Fleet, sensor: Sensor, nowMs: number): number | null {
  const agent = sensor.newest ? null : agentOf(fleet, sensor);
  return agent && firstWindowMs(agent, nowMs);
}

function firstWindowMs({ status, health }: Agent, nowMs: number): number | null {
  if (status !== "online" || health?.atMs == null || health.uptimeS === null) return null;
  const startMs = health.atMs - health.uptimeS * 1000;
  // A window that lacks more than a quarter at its beginning has no value.
  const endMs = Math.ceil((startMs + COVERAGE * WINDOW_MS) / WINDOW_MS) * WINDOW_MS;
  return nowMs > endMs + 2 * GRACE_MS ? null : endMs + GRACE_MS;
}

/** The earliest of the first windows that are due. */
export function firstOfAllMs(fleet: Fleet, nowMs: number): number | null {
  const due = sorted(fleet.sensors).flatMap((sensor) => firstValueMs(fleet, sensor, nowMs) ?? []);
  return due.length > 0 ? Math.min(...due) : null;
}
