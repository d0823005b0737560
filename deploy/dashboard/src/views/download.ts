/** What the chart shows as files: its windows as CSV, its chart as PNG. */

import { FONT, ink } from "../charts/ink";
import { csvOf } from "../csv";
import { h } from "../dom";
import type { Sensor } from "../fleet";
import type { Estimate } from "../wire";
import { zoneInWords } from "../words";

const HEAD = 44;
const MARGIN = 12;

export function saveCsv(sensor: Sensor, windows: Estimate[]): void {
  save(new Blob([csvOf(windows)], { type: "text/csv" }), fileName(sensor, "csv"));
}

/** The chart as it is on the screen, with a title. */
export function savePicture(sensor: Sensor, place: HTMLElement, words: string): void {
  const chart = place.querySelector("canvas");
  if (chart)
    pictureOf(chart, `${sensor.name}, ${words}`, `Times in ${zoneInWords()}`).toBlob(
      (blob) => blob && save(blob, fileName(sensor, "png")),
    );
}

function pictureOf(chart: HTMLCanvasElement, title: string, note: string): HTMLCanvasElement {
  const px = devicePixelRatio;
  const picture = h("canvas");
  picture.width = chart.width + 2 * MARGIN * px;
  picture.height = chart.height + (HEAD + 2 * MARGIN) * px;
  const context = picture.getContext("2d")!;
  context.fillStyle = ink("--paper");
  context.fillRect(0, 0, picture.width, picture.height);
  context.fillStyle = ink("--ink");
  context.font = FONT.replace("12px", `600 ${15 * px}px`);
  context.fillText(title, MARGIN * px, (MARGIN + 16) * px);
  context.fillStyle = ink("--muted");
  context.font = FONT.replace("12px", `${12 * px}px`);
  context.fillText(note, MARGIN * px, (MARGIN + 36) * px);
  context.drawImage(chart, MARGIN * px, (MARGIN + HEAD) * px);
  return picture;
}

/** "5A2D-2024-02-01T1030Z.csv", after the end of the newest window; only letters that every file system takes. */
function fileName({ name, newest }: Sensor, kind: string): string {
  const end = newest ? new Date(newest.endMs).toISOString().slice(0, 16).replace(":", "") : "empty";
  return `${name.replace(/[^\w.-]/g, "_")}-${end}Z.${kind}`;
}

function save(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
