/** The past of a sensor, a day to 30 days, as a chart, as a sentence and as a table. */

import { limitInWords, type Air } from "../air";
import { DayChart, type Reading } from "../charts/day";
import type { Line } from "../charts/lines";
import { h, say } from "../dom";
import { periodInWords } from "../limits";
import { DAY_MS, type Fleet, type Sensor } from "../fleet";
import type { Estimate } from "../wire";
import { clockTime, concentration, dayAndMonth, plural, valueOf, zoneInWords } from "../words";
import { intervalInWords } from "./card";
import { comparison, nameBeside } from "./compare";
import { saveCsv, savePicture } from "./download";
import { qualityInWords, windowsTable } from "./rows";
import { spanButtons, spanInWords } from "./span";
import type { Moment, Section } from "./view";

/** Asks the agent for the past of a sensor; asking again changes nothing. */
export type AskPast = (sensor: Sensor, spanMs: number) => void;

export function daySection(fleet: Fleet, sensor: Sensor, askPast: AskPast): Section {
  let spanMs = DAY_MS;
  const shown = () => (spanMs === DAY_MS ? sensor.windows : partOf(sensor, spanMs));
  const place = h("div", { class: "chart day", tabindex: "0", role: "slider", "aria-valuemin": "1" });
  const readout = h("p", { class: "readout" });
  const summary = h("p", { class: "newest" });
  const measured = h("small");
  const table = windowsTable();
  const rows = h("button", { type: "button", class: "save-csv", onclick: () => saveCsv(sensor, shown()) }, "Download as CSV");
  const caption = () => `${spanInWords(spanMs)}, ${measuredInWords(sensor)}`;
  const picture = h("button", { type: "button", class: "save-png", onclick: () => savePicture(sensor, place, caption()) }, "Download the chart");
  let drawn: Estimate[] = [];
  let drawnKey = "";
  let newest: Estimate[] | null = null;
  let latest: Moment | null = null;
  const spans = spanButtons((chosenMs) => {
    spanMs = chosenMs;
    if (latest) update(latest);
  });
  const whole = h("button", { type: "button", onclick: () => chart.showAll() }, "All");
  const later = h("button", { type: "button", onclick: () => chart.pan(1), "aria-label": "Later" }, "→");
  const earlier = h("button", { type: "button", onclick: () => chart.pan(-1), "aria-label": "Earlier" }, "←");
  const zoomIn = h("button", { type: "button", onclick: () => chart.zoomIn(), "aria-label": "Zoom in" }, "+");
  const zoomOut = h("button", { type: "button", onclick: () => chart.zoomOut(), "aria-label": "Zoom out" }, "−");
  const part = h("span", { class: "part", "aria-live": "polite" });
  const compared = comparison(fleet, sensor, () => latest && update(latest));
  const words = ({ slot }: Reading) => [slotInWords(slot, spanMs), ...compared.chosen().flatMap((other) => otherInWords(other, sensor, slot))].join(" ");
  const onRead = (reading: Reading | null) => {
    say(readout, reading ? words(reading) : HINT);
    describe(place, reading, drawn.length, reading ? words(reading) : "");
  };
  const chart = new DayChart(place, onRead, ([fromMs, toMs], zoomed) => {
    for (const button of [whole, later, earlier, zoomOut]) button.disabled = !zoomed;
    say(part, zoomed ? `${dayAndTime(fromMs)} to ${dayAndTime(toMs)}` : "");
    place.dataset.shown = `${fromMs} ${toMs}`;
  });
  say(readout, HINT);
  describe(place, null, sensor.windows.length, "");
  const title = h("span");
  const update = (moment: Moment) => {
    latest = moment;
    compared.update();
    const others = compared.chosen();
    if (spanMs !== DAY_MS) for (const each of [sensor, ...others]) askPast(each, spanMs);
    const lines = linesOf(moment.verdict.air.get(sensor) ?? null);
    const key = JSON.stringify([spanMs, sensor.kept.length, lines, others.map(({ id, kept, newest }) => [id, kept.length, newest?.seq])]);
    if (newest === sensor.windows && key === drawnKey) return;
    [newest, drawnKey, drawn] = [sensor.windows, key, shown()];
    chart.update(drawn, lines, spanMs, others.map((other) => ({ name: other.name, windows: other.kept })));
    const words = dayInWords(drawn);
    say(title, `${spanInWords(spanMs, true)} `);
    say(measured, measuredInWords(sensor));
    say(summary, words);
    place.setAttribute("aria-label", `Chart of the ${spanInWords(spanMs)}. ${words}`);
    place.dataset.points = String(chart.points);
    table.update(drawn, measuredInWords(sensor), moment.nowMs);
  };
  return {
    root: h(
      "section",
      { class: "day-section", "aria-label": "Past" },
      h("h2", {}, title, measured, h("small", {}, ` · times in ${zoneInWords()}`)),
      summary,
      place,
      readout,
      h("p", { class: "downloads" }, ...spans, zoomIn, zoomOut, earlier, later, whole, part),
      h("p", { class: "downloads" }, compared.root, picture, rows),
      table.root,
    ),
    update,
  };
}

