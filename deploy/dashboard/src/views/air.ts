/** The level of the air: a meter and a word on every card, and the averages against the limits. */

import { AIR_WORDS, limitInWords, type Air, type AirLevel, type Average } from "../air";
import type { Link } from "../broker";
import { h, refill, show, svg } from "../dom";
import type { Sensor } from "../fleet";
import { periodInWords } from "../limits";
import { concentration, shareInWords } from "../words";
import type { Section } from "./view";

const BARS: AirLevel[] = [0, 1, 2, 3];

/** One to four bars, so that the level is read without colours. */
export function meter(level: AirLevel): SVGElement {
  const bars = BARS.map((i) =>
    svg("rect", { class: i <= level ? "on" : "", x: `${i * 5}`, y: `${9 - i * 3}`, width: "4", height: `${5 + i * 3}`, rx: "1" }),
  );
  return svg("svg", { class: "meter", "data-air": `${level}`, viewBox: "0 0 19 14", "aria-hidden": "true" }, ...bars);
}

/** The level as a word with its reason. When the data are old it is the last known level, without a colour. */
export function sayAir(place: HTMLElement, air: Air | null, state: string, link: Link): void {
  const current = link.state === "live" && state !== "Offline" && state !== "No data";
  show(place, air !== null);
  refill(place, air && JSON.stringify([current, air.level, air.why]), () => {
    if (!air) return [];
    const word = AIR_WORDS[air.level];
    const name = current ? [meter(air.level), word] : [`Last known: ${word.toLowerCase()}`];
    return [h("b", { class: "level", "data-air": current ? `${air.level}` : "" }, ...name), ` ${air.why}`];
  });
}

/** The running averages beside the limits. */
export function limitsSection(sensor: Sensor): Section {
  const body = h("tbody");
  const root = h(
    "section",
    { class: "limits", "aria-label": "Limits" },
    h("h2", {}, "Carbon monoxide against the limits"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Averages and limits" }, h("table", {}, header(), body)),
  );
  return {
    root,
    update({ verdict }) {
      const air = verdict.air.get(sensor) ?? null;
      show(root, air !== null);
      refill(body, JSON.stringify(air), () => air?.averages.map((average) => row(average, air.unit)) ?? []);
    },
  };
}

function header(): HTMLElement {
  const names = ["Limit", "Running average", "Share of the limit"];
  return h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name))));
}

function row({ limit, mean, amount, decimals }: Average, unit: string): HTMLElement {
  const given = `${limit.amount} ${limit.unit}`;
  const own = unit === limit.unit ? "" : ` (${limitInWords(amount)} ${unit})`;
  const cells = mean === null
    ? ["fewer than 75 % of the values", "–"]
    : [`${concentration(mean, decimals)} ${unit}`, shareInWords(mean / amount)];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, `${limit.by}, ${periodInWords(limit.hours)}: ${given}${own}`),
    ...cells.map((cell) => h("td", {}, cell)),
  );
}
