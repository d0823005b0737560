/**
 * Which sensors and vans have a problem, and why. Pure: the fleet and the time are arguments, the result is words.
 * The words give times, not ages, so that a screen reader reads a problem once and not every minute.
 */

import { agentOf, sorted, type Agent, type Fleet, type Sensor } from "./fleet";
import { areInWords, channelName, plural, reasonsInWords, span, when } from "./words";

/** fine · look (flagged, still delivering) · bad (no value to rely on) */
export type Level = "fine" | "look" | "bad";

export interface Problem {
  level: Level;
  text: string;
  /** Already listed for its van. */
  ofVan?: true;
}

const SILENT_WINDOWS = 2;
const BACKLOG_S = 1_800;
const MISSED_REPORTS = 5;
/** The assumed interval of an agent that does not send `interval_s`. */
const REPORT_S = 60;

/** What is shown for a flag without reasons. */
const UNEXPLAINED = { 3: "Flagged as suspect", 4: "Failed its checks", 9: "No value" };

/**
 * When the last new window of a sensor came; null if that is at most two windows ago.
 * The arrival counts as well as the window's own time, so that a replay of last year is not stale.
 * As everywhere in this file, `nowMs` is the time of the vans' clock.
 */
export function staleSinceMs(fleet: Fleet, sensor: Sensor, nowMs: number): number | null {
  const { newest } = sensor;
  if (!newest) return null;
  const updateMs = lastUpdateMs(fleet, sensor, nowMs)!;
  return nowMs - updateMs > SILENT_WINDOWS * (newest.endMs - newest.startMs) ? updateMs : null;
}

/** When the newest window of a sensor came: its arrival or its end, whichever is later. */
export function lastUpdateMs(fleet: Fleet, { newest, heardMs }: Sensor, nowMs: number): number | null {
  return newest && lastSignMs(fleet, heardMs, newest.endMs, nowMs);
}

function lastSignMs(fleet: Fleet, heardMs: number | null, saidMs: number, nowMs: number): number {
  return Math.max((heardMs ?? -Infinity) + fleet.skewMs, Math.min(saidMs, nowMs));
}

/** When an online van reported last; null if the report is recent. A retained report counts by its own time. */
export function unreportedSinceMs(fleet: Fleet, { status, health, heardMs }: Agent, nowMs: number): number | null {
  if (status === "offline" || !health || (heardMs === null && health.atMs === null)) return null;
  const signMs = lastSignMs(fleet, heardMs, health.atMs ?? -Infinity, nowMs);
  return nowMs - signMs > MISSED_REPORTS * 1_000 * Math.max(health.intervalS ?? 0, REPORT_S) ? signMs : null;
}

/** The problems of one sensor, gravest first. */
function sensorProblems(fleet: Fleet, sensor: Sensor, nowMs: number): Problem[] {
  const found = [
    ...absence(fleet, sensor),
    ...staleness(fleet, sensor, nowMs),
    ...flags(sensor),
    ...channelFaults(fleet, sensor),
  ];
  return found.filter(({ text }, i) => found.findIndex((other) => other.text === text) === i).sort(byGravity);
}

function absence(fleet: Fleet, sensor: Sensor): Problem[] {
  const agent = agentOf(fleet, sensor);
  return agent?.status === "offline" ? [{ level: "bad", text: `${agent.id} is offline`, ofVan: true }] : [];
}

function staleness(fleet: Fleet, sensor: Sensor, nowMs: number): Problem[] {
  const sinceMs = staleSinceMs(fleet, sensor, nowMs);
  return sinceMs === null ? [] : [{ level: "bad", text: `Nothing new since ${when(sinceMs, nowMs)}` }];
}

function flags({ newest }: Sensor): Problem[] {
  if (!newest || newest.quality === 1) return [];
  const level = newest.quality === 3 ? "look" : "bad";
  const texts = newest.reasons.length > 0 ? reasonsInWords(newest.reasons) : [UNEXPLAINED[newest.quality]];
  return texts.map((text) => ({ level, text }));
}

