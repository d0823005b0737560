/** What the page knows: sensors with their last day, and the agents that serve them. */

import { MAX_ENTRIES } from "./payload";
import type { Consensus } from "./consensus";
import type { Score } from "./score";
import type { Card, Estimate, Health, Window } from "./wire";

export const DAY_MS = 86_400_000;
export const WEEK_MS = 7 * DAY_MS;
export const MONTH_MS = 30 * DAY_MS;
const MAX_SENSORS = MAX_ENTRIES;
const MAX_AGENTS = 16;
const MAX_UNSHOWN = 10_000;
/** A smaller difference may be the delay of the network. */
const MIN_SKEW_MS = 120_000;
const MAX_WINDOWS = 2_880;

/** A series of windows. Windows and lists of them are replaced, never changed, so that views can compare by identity. */
export interface Source<T extends Window> {
  newest: T | null;
  /** The day that ends with the newest window: sorted by start, one estimate per window. */
  windows: T[];
  /** All kept windows, 30 days at most. `windows` is taken from them, so that one window from the future does not empty the day. */
  kept: T[];
  /** When the newest window arrived live, by this device's clock; null if it was retained or fetched. */
  heardMs: number | null;
}

export interface Sensor extends Source<Estimate> {
  /** `van-1/5A2D`: two vans may have sensors of one name. */
  id: string;
  name: string;
  agent: string;
  card: Card | null;
  /** How well it agrees with a reference beside the van. */
  score: Score | null;
}

export interface Agent {
  id: string;
  status: "online" | "offline" | null;
  health: Health | null;
  /** When its health arrived live, by this device's clock; null if it was retained. */
  heardMs: number | null;
  /** When this page saw it go offline, by this device's clock; null if that was before. */
  offMs: number | null;
  /** The consensus of its sensors. */
  agreed: Source<Consensus>;
}

export class Fleet {
  readonly sensors = new Map<string, Sensor>();
  readonly agents = new Map<string, Agent>();
  /** How far this device's clock is behind that of a synchronised van; 0 below two minutes. */
  skewMs = 0;
  /** Names beyond the limits above. */
  readonly unshownSensors = new Set<string>();
  readonly unshownAgents = new Set<string>();

  /** Add one estimate; `heardMs` is its arrival if it came live. Order and repetition do not matter. */
  addEstimate(estimate: Estimate, heardMs: number | null): void {
    const sensor = this.sensor(estimate.agent, estimate.sensor);
    if (sensor) add(sensor, estimate, heardMs);
  }

  /** The same for the consensus of a van. */
  addConsensus(consensus: Consensus, heardMs: number | null): void {
    const agent = this.agent(consensus.agent);
    if (agent) add(agent.agreed, consensus, heardMs);
  }

  setCard(agent: string, name: string, card: Card | null): void {
    const sensor = this.sensor(agent, name);
    if (sensor) sensor.card = card;
  }

  setScore(agent: string, name: string, score: Score | null): void {
    const sensor = this.sensor(agent, name);
    if (sensor) sensor.score = score;
  }

  /** Its retained consensus was cleared: it is switched off. */
  dropConsensus(id: string): void {
    const agent = this.agents.get(id);
    if (agent) agent.agreed = empty();
  }

  /** Set a status; `heardMs` is its arrival if it came live. */
  setStatus(id: string, status: "online" | "offline", heardMs: number | null = null): void {
    const agent = this.agent(id);
    if (!agent) return;
    if (agent.status !== status) agent.offMs = status === "offline" ? heardMs : null;
    agent.status = status;
  }

  /** Set a health report; `heardMs` is its arrival if it came live. */
  setHealth(id: string, health: Health, heardMs: number | null): void {
    const agent = this.agent(id);
    if (agent) {
      agent.health = health;
      agent.heardMs = heardMs ?? agent.heardMs;
    }
    if (heardMs !== null && health.atMs !== null && health.clock === "synchronised") {
      const skewMs = health.atMs - heardMs;
      this.skewMs = Math.abs(skewMs) < MIN_SKEW_MS ? 0 : skewMs;
    }
    // Before its first window has closed, a sensor is known only from the health of its agent.
    for (const sensor of Object.keys(health.sensors)) this.sensor(id, sensor);
  }

