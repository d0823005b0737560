/**
 * Which sensors and vans have a problem, and why. Pure: the fleet and the time are arguments, the result is words.
 * The words give times, not ages, so that a screen reader reads a problem once and not every minute.
 */

import { airOf, HIGH, type Air } from "./air";
import { disagreements, modelDoubts } from "./doubt";
import { agentOf, labelOf, sorted, type Agent, type Fleet, type Sensor, type Source } from "./fleet";
import { headlineOf } from "./headline";
import { byGravity, worst, type Level, type Problem } from "./level";
import { WHO, type Limit } from "./limits";
import { offInWords } from "./off";
import { firstValueMs, warmingOf } from "./start";
import type { Window } from "./wire";
import { areInWords, channelName, plural, reasonsInWords, span, when } from "./words";

const SILENT_WINDOWS = 2;
const BACKLOG_S = 1_800;
const MISSED_REPORTS = 5;
/** The assumed interval of an agent that does not send `interval_s`. */
const REPORT_S = 60;

/** What is shown for a flag without reasons. */
const UNEXPLAINED = { 3: "Flagged as suspect", 4: "Failed its checks", 9: "No value" };

/**
 * When the last new window of a source came; null if that is at most two windows ago.
 * The arrival counts as well as the window's own time, so that a replay of last year is not stale.
 * As everywhere in this file, `nowMs` is the time of the vans' clock.
 */
export function staleSinceMs(fleet: Fleet, source: Source<Window>, nowMs: number): number | null {
  const { newest } = source;
  if (!newest) return null;
  const updateMs = lastUpdateMs(fleet, source, nowMs)!;
  return nowMs - updateMs > SILENT_WINDOWS * (newest.endMs - newest.startMs) ? updateMs : null;
}

