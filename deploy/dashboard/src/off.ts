/** Since when a van is off. */

import type { Agent, Fleet } from "./fleet";
import { when } from "./words";

/** When an offline van was heard last: the page saw it go, or its last report or window tells. Null if it never was. */
export function offSinceMs(fleet: Fleet, agent: Agent): number | null {
  if (agent.offMs !== null) return agent.offMs + fleet.skewMs;
  const ends = [...fleet.sensors.values()].flatMap((sensor) => (sensor.agent === agent.id ? (sensor.newest?.endMs ?? []) : []));
  const signs = [...ends, ...(agent.health?.atMs == null ? [] : [agent.health.atMs])];
  return signs.length > 0 ? Math.max(...signs) : null;
}

/** "has been offline since about 14:10", "is offline, and has not reported yet". */
export function isOffInWords(fleet: Fleet, agent: Agent, nowMs: number): string {
  return `${offSinceMs(fleet, agent) === null ? "is" : "has been"} ${offInWords(fleet, agent, nowMs)}`;
}

/** "offline since about 14:10", "offline, and has not reported yet". */
export function offInWords(fleet: Fleet, agent: Agent, nowMs: number): string {
  const sinceMs = offSinceMs(fleet, agent);
  if (sinceMs === null) return "offline, and has not reported yet";
  return `offline since ${agent.offMs === null ? "about " : ""}${when(sinceMs, nowMs)}`;
}
