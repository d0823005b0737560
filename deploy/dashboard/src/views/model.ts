/** The model in use: its id and where it comes from. */

import { h, refill } from "../dom";
import type { Sensor } from "../fleet";
import { factInWords, percent, significant, utcDate } from "../words";
import type { Section } from "./view";
import { fact } from "./van";

/** Shown elsewhere, and a histogram that only the export uses. */
const HIDDEN = ["support", "temperature_counts"];

const FACTS = new Map([
  ["from", "Trained from"],
  ["to", "Trained to"],
  ["n_train", "Training windows"],
  ["n_test", "Test windows"],
  ["r2", "R²"],
  ["r2_train", "R² in training"],
  ["r2_test", "R² in test"],
  ["rmse_test", "RMSE in test"],
]);

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
  if (differs) rows.push(["Card describes", card.id, true]);
  if (!card) return rows;
  if (card.kernel) rows.push(["Kernel", card.kernel, false]);
  if (card.support !== null) rows.push(["Support vectors", String(card.support), false]);
  if (card.interval)
    rows.push([
      "Interval",
      `± ${significant(card.interval.halfWidth, 2)} ${card.unit}, ${percent(card.interval.level)}`,
      false,
    ]);
  if (card.validUntilMs !== null)
    rows.push(["Valid until", utcDate(card.validUntilMs), (newest?.endMs ?? 0) > card.validUntilMs]);
  for (const [name, words] of Object.entries(card.provenance))
    if (!HIDDEN.includes(name)) rows.push([FACTS.get(name) ?? name.replaceAll("_", " "), factInWords(words), false]);
  return rows;
}
