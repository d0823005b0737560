/** One sensor on the overview: value, interval, state and last day. */

import { sparkline } from "../charts/sparkline";
import { h, refill, say } from "../dom";
import { agentOf, sorted, type Fleet, type Sensor } from "../fleet";
import { sensorLink } from "../routes";
import { staleSinceMs, worst, type Level } from "../verdict";
import type { Estimate } from "../wire";
import { ago, concentration, ends, percent, QUALITY, when } from "../words";
import { sayState } from "./mark";
import { sectionsOf, type Section } from "./view";

export function cardList(fleet: Fleet): Section {
  return sectionsOf(
    h("ul", { class: "cards" }),
    () => sorted(fleet.sensors),
    (sensor) => sensorCard(fleet, sensor),
  );
}

/** The state of a sensor in a word or two. Offline and stale come before the flag of an old window. */
export function stateInWord(fleet: Fleet, sensor: Sensor, level: Level, nowMs: number): string {
  const { newest } = sensor;
  if (!newest) return "Waiting";
  if (agentOf(fleet, sensor)?.status === "offline") return "Offline";
  if (staleSinceMs(fleet, sensor, nowMs) !== null) return "Stale";
  return newest.quality === 1 && level !== "fine" ? "Needs attention" : QUALITY[newest.quality];
}

/** "likely between 0.71 and 0.95 ppm (90 %)": in words, because screen readers read dashes badly. */
export function intervalInWords({ value, low, high, level, unit }: Estimate): string {
  if (low === null || high === null) return "no interval";
  const [from, to] = ends(value, low, high);
  return `likely between ${from} and ${to} ${unit}${level === null ? "" : ` (${percent(level)})`}`;
}

/** "Measured 4 minutes ago (10:30)". */
function ageInWords({ endMs }: Estimate, nowMs: number): string {
  return `Measured ${ago(endMs, nowMs)} (${when(endMs, nowMs)})`;
}

function sensorCard(fleet: Fleet, sensor: Sensor): Section {
  const state = h("span", { class: "state" });
  const value = h("span", { class: "value" });
  const unit = h("span", { class: "unit" });
  const interval = h("span", { class: "interval" });
  const day = h("div", { class: "spark-place" });
  const why = h("p", { class: "why" });
  const root = h(
    "li",
    { class: "card", "data-sensor": sensor.id },
    h("h3", {}, h("a", { href: sensorLink(sensor.id) }, sensor.id), state),
    h("p", { class: "figure" }, value, unit, interval),
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
      sayState(root, state, level, word, link);
      say(value, concentration(newest?.value ?? null));
      say(unit, newest?.value == null ? "" : newest.unit);
      say(interval, newest?.value == null ? "" : intervalInWords(newest));
      refill(day, sensor.windows, () => [sparkline(sensor.windows)]);
      why.classList.toggle("alert", problems.length > 0);
      say(
        why,
        problems.length > 0
          ? `${problems.map((p) => p.text).join(". ")}.`
          : newest
            ? ageInWords(newest, nowMs)
            : "No complete window yet",
      );
    },
  };
}
