/** Which model speaks: its id and where it comes from. */

import { h, refill } from "../dom";
import type { Sensor } from "../fleet";
import { percent, significant } from "../words";
import type { Section } from "./view";
import { fact } from "./van";

export function modelSection(sensor: Sensor): Section {
  const facts = h("dl", { class: "facts model" });
  return {
    root: h("section", { "aria-label": "Model" }, h("h2", {}, "Model"), facts),
    update() {
      const rows = rowsOf(sensor);
      refill(facts, JSON.stringify(rows), () => rows.map(fact));
    },
  };
}

function rowsOf(sensor: Sensor): [string, string, boolean][] {
  const { card } = sensor;
  const newest = sensor.newest;
  const used = newest?.model ?? null;
  const differs = card !== null && used !== null && used !== card.id;
  const rows: [string, string, boolean][] = [["Id", used ?? card?.id ?? "none", false]];
  if (differs) rows.push(["Card is of", card.id, true]);
  if (!card) return rows;
  if (card.kernel) rows.push(["Kernel", card.kernel, false]);
  if (card.support !== null) rows.push(["Support vectors", String(card.support), false]);
  if (card.interval)
    rows.push([
      "Interval",
      `± ${significant(card.interval.halfWidth, 2)} ${card.unit}, ${percent(card.interval.level)}`,
      false,
    ]);
  for (const [name, words] of Object.entries(card.provenance)) rows.push([name.replaceAll("_", " "), words, false]);
  return rows;
}