function channelFaults(fleet: Fleet, sensor: Sensor): Problem[] {
  const health = agentOf(fleet, sensor)?.health?.sensors[sensor.id];
  if (!health) return [];
  const faults: Problem[] = [];
  if (health.silent.length > 0)
    faults.push({ level: "bad", text: areInWords(health.silent.map(channelName), "silent") });
  if (health.stuck.length > 0)
    faults.push({ level: "look", text: areInWords(health.stuck.map(channelName), "stuck at one value") });
  return faults;
}

function agentProblems(fleet: Fleet, agent: Agent, nowMs: number): Problem[] {
  const { status, health } = agent;
  const sinceMs = unreportedSinceMs(fleet, agent, nowMs);
  if (status === "offline") return [{ level: "bad", text: "No new estimates until it is online again" }];
  if (sinceMs !== null) return [{ level: "bad", text: `No report since ${when(sinceMs, nowMs)}` }];
  const problems: Problem[] = [];
  const outbox = health?.outbox;
  if (health?.clock === "unsynchronised") problems.push({ level: "look", text: 'Clock not synchronised: check NTP, or set clock = "trusted" on the gateway' });
  if (outbox && outbox.depth > 0 && (outbox.oldestS ?? 0) > BACKLOG_S)
    problems.push({ level: "look", text: `Estimates have been waiting to be sent for more than ${span(BACKLOG_S)}` });
  if (outbox && outbox.dropped > 0)
    problems.push({ level: "bad", text: `${plural(outbox.dropped, "estimate")} dropped because the journal reached its limit` });
  return problems;
}

function byGravity(a: { level: Level }, b: { level: Level }): number {
  return Number(b.level === "bad") - Number(a.level === "bad");
}

export function worst(problems: { level: Level }[]): Level {
  return problems.some((p) => p.level === "bad") ? "bad" : problems.length > 0 ? "look" : "fine";
}

export interface Verdict {
  level: Level;
  headline: string;
  /** Gravest first; `sensor` is null for a van. */
  troubles: { who: string; sensor: string | null; level: Level; text: string }[];
  /** The problems of each sensor and van, gravest first. */
  problems: Map<Sensor | Agent, Problem[]>;
}

/** The headline and the list of problems. */
export function verdict(fleet: Fleet, nowMs: number): Verdict {
  const agents = sorted(fleet.agents).map((agent) => [agent, agentProblems(fleet, agent, nowMs)] as const);
  const sensors = sorted(fleet.sensors).map((sensor) => [sensor, sensorProblems(fleet, sensor, nowMs)] as const);
  const ofVans = agents.flatMap(([agent, problems]) => trouble(agent.id, null, problems));
  const ofSensors = sensors.flatMap(([sensor, problems]) => trouble(sensor.id, sensor.id, problems));
  const troubles = [...ofVans, ...ofSensors].sort(byGravity);
  return {
    level: worst(troubles),
    headline: headline(fleet, ofSensors.length, troubles.length),
    troubles,
    problems: new Map<Sensor | Agent, Problem[]>([...agents, ...sensors]),
  };
}

function trouble(who: string, sensor: string | null, problems: Problem[]): Verdict["troubles"] {
  const own = problems.filter(({ ofVan }) => !ofVan);
  return own.length === 0 ? [] : [{ who, sensor, level: worst(own), text: own.map(({ text }) => text).join(". ") }];
}

function headline(fleet: Fleet, ill: number, troubles: number): string {
  const total = fleet.sensors.size;
  const offline = sorted(fleet.agents).filter((agent) => agent.status === "offline");
  if (offline.length > 0)
    return `${areInWords(
      offline.map((agent) => agent.id),
      "offline",
    )}.`;
  if (total === 0) return "No sensor has reported yet.";
  if (ill > 0) return `${ill} of ${plural(total, "sensor")} ${ill === 1 ? "needs" : "need"} attention.`;
  const waiting = [...fleet.sensors.values()].filter((sensor) => !sensor.newest).length;
  if (waiting === total) return "Waiting for the first window.";
  if (waiting > 0) return `${total - waiting} of ${total} sensors report. The others wait for their first window.`;
  if (troubles > 0) return "All sensors report, but the van needs attention.";
  return total === 1
    ? "The sensor reports."
    : `All ${total} sensors${fleet.unshownSensors.size > 0 ? " shown" : ""} report.`;
}
