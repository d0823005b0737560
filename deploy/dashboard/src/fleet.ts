/** Everything the page knows: sensors with their last day, and the agents that serve them. */

import type { Card, Estimate, Health } from "./wire";

export const DAY_MS = 86_400_000;
const MAX_SENSORS = 64;
const MAX_AGENTS = 16;
const MAX_WINDOWS = 1_440;

export interface Sensor {
  id: string;
  /** Sorted by start, one per window, the highest revision of each. */
  windows: Estimate[];
  card: Card | null;
  /** Wall time at which the newest window came as news; null when it was only retained or fetched. */
  heardMs: number | null;
}

export interface Agent {
  id: string;
  status: "online" | "offline" | null;
  health: Health | null;
  heardMs: number;
}

export class Fleet {
  readonly sensors = new Map<string, Sensor>();
  readonly agents = new Map<string, Agent>();
  /** Messages that could not be read, and sensors or agents past the bound. */
  refused = 0;

  /** Take one estimate; `heardMs` is its arrival if it came as news. Twice is the same as once, in any order. */
  addEstimate(estimate: Estimate, heardMs: number | null): void {
    const sensor = this.sensor(estimate.sensor);
    if (!sensor) return;
    const newest = sensor.windows.at(-1);
    insert(sensor.windows, estimate);
    prune(sensor.windows);
    // An old window that comes late says nothing about whether the sensor is alive now.
    if (heardMs !== null && (!newest || estimate.startMs >= newest.startMs)) sensor.heardMs = heardMs;
  }

  setCard(id: string, card: Card | null): void {
    const sensor = this.sensor(id);
    if (sensor) sensor.card = card;
  }

  setStatus(id: string, status: "online" | "offline", nowMs: number): void {
    const agent = this.agent(id, nowMs);
    if (agent) agent.status = status;
  }

  setHealth(id: string, health: Health, nowMs: number): void {
    const agent = this.agent(id, nowMs);
    if (agent) agent.health = health;
    // A sensor whose first window is still open is known by its agent alone.
    for (const sensor of Object.keys(health.sensors)) this.sensor(sensor);
  }

  private sensor(id: string): Sensor | null {
    const known = this.sensors.get(id);
    if (known) return known;
    if (this.sensors.size >= MAX_SENSORS) return this.refuse();
    const sensor: Sensor = { id, windows: [], card: null, heardMs: null };
    this.sensors.set(id, sensor);
    return sensor;
  }

  private agent(id: string, nowMs: number): Agent | null {
    const known = this.agents.get(id);
    if (!known && this.agents.size >= MAX_AGENTS) return this.refuse();
    const agent = known ?? { id, status: null, health: null, heardMs: nowMs };
    agent.heardMs = nowMs;
    this.agents.set(id, agent);
    return agent;
  }

  private refuse(): null {
    this.refused += 1;
    return null;
  }
}

function insert(windows: Estimate[], estimate: Estimate): void {
  const at = windows.findLastIndex((window) => window.startMs <= estimate.startMs);
  const same = windows[at];
  if (same?.startMs !== estimate.startMs) windows.splice(at + 1, 0, estimate);
  else if (estimate.revision >= same.revision) windows[at] = estimate;
}

function prune(windows: Estimate[]): void {
  const newest = windows.at(-1)!;
  const keepFrom = windows.findIndex((window) => window.endMs > newest.endMs - DAY_MS);
  windows.splice(0, Math.max(keepFrom, windows.length - MAX_WINDOWS));
}

export function newestOf(sensor: Sensor): Estimate | null {
  return sensor.windows.at(-1) ?? null;
}

/** The agent that serves a sensor: by its newest estimate, or before the first one by the agents' health. */
export function agentOf(fleet: Fleet, sensor: Sensor): Agent | null {
  const id = newestOf(sensor)?.agent;
  if (id) return fleet.agents.get(id) ?? null;
  return [...fleet.agents.values()].find((agent) => agent.health?.sensors[sensor.id]) ?? null;
}

export function sorted<T extends { id: string }>(items: Map<string, T>): T[] {
  return [...items.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