  /** Its retained estimate was cleared: the sensor is out of service. The next health may add it again. */
  dropSensor(agent: string, name: string): void {
    this.sensors.delete(idOf(agent, name));
  }

  /** A retained status or health was cleared; an agent with neither is out of service. */
  clear(id: string, what: "status" | "health"): void {
    const agent = this.agents.get(id);
    if (!agent) return;
    agent[what] = null;
    if (agent.status === null && agent.health === null) this.agents.delete(id);
  }

  private sensor(agent: string, name: string): Sensor | null {
    const id = idOf(agent, name);
    const known = this.sensors.get(id);
    if (known) return known;
    if (this.sensors.size >= MAX_SENSORS) return refuse(this.unshownSensors, id);
    const sensor: Sensor = { id, name, agent, card: null, score: null, ...empty<Estimate>() };
    this.sensors.set(id, sensor);
    return sensor;
  }

  private agent(id: string): Agent | null {
    const known = this.agents.get(id);
    if (known) return known;
    if (this.agents.size >= MAX_AGENTS) return refuse(this.unshownAgents, id);
    const agent: Agent = { id, status: null, health: null, heardMs: null, offMs: null, agreed: empty() };
    this.agents.set(id, agent);
    return agent;
  }
}

function refuse(unshown: Set<string>, id: string): null {
  if (unshown.size < MAX_UNSHOWN) unshown.add(id);
  return null;
}

function empty<T extends Window>(): Source<T> {
  return { newest: null, windows: [], kept: [], heardMs: null };
}

function add<T extends Window>(source: Source<T>, window: T, heardMs: number | null): void {
  insert(source.kept, window);
  if (succeeds(window, source.newest, heardMs !== null)) {
    source.newest = window;
    // An old window that arrives late does not show that the source is alive now.
    source.heardMs = heardMs ?? source.heardMs;
  }
  source.kept = trimmed(source.kept, source.newest!);
  source.windows = source.kept.filter(({ endMs }) => endMs > source.newest!.endMs - DAY_MS);
}

function insert<T extends Window>(windows: T[], estimate: T): void {
  const at = windows.findLastIndex((window) => window.startMs <= estimate.startMs);
  const same = windows[at];
  if (same?.startMs !== estimate.startMs) windows.splice(at + 1, 0, estimate);
  else if (estimate.revision >= same.revision) windows[at] = estimate;
}

/**
 * Whether an estimate is newer than the newest. `seq` decides, because a clock can be wrong; but a revision has a new
 * `seq`, so that its start decides. `seq` restarts only with a new journal, so a later window that comes live is newer, too.
 */
function succeeds(estimate: Window, newest: Window | null, live: boolean): boolean {
  if (!newest) return true;
  if (estimate.startMs === newest.startMs) return estimate.revision >= newest.revision;
  const later = estimate.startMs > newest.startMs;
  if ((later ? newest : estimate).revision > 0) return later;
  return estimate.seq > newest.seq || (live && later);
}

/** No window after the newest, and at most as many as fit in 30 days. */
function trimmed<T extends Window>(windows: T[], newest: T): T[] {
  const shortestMs = Math.min(...windows.map((window) => window.endMs - window.startMs));
  const most = Math.min(MAX_WINDOWS, Math.ceil(MONTH_MS / shortestMs));
  return windows.filter((window) => window.startMs <= newest.startMs).slice(-most);
}

export function idOf(agent: string, name: string): string {
  return `${agent}/${name}`;
}

/** The name of a sensor, with its van where there are several. */
export function labelOf(fleet: Fleet, { name, agent }: Sensor): string {
  return fleet.agents.size > 1 ? `${name} (${agent})` : name;
}

/** The agent that serves a sensor; null until it has reported. */
export function agentOf(fleet: Fleet, sensor: Sensor): Agent | null {
  return fleet.agents.get(sensor.agent) ?? null;
}

export function sorted<T extends { id: string }>(items: Map<string, T>): T[] {
  return [...items.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
