/** The weights of the model against temperature. */

import { WeightChart, type WeightCurve } from "../charts/weights";
import { h, refill, say, show } from "../dom";
import type { Sensor } from "../fleet";
import type { Card, Estimate } from "../wire";
import { brief, channelName, reading, significant, withUnit } from "../words";
import type { Section } from "./view";

export function weightsSection(sensor: Sensor): Section {
  const heading = h("h2");
  const intro = h("p", { class: "newest" });
  const multiples = h("div", { class: "multiples" });
  const body = h("div");
  const table = h("details", {}, h("summary", {}, "The weights as a table"), body);
  let figures: { name: string; chart: WeightChart; caption: HTMLElement; place: HTMLElement }[] = [];
  let drawn: Pick<Sensor, "newest" | "card"> | null = null;
  const root = h("section", { "aria-label": "Weights" }, heading, intro, multiples, table);
  return {
    root,
    update() {
      const { newest, card } = sensor;
      if (drawn?.newest === newest && drawn.card === card) return;
      drawn = { newest, card };
      show(table, card !== null);
      say(heading, against(card));
      say(intro, introduction(card, newest));
      if (!card) return refill(multiples, null, () => []);
      refill(multiples, card, () => {
        figures = Object.keys(card.curves).map((name) => multiple(name));
        return figures.map(({ place, caption }) => h("figure", {}, caption, place));
      });
      for (const { name, chart, caption, place } of figures) {
        const now = presentPoint(card, newest, name);
        chart.update({
          auxiliary: card.auxiliary,
          x: card.x,
          y: card.curves[name]!,
          domain: card.domain[card.auxiliary] ?? null,
          now,
        });
        refill(caption, drawn, () => captionOf(card, name, now));
        place.setAttribute("aria-label", curveInWords(card, name));
      }
      refill(body, card, () => [curveTable(card)]);
    },
  };
}

function against(card: Card | null): string {
  return card ? `Weights against ${channelName(card.auxiliary).toLowerCase()}` : "Weights";
}

function multiple(name: string) {
  const place = h("div", { class: "chart weight", role: "img" });
  return { name, place, chart: new WeightChart(place), caption: h("figcaption") };
}

/** The present temperature, and the weight in the newest estimate if that is of the same model. */
function presentPoint(card: Card, newest: Estimate | null, name: string): WeightCurve["now"] {
  const x = newest?.inputs[card.auxiliary];
  return x == null ? null : { x, y: newest?.model === card.id ? (newest.weights[name] ?? null) : null };
}

function introduction(card: Card | null, newest: Estimate | null): string {
  if (!card) return "No model card received for this sensor.";
  const domain = card.domain[card.auxiliary];
  const trained = domain
    ? `Trained from ${brief(domain[0])} to ${withUnit(brief(domain[1]), card.auxiliary)} (shaded)`
    : "Training range unknown";
  const now = newest?.inputs[card.auxiliary];
  const outside = domain && now != null && (now < domain[0] || now > domain[1]) ? ", outside it" : "";
  return now == null ? `${trained}.` : `${trained}; now ${reading(now, card.auxiliary)}${outside} (dashed).`;
}

function symbol(card: Card, name: string): (Node | string)[] {
  const index = card.channels.indexOf(name);
  return index < 0 ? [h("i", {}, "b")] : [h("i", {}, "w"), h("sub", {}, String(index + 1))];
}

function captionOf(card: Card, name: string, now: WeightCurve["now"]): (Node | string)[] {
  const unit = withUnit("", name).trim() || "unit";
  const per = card.channels.includes(name) ? `${card.unit} per ${unit} of ${channelName(name)}` : card.unit;
  return [h("span", {}, ...symbol(card, name), h("small", {}, ` ${per}`)), h("b", {}, significant(now?.y))];
}

function curveInWords(card: Card, name: string): string {
  const y = card.curves[name]!;
  const ends = `${significant(y[0])} at ${brief(card.x[0])} to ${significant(y.at(-1))} at ${withUnit(brief(card.x.at(-1)), card.auxiliary)}`;
  return `${channelName(name)} against ${card.auxiliary}: ${ends}.`;
}

/** Every fifth sample: enough for a smooth curve. */
function curveTable(card: Card): HTMLElement {
  const names = Object.keys(card.curves);
  const rows = card.x.flatMap((x, i) => (i % 5 === 0 ? [[x, ...names.map((name) => card.curves[name]![i])]] : []));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": against(card) },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h("tr", {}, ...[card.auxiliary, ...names].map((name) => h("th", { scope: "col" }, channelName(name)))),
      ),
      h(
        "tbody",
        {},
        ...rows.map(([x, ...ys]) =>
          h("tr", {}, h("th", { scope: "row" }, brief(x)), ...ys.map((y) => h("td", {}, significant(y)))),
        ),
      ),
    ),
  );
}