/** When the newest window came: its arrival or its end, whichever is later. */
export function lastUpdateMs(fleet: Fleet, { newest, heardMs }: Source<Window>, nowMs: number): number | null {
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
function sensorProblems(fleet: Fleet, sensor: Sensor, apart: Map<Sensor, string>, nowMs: number): Problem[] {
  const off = absence(fleet, sensor);
  if (off.length > 0) return off;
  if (!sensor.newest) return [{ level: "wait", text: firstInWords(fleet, sensor, nowMs) }];
  const found = [
    ...staleness(fleet, sensor, nowMs),
    ...(warmingUp(sensor, nowMs) ?? flags(sensor)),
    ...channelFaults(fleet, sensor),
    ...doubts(sensor, apart),
  ];
  return found.filter(({ text }, i) => found.findIndex((other) => other.text === text) === i).sort(byGravity);
}

function absence(fleet: Fleet, sensor: Sensor): Problem[] {
  const agent = agentOf(fleet, sensor);
  return agent?.status === "offline" ? [{ level: "off", text: `${agent.id} is offline`, ofVan: true }] : [];
}

function firstInWords(fleet: Fleet, sensor: Sensor, nowMs: number): string {
  const firstMs = firstValueMs(fleet, sensor, nowMs);
  return firstMs === null ? "No complete window yet" : `First value at ${when(firstMs, nowMs)}`;
}

/** Null unless the sensor is warming up and nothing else is flagged. */
function warmingUp(sensor: Sensor, nowMs: number): Problem[] | null {
  const warming = warmingOf(sensor);
  if (!warming || warming.untilMs === null) return null;
  return [{ level: "wait", text: `Warming up: full accuracy from about ${when(warming.untilMs, nowMs)}` }];
}

function doubts(sensor: Sensor, apart: Map<Sensor, string>): Problem[] {
  const texts = [...modelDoubts(sensor), ...(apart.has(sensor) ? [apart.get(sensor)!] : [])];
  return texts.map((text) => ({ level: "look", text }));
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
  const health = agentOf(fleet, sensor)?.health?.sensors[sensor.name];
  if (!health) return [];
  const faults: Problem[] = [];
  if (health.silent.length > 0)
    faults.push({ level: "bad", text: areInWords(health.silent.map(channelName), "silent") });
  if (health.stuck.length > 0)
    faults.push({ level: "look", text: areInWords(health.stuck.map(channelName), "stuck at one value") });
  // The estimates have the same reasons from the next window on.
  for (const text of reasonsInWords(health.suspected)) faults.push({ level: "look", text });
  return faults;
}

function agentProblems(fleet: Fleet, agent: Agent, nowMs: number): Problem[] {
  const { status, health } = agent;
  const sinceMs = unreportedSinceMs(fleet, agent, nowMs);
  if (status === "offline") return [{ level: "off", text: `${capital(offInWords(fleet, agent, nowMs))}. No new estimates until it is online again` }];
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

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export interface Verdict {
  level: Level;
  /** A sentence each about the air, the data and the vans that are off. */
  headline: string[];
  /** Bad air first, then bad data, gravest first; `sensor` is null for a van, `air` for what is not about the air. */
  troubles: Trouble[];
  /** The problems of each sensor and van, gravest first. */
  problems: Map<Sensor | Agent, Problem[]>;
  /** The air at each sensor whose gas and unit have limits. */
  air: Map<Sensor, Air>;
  /** The air by the consensus of each van. */
  airOfVans: Map<Agent, Air>;
}

export interface Trouble {
  who: string;
  sensor: string | null;
  level: Level;
  air: Air["level"] | null;
  text: string;
}

/** The headline and the list of problems. */
export function verdict(fleet: Fleet, nowMs: number, limits: Limit[] = WHO): Verdict {
  const apart = disagreements(fleet);
  const agents = sorted(fleet.agents).map((agent) => [agent, agentProblems(fleet, agent, nowMs)] as const);
  const sensors = sorted(fleet.sensors).map((sensor) => [sensor, sensorProblems(fleet, sensor, apart, nowMs)] as const);
  const ofVans = agents.flatMap(([agent, problems]) => trouble(agent.id, null, problems));
  const ofSensors = sensors.flatMap(([sensor, problems]) => trouble(labelOf(fleet, sensor), sensor.id, problems));
  const problems = new Map<Sensor | Agent, Problem[]>([...agents, ...sensors]);
  const air = new Map(sensors.flatMap(([sensor]) => airEntry(sensor, sensor.windows, limits)));
  const isNow = (sensor: Sensor) => worst(problems.get(sensor)!) !== "off" && staleSinceMs(fleet, sensor, nowMs) === null;
  const current = new Map([...air].filter(([sensor]) => isNow(sensor)));
  const troubles = [...airTroubles(fleet, current), ...[...ofVans, ...ofSensors].sort(byGravity)];
  return {
    level: worst(troubles),
    headline: headlineOf(fleet, { problems, air: current, vansAlone: ofVans.some(({ level }) => level !== "off") }, nowMs),
    troubles,
    problems,
    air,
    airOfVans: new Map(sorted(fleet.agents).flatMap((agent) => airEntry(agent, agent.agreed.windows, limits))),
  };
}

function airEntry<T>(of: T, windows: Window[], limits: Limit[]): [T, Air][] {
  const air = airOf(windows, limits);
  return air ? [[of, air]] : [];
}

function airTroubles(fleet: Fleet, air: Map<Sensor, Air>): Trouble[] {
  const high = [...air].filter(([, { level }]) => level >= HIGH).sort(([, a], [, b]) => b.level - a.level);
  return high.map(([sensor, { level, why }]) => ({ who: labelOf(fleet, sensor), sensor: sensor.id, level: "bad", air: level, text: why }));
}

function trouble(who: string, sensor: string | null, problems: Problem[]): Trouble[] {
  const own = problems.filter(({ ofVan, level }) => !ofVan && level !== "wait");
  if (own.length === 0) return [];
  return [{ who, sensor, level: worst(own), air: null, text: own.map(({ text }) => text).join(". ") }];
}
