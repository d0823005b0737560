/** One estimate for all sensors of a van: value, interval, who took part, who did not and why. */

import { sparkline } from "../charts/sparkline";
import { leftOutInWords, sharersInWords, type Consensus } from "../consensus";
import { h, refill, say, show } from "../dom";
import { idOf, sorted, type Agent, type Fleet } from "../fleet";
import type { Level } from "../level";
import { sensorLink } from "../routes";
import { isWarming } from "../start";
import { staleSinceMs } from "../verdict";
import { plural, reasonsInWords, valueOf } from "../words";
import { sayAir } from "./air";
import { ageInWords, intervalInWords } from "./card";
import { mark, sayState } from "./mark";
import { sectionsOf, type Section } from "./view";

/** So many names are read; a van may have two hundred sensors. */
const MOST_NAMES = 6;

/** A card for each van that publishes a consensus. */
export function consensusList(fleet: Fleet): Section {
  return sectionsOf(
    h("section", { class: "consensus", "aria-label": "All sensors together" }),
    () => sorted(fleet.agents).filter(({ agreed }) => agreed.newest),
    (agent) => consensusCard(fleet, agent),
  );
}

function consensusCard(fleet: Fleet, agent: Agent): Section {
  const state = h("span", { class: "state" });
  const value = h("span", { class: "value" });
  const unit = h("span", { class: "unit" });
  const interval = h("span", { class: "interval" });
  const air = h("p", { class: "air" });
  const day = h("div", { class: "spark-place" });
  const sharers = h("p", { class: "sharers" });
  const leftOut = h("ul", { class: "left-out" });
  const why = h("p", { class: "why" });
  const root = h(
    "article",
    { class: "agreed", "data-van": agent.id },
    h("h2", {}, `All sensors of ${agent.id} together`, state),
    h("p", { class: "figure" }, value, unit, interval),
    air,
    sharers,
    leftOut,
    day,
    why,
  );
  return {
    root,
    update({ nowMs, link, verdict }) {
      const { newest, windows } = agent.agreed;
      if (!newest) return;
      const [level, word] = stateOf(fleet, agent, newest, nowMs);
      sayState(root, state, level, word, link);
      say(value, valueOf(newest));
      say(unit, newest.value === null ? "" : `${newest.unit} ${newest.gas}`);
      say(interval, newest.value === null ? "" : intervalInWords(newest));
      sayAir(air, verdict.airOfVans.get(agent) ?? null, word, link);
      refill(day, windows, () => [sparkline(windows)]);
      say(sharers, `${sharersInWords(newest)}.`);
      refill(leftOut, JSON.stringify(newest.leftOut), () => leftOutRows(fleet, agent, newest));
      show(leftOut, Object.keys(newest.leftOut).length > 0);
      why.classList.toggle("alert", level === "look" || level === "bad");
      const age = ageInWords(fleet, agent.agreed, nowMs);
      say(why, `${[...reasonsInWords(newest.reasons), age].join(". ")}.`);
    },
  };
}

/** As for a sensor: a van that is off and a value that is old come before the flag. */
function stateOf(fleet: Fleet, agent: Agent, newest: Consensus, nowMs: number): [Level, string] {
  if (agent.status === "offline") return ["off", "Offline"];
  if (newest.value === null || staleSinceMs(fleet, agent.agreed, nowMs) !== null) return ["bad", "No data"];
  if (isWarming(newest)) return ["wait", "Warming up"];
  return newest.quality === 1 ? ["fine", "Data OK"] : ["look", "Uncertain"];
}

function leftOutRows(fleet: Fleet, agent: Agent, newest: Consensus): HTMLElement[] {
  const all = leftOutInWords(newest);
  const rows = all.slice(0, MOST_NAMES).map(([sensor, words]) => {
    const id = idOf(agent.id, sensor);
    const name = fleet.sensors.has(id) ? h("a", { href: sensorLink(id) }, sensor) : h("strong", {}, sensor);
    return h("li", {}, mark("look"), name, h("span", {}, words));
  });
  const more = all.length - rows.length;
  return more > 0 ? [...rows, h("li", {}, h("span"), h("span"), h("span", {}, `${plural(more, "more sensor")} left out`))] : rows;
}
