/** The day of a sensor as a chart, as a sentence and as a table. */

import { limitInWords, type Air } from "../air";
import { DayChart, type Reading } from "../charts/day";
import type { Line } from "../charts/lines";
import { h, say } from "../dom";
import { periodInWords } from "../limits";
import type { Sensor } from "../fleet";
import type { Estimate } from "../wire";
import { clockTime, concentration, ends, plural, QUALITY, reasonsInWords, when, zoneInWords } from "../words";
import { intervalInWords } from "./card";
import { saveCsv, savePicture } from "./download";
import type { Section } from "./view";

export function daySection(sensor: Sensor): Section {
  const place = h("div", { class: "chart day", tabindex: "0", role: "slider", "aria-valuemin": "1" });
  const readout = h("p", { class: "readout" });
  const summary = h("p", { class: "newest" });
  const measured = h("small");
  const column = h("th", { scope: "col" });
  const body = h("tbody");
  const table = h(
    "details",
    {},
    h("summary", {}, "The windows as a table"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Windows of the last day" },
      h("table", {}, header(column), body),
    ),
  );
  const rows = h("button", { type: "button", onclick: () => saveCsv(sensor) }, "Download as CSV");
  const picture = h("button", { type: "button", onclick: () => savePicture(sensor, place, measuredInWords(sensor)) }, "Download the chart");
  const chart = new DayChart(place, (reading) => {
    say(readout, reading ? slotInWords(reading.slot) : HINT);
    describe(place, reading, sensor.windows.length);
  });
  say(readout, HINT);
  describe(place, null, sensor.windows.length);
  let drawn: Estimate[] = [];
  let drawnLines = "";
  return {
    root: h(
      "section",
      { class: "day-section", "aria-label": "Last day" },
      h("h2", {}, "Last day ", measured, h("small", {}, ` · times in ${zoneInWords()}`)),
      summary,
      place,
      readout,
      h("p", { class: "downloads" }, picture, rows),
      table,
    ),
    update({ nowMs, verdict }) {
      const lines = linesOf(verdict.air.get(sensor) ?? null);
      const key = JSON.stringify(lines);
      if (drawn === sensor.windows && key === drawnLines) return;
      drawn = sensor.windows;
      drawnLines = key;
      chart.update(sensor.windows, lines);
      say(measured, measuredInWords(sensor));
      say(column, measuredInWords(sensor) || "Value");
      const words = dayInWords(sensor.windows);
      say(summary, words);
      place.setAttribute("aria-label", `Chart of the last day. ${words}`);
      place.dataset.points = String(chart.points);
      body.replaceChildren(...drawn.toReversed().map((window) => row(window, nowMs)));
    },
  };
}

/** The limits as lines in the unit of the chart. */
function linesOf(air: Air | null): Line[] {
  return (air?.averages ?? []).map(({ limit, amount }) => ({
    at: amount,
    label: `${limit.by} ${periodInWords(limit.hours)}: ${limitInWords(amount)} ${air!.unit}`,
  }));
}

const HINT = "Touch the chart, or focus it and press ← or →, to read a window.";

/** "CO, ppm", from the newest window that has a gas or a unit; one without a model has neither. */
function measuredInWords({ windows }: Sensor): string {
  const named = windows.findLast((window) => window.gas !== "" || window.unit !== "");
  return [named?.gas, named?.unit].filter(Boolean).join(", ");
}

function header(value: HTMLElement): HTMLElement {
  const head = (words: string) => h("th", { scope: "col" }, words);
  return h("thead", {}, h("tr", {}, head("Window"), value, head("Interval"), head("Quality")));
}

function row(window: Estimate, nowMs: number): HTMLElement {
  const cells = [concentration(window.value), endsInWords(window), qualityInWords(window)];
  return h(
    "tr",
    { "data-quality": String(window.quality) },
    h("th", { scope: "row" }, when(window.startMs, nowMs)),
    ...cells.map((cell) => h("td", {}, cell)),
  );
}

function endsInWords({ value, low, high }: Estimate): string {
  return low === null || high === null ? "–" : ends(value, low, high).join(" to ");
}

function qualityInWords(window: Estimate): string {
  const reasons = reasonsInWords(window.reasons).join(". ");
  return reasons ? `${QUALITY[window.quality]}: ${reasons}` : QUALITY[window.quality];
}

/** For a screen reader the chart is a slider over the windows, which reads each value. */
function describe(place: HTMLElement, reading: Reading | null, windows: number): void {
  place.setAttribute("aria-valuemax", String(Math.max(1, reading?.of ?? windows)));
  place.setAttribute("aria-valuenow", String(reading ? reading.index + 1 : Math.max(1, windows)));
  place.setAttribute("aria-valuetext", reading ? slotInWords(reading.slot) : "use the arrow keys to read the windows");
}

function slotInWords(window: Reading["slot"]): string {
  const time = `${clockTime(window.startMs)} to ${clockTime(window.endMs)}`;
  if (!("sensor" in window)) return `No window from ${time}.`;
  const value =
    window.value === null ? "no value" : `${concentration(window.value)} ${window.unit}, ${intervalInWords(window)}`;
  return `${time}: ${value}. ${qualityInWords(window)}.`;
}

/** The day in one sentence, for readers who do not see the chart. */
export function dayInWords(windows: Estimate[]): string {
  const values = windows.flatMap((window) => window.value ?? []);
  if (values.length === 0) return "No window of this day has a value.";
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const flagged = windows.filter((window) => window.value !== null && window.quality !== 1).length;
  const empty = windows.length - values.length;
  const parts = [
    `from ${concentration(Math.min(...values))} to ${concentration(Math.max(...values))} ${windows.at(-1)!.unit}`,
    `mean ${concentration(mean)}`,
  ];
  if (flagged > 0) parts.push(`${flagged} flagged`);
  if (empty > 0) parts.push(`${empty} without a value`);
  return `${plural(windows.length, "window")}: ${parts.join(", ")}.`;
}
