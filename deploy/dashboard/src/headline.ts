/** The headline: a sentence about the air, then one about the data. */

import { AIR_WORDS, HIGH, type Air } from "./air";
import { labelOf, sorted, type Agent, type Fleet, type Sensor } from "./fleet";
import { worst, type Level, type Problem } from "./level";
import { isOffInWords } from "./off";
import { firstOfAllMs, warmingOf } from "./start";
import { areInWords, listed, plural, when } from "./words";

const MOST_NAMES = 3;

export interface Found {
  problems: Map<Sensor | Agent, Problem[]>;
  /** Of the sensors that report now. */
  air: Map<Sensor, Air>;
  /** Whether a van that is on has a problem. */
  vansAlone: boolean;
}

export function headlineOf(fleet: Fleet, found: Found, nowMs: number): string[] {
  return [airInWords(fleet, found), dataInWords(fleet, found, nowMs), offline(fleet, nowMs)].filter(Boolean);
}

function stateOf({ problems }: Found, sensor: Sensor): Level {
  return worst(problems.get(sensor) ?? []);
}

/** The worst air counts. Air above "Moderate" counts from uncertain data, too, and then says so. */
function airInWords(fleet: Fleet, found: Found): string {
  const sure = [...found.air].filter(([sensor]) => ["fine", "wait"].includes(stateOf(found, sensor)));
  const top = Math.max(-1, ...[...found.air].map(([, { level }]) => level));
  const counted = top >= HIGH || sure.length === 0 ? [...found.air] : sure;
  if (counted.length === 0) return "";
  const level = Math.max(...counted.map(([, air]) => air.level)) as Air["level"];
  const at = counted.filter(([, air]) => air.level === level).map(([sensor]) => sensor);
  const doubted = at.every((sensor) => !sure.some(([each]) => each === sensor));
  const where = level === 0 || found.air.size === 1 ? "" : ` at ${placesOf(fleet, at, found.air.size)}`;
  const words = AIR_WORDS[level].toLowerCase();
  if (!doubted) return `Carbon monoxide is ${words}${where}.`;
  return `Carbon monoxide reads ${words}${where}${level >= HIGH ? ", but the data are uncertain" : ""}.`;
}

function placesOf(fleet: Fleet, sensors: Sensor[], total: number): string {
  if (sensors.length <= MOST_NAMES) return listed(sensors.map((sensor) => labelOf(fleet, sensor)));
  return sensors.length === total ? `all ${total} sensors` : `${sensors.length} of ${total} sensors`;
}

function offline(fleet: Fleet, nowMs: number): string {
  const off = sorted(fleet.agents).filter((agent) => agent.status === "offline");
  if (off.length > 1) return `${areInWords(off.map(({ id }) => id), "offline")}.`;
  return off.map((agent) => `${agent.id} ${isOffInWords(fleet, agent, nowMs)}.`).join("");
}

/** The sensors of vans that are on. */
function dataInWords(fleet: Fleet, found: Found, nowMs: number): string {
  const served = sorted(fleet.sensors).filter((sensor) => stateOf(found, sensor) !== "off");
  if (served.length === 0) return fleet.sensors.size > 0 || offline(fleet, nowMs) ? "" : "No sensor has reported yet.";
  return illInWords(served, found) || startInWords(fleet, served, nowMs) || wellInWords(fleet, served, found);
}

/** "1 of 6 sensors needs attention, 2 are uncertain." */
function illInWords(served: Sensor[], found: Found): string {
  const count = (level: Level) => served.filter((sensor) => stateOf(found, sensor) === level).length;
  const [bad, unsure] = [count("bad"), count("look")];
  const total = `of ${plural(served.length, "sensor")}`;
  const are = unsure === 1 ? "is" : "are";
  if (bad === 0) return unsure === 0 ? "" : `${unsure} ${total} ${are} uncertain.`;
  return `${bad} ${total} ${bad === 1 ? "needs" : "need"} attention${unsure > 0 ? `, ${unsure} ${are} uncertain` : ""}.`;
}

function startInWords(fleet: Fleet, served: Sensor[], nowMs: number): string {
  const waiting = served.filter(({ newest }) => !newest).length;
  const firstMs = firstOfAllMs(fleet, nowMs);
  if (waiting === served.length) return firstMs === null ? "Waiting for the first window." : `Starting: first values at ${when(firstMs, nowMs)}.`;
  if (waiting > 0) return `${served.length - waiting} of ${served.length} sensors report. The others wait for their first window.`;
  const untils = served.flatMap((sensor) => warmingOf(sensor)?.untilMs ?? []);
  if (untils.length === 0) return "";
  const from = `full accuracy from about ${when(Math.max(...untils), nowMs)}`;
  return untils.length === served.length ? `Warming up: ${from}.` : `${untils.length} of ${served.length} sensors warm up: ${from}.`;
}

function wellInWords(fleet: Fleet, served: Sensor[], { vansAlone }: Found): string {
  if (vansAlone) return "All sensors report, but the van needs attention.";
  if (served.length === 1) return "The sensor reports.";
  return `All ${served.length} sensors${fleet.unshownSensors.size > 0 ? " shown" : ""} report.`;
}
