/** One sensor on the overview: value, interval, state and last day. */

import { HIGH } from "../air";
import { sparkline } from "../charts/sparkline";
import { h, refill, say, show } from "../dom";
import { agentOf, labelOf, sorted, type Fleet, type Sensor, type Source } from "../fleet";
import { isReplay } from "../replay";
import { sensorLink } from "../routes";
import { byGravity, worst, type Level } from "../level";
import { staleSinceMs, type Verdict } from "../verdict";
import type { Window } from "../wire";
import { ago, ends, percent, valueOf, when } from "../words";
import { sayAir } from "./air";
import { sayState } from "./mark";
import { sectionsOf, type Section } from "./view";

/** The cards of the sensors that `wanted` chooses. */
export function cardList(fleet: Fleet, wanted: (sensor: Sensor) => boolean): Section {
  return sectionsOf(
    h("ul", { class: "cards" }),
    ({ verdict }) => worstFirst(sorted(fleet.sensors).filter(wanted), verdict),
    (sensor) => sensorCard(fleet, sensor),
  );
}

/** Bad air first, then bad data, then by name. */
function worstFirst(sensors: Sensor[], { air, problems }: Verdict): Sensor[] {
  const alarm = (sensor: Sensor) => {
    const level = air.get(sensor)?.level ?? 0;
    return level >= HIGH && worst(problems.get(sensor) ?? []) !== "off" ? level : 0;
  };
  const state = (sensor: Sensor) => ({ level: worst(problems.get(sensor) ?? []) });
  return sensors.sort((a, b) => alarm(b) - alarm(a) || byGravity(state(a), state(b)));
}

/** The state of a sensor's data in a word or two. Offline and stale come before the flag of an old window. */
export function stateInWord(fleet: Fleet, sensor: Sensor, level: Level, nowMs: number): string {
  const { newest } = sensor;
  if (agentOf(fleet, sensor)?.status === "offline") return "Offline";
  if (!newest) return "Starting";
  if (newest.value === null || staleSinceMs(fleet, sensor, nowMs) !== null) return "No data";
  if (level === "wait") return "Warming up";
  return level === "fine" ? "Data OK" : "Uncertain";
}

/** "likely between 0.71 and 0.95 ppm (90 %)": in words, because screen readers read dashes badly. */
export function intervalInWords({ value, low, high, level, unit }: Window): string {
  if (low === null || high === null) return "no interval";
  const [from, to] = ends(value, low, high);
  return `likely between ${from} and ${to} ${unit}${level === null ? "" : ` (${percent(level)})`}`;
}

/** "Measured 4 minutes ago (10:30)", "Replay: measured 1 Feb 2020, 10:30". */
export function ageInWords(fleet: Fleet, source: Source<Window>, nowMs: number): string {
  const { endMs } = source.newest!;
  return isReplay(fleet, source) ? `Replay: measured ${when(endMs, nowMs)}` : `Measured ${ago(endMs, nowMs)} (${when(endMs, nowMs)})`;
}

function sensorCard(fleet: Fleet, sensor: Sensor): Section {
  const name = h("a", { href: sensorLink(sensor.id) });
  const state = h("span", { class: "state" });
  const value = h("span", { class: "value" });
  const unit = h("span", { class: "unit" });
  const interval = h("span", { class: "interval" });
  const air = h("p", { class: "air" });
  const site = h("p", { class: "at-site" });
  const day = h("div", { class: "spark-place" });
  const why = h("p", { class: "why" });
  const root = h(
    "li",
    { class: "card", "data-sensor": sensor.name },
    h("h3", {}, name, state),
    h("p", { class: "figure" }, value, unit, interval),
    air,
    site,
    day,
    why,
  );
  return {
    root,
    update({ nowMs, link, verdict }) {
      const { newest } = sensor;
      const problems = verdict.problems.get(sensor) ?? [];
      const level = worst(problems);
      const word = stateInWord(fleet, sensor, level, nowMs);
      say(name, labelOf(fleet, sensor));
      sayState(root, state, level, word, link);
      say(value, newest ? valueOf(newest) : "–");
      say(unit, newest?.value == null ? "" : `${newest.unit} ${newest.gas}`);
      sayAir(air, verdict.air.get(sensor) ?? null, word, link);
      say(site, newest?.site ?? "");
      show(site, Boolean(newest?.site));
      say(interval, newest?.value == null ? "" : intervalInWords(newest));
      refill(day, sensor.windows, () => [sparkline(sensor.windows)]);
      why.classList.toggle("alert", level === "look" || level === "bad");
      const texts = problems.map(({ text }) => text);
      // Other problems say since when they are; an old value must not look new.
      const age = newest && (level === "fine" || level === "off") ? [ageInWords(fleet, sensor, nowMs)] : [];
      say(why, `${[...texts, ...age].join(". ")}.`);
    },
  };
}
