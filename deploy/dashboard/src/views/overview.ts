/** The first page: the verdict, then every sensor, then the vans. */

import { AIR_WORDS } from "../air";
import type { Link } from "../broker";
import { h, refill, say, show } from "../dom";
import { labelOf, sorted, type Fleet, type Sensor } from "../fleet";
import { replayedMs } from "../replay";
import { sensorLink } from "../routes";
import { lastUpdateMs, type Verdict } from "../verdict";
import { ago, plural, when } from "../words";
import { meter } from "./air";
import { cardList } from "./card";
import { consensusList } from "./consensus";
import { mark } from "./mark";
import { vanList } from "./van";
import type { Moment, View } from "./view";

/** Without a live connection the page gives no verdict. */
const UNCONNECTED: Record<Link["state"], string | null> = {
  live: null,
  connecting: "Connecting…",
  unreached: "The broker cannot be reached.",
  lost: "Disconnected.",
  refused: "The broker refused access.",
  unusable: "The broker’s address cannot be used.",
};

/** So many sensors are seen at a glance, without a search. */
const FEW = 6;

export function overview(fleet: Fleet): View {
  const heading = h("h1", { class: "verdict", tabindex: "-1" });
  const newest = h("p", { class: "newest" });
  const unshown = h("p", { class: "alert unshown" });
  const troubles = h("ul", { class: "troubles" });
  const cards = cardList(fleet, (sensor) => matches(fleet, sensor, search.value));
  const search = h("input", { type: "search", "aria-label": "Find a sensor, a van or a place", placeholder: "Find a sensor, a van or a place" });
  const none = h("p", { class: "newest" }, "No sensor matches.");
  const together = consensusList(fleet);
  const vans = vanList(fleet);
  const sensorsTitle = h("h2", {}, "Sensors");
  const root = h(
    "div",
    { class: "overview" },
    h(
      "section",
      { class: "summary", "aria-label": "Summary" },
      h("div", { "aria-live": "polite" }, heading, unshown),
      newest,
      h("div", { "aria-live": "polite" }, troubles),
    ),
    together.root,
    h("section", { "aria-label": "Sensors" }, sensorsTitle, search, none, cards.root),
    vans.root,
  );
  let latest: Moment | null = null;
  const updateCards = (moment: Moment) => {
    latest = moment;
    cards.update(moment);
    show(none, search.value !== "" && cards.root.children.length === 0);
  };
  search.addEventListener("input", () => latest && updateCards(latest));
  return {
    root,
    heading,
    title: "RESPIRE",
    update(moment) {
      const { nowMs, link, verdict } = moment;
      sayHeadline(heading, UNCONNECTED[link.state] === null ? verdict.headline : [UNCONNECTED[link.state]!]);
      say(unshown, unshownInWords(fleet));
      say(newest, newestInWords(fleet, nowMs));
      refill(troubles, JSON.stringify(verdict.troubles), () => verdict.troubles.map(trouble));
      show(troubles, verdict.troubles.length > 0);
      show(sensorsTitle, fleet.sensors.size > 0);
      show(search, fleet.sensors.size > FEW || search.value !== "");
      together.update(moment);
      show(together.root, together.root.children.length > 0);
      updateCards(moment);
      vans.update(moment);
    },
  };
}

/** Whether every word of the search is in the name, the van or the place of a sensor. */
function matches(fleet: Fleet, sensor: Sensor, search: string): boolean {
  const names = [labelOf(fleet, sensor), sensor.agent, sensor.newest?.site ?? ""].join(" ").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => names.includes(word));
}

/** The first sentence is the largest. */
function sayHeadline(heading: HTMLElement, [first = "", ...others]: string[]): void {
  refill(heading, [first, ...others].join("\n"), () => [first, ...others.map((words) => h("span", {}, ` ${words}`))]);
}

function unshownInWords({ unshownSensors, unshownAgents }: Fleet): string {
  const kinds: [number, string][] = [
    [unshownSensors.size, "more sensor"],
    [unshownAgents.size, "more van"],
  ];
  const counted = kinds.filter(([n]) => n > 0);
  return counted.map(([n, kind]) => `${plural(n, kind)} ${n === 1 ? "is" : "are"} not shown.`).join(" ");
}

function trouble({ who, sensor, level, air, text }: Verdict["troubles"][number]): HTMLElement {
  const name = sensor === null ? h("strong", {}, who) : h("a", { href: sensorLink(sensor) }, who);
  return h("li", {}, air === null ? mark(level) : meter(air), name, h("span", {}, `${air === null ? "" : `${AIR_WORDS[air]}. `}${text}.`));
}

function newestInWords(fleet: Fleet, nowMs: number): string {
  const updates = sorted(fleet.sensors).flatMap((sensor) => lastUpdateMs(fleet, sensor, nowMs) ?? []);
  if (updates.length === 0) return "Nothing has been measured yet.";
  const updateMs = Math.max(...updates);
  const replayMs = replayedMs(fleet);
  const replay = replayMs === null ? "" : ` A replay: the newest window is of ${when(replayMs, nowMs)}.`;
  return `Last update ${ago(updateMs, nowMs)} (${when(updateMs, nowMs)}).${replay}`;
}
