/** A sensor beside a reference: the score of the last day that has both. */

import { h, refill, say, show } from "../dom";
import type { Sensor } from "../fleet";
import { biasInWords, coverageInWords, isPoor, type Score } from "../score";
import { plural, significant, span, when } from "../words";
import type { Section } from "./view";
import { fact } from "./van";

export function scoreSection(sensor: Sensor): Section {
  const summary = h("p", { class: "newest" });
  const facts = h("dl", { class: "facts" });
  const root = h("section", { class: "score", "aria-label": "Reference" }, h("h2", {}, "Beside a reference"), summary, facts);
  return {
    root,
    update({ nowMs }) {
      const { score } = sensor;
      show(root, score !== null);
      if (!score) return;
      say(summary, `On average the estimates were ${biasInWords(score)}, over ${span((score.toMs - score.fromMs) / 1000)} until ${when(score.toMs, nowMs)}.`);
      const rows = rowsOf(score, sensor.newest?.model ?? null);
      refill(facts, JSON.stringify(rows), () => rows.map(fact));
    },
  };
}

function rowsOf(score: Score, used: string | null): [string, string, boolean][] {
  const rows: [string, string, boolean][] = [
    ["Typical error (RMSE)", `${significant(score.rmse, 2)} ${score.unit}`, false],
    ["R²", score.r2 === null ? "–" : significant(score.r2, 2), false],
    ["The interval contains", coverageInWords(score), isPoor(score)],
    ["Compared", plural(score.windows, "window"), false],
  ];
  return used !== null && score.model !== null && score.model !== used ? [...rows, ["Of another model", score.model, true]] : rows;
}