/** The windows of the span. `kept` is changed in place, so each call makes a new list. */
function partOf({ kept, newest }: Sensor, spanMs: number): Estimate[] {
  return kept.filter((window) => window.endMs > newest!.endMs - spanMs);
}

/** The limits as lines in the unit of the chart. */
function linesOf(air: Air | null): Line[] {
  return (air?.averages ?? []).map(({ limit, amount }) => ({
    at: amount,
    label: `${limit.by} ${periodInWords(limit.hours)}: ${limitInWords(amount)} ${air!.unit}`,
  }));
}

const HINT = "Touch the chart, or press ← or → on it, to read a window. Drag over a part, or press +, to zoom.";

function dayAndTime(ms: number): string {
  return `${dayAndMonth(ms)}, ${clockTime(ms)}`;
}

/** "CO, ppm", from the newest window that has a gas or a unit; one without a model has neither. */
function measuredInWords({ windows }: Sensor): string {
  const named = windows.findLast((window) => window.gas !== "" || window.unit !== "");
  return [named?.gas, named?.unit].filter(Boolean).join(", ");
}

/** For a screen reader the chart is a slider over the windows, which reads each value. */
function describe(place: HTMLElement, reading: Reading | null, windows: number, words: string): void {
  place.setAttribute("aria-valuemax", String(Math.max(1, reading?.of ?? windows)));
  place.setAttribute("aria-valuenow", String(reading ? reading.index + 1 : Math.max(1, windows)));
  place.setAttribute("aria-valuetext", words || "use the arrow keys to read the windows");
}

function slotInWords(window: Reading["slot"], spanMs: number): string {
  const day = spanMs === DAY_MS ? "" : `${dayAndMonth(window.startMs)}, `;
  const time = `${day}${clockTime(window.startMs)} to ${clockTime(window.endMs)}`;
  if (!("sensor" in window)) return `No window from ${time}.`;
  const value =
    window.value === null ? "no value" : `${valueOf(window)} ${window.unit}, ${intervalInWords(window)}`;
  return `${time}: ${value}. ${qualityInWords(window)}.`;
}

/** What another sensor measured in the same window; nothing if it has none. */
function otherInWords(other: Sensor, sensor: Sensor, { startMs }: Reading["slot"]): string[] {
  const same = other.kept.find((window) => window.startMs === startMs);
  return same ? [`${nameBeside(other, sensor)}: ${same.value === null ? "no value" : `${valueOf(same)} ${same.unit}`}.`] : [];
}

/** The day in one sentence, for readers who do not see the chart. */
export function dayInWords(windows: Estimate[]): string {
  const values = windows.flatMap((window) => window.value ?? []);
  if (values.length === 0) return "No window has a value.";
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
