/** Windows as a table, newest first. */

import { h, say } from "../dom";
import type { Estimate } from "../wire";
import { QUALITY, reasonsInWords, revisionInWords, trueEnds, valueOf, when } from "../words";

/** The table follows the chart when this time has passed without a change. */
const SETTLED_MS = 400;

export function windowsTable(): { root: HTMLElement; update(windows: Estimate[], measured: string, nowMs: number): void } {
  const column = h("th", { scope: "col" });
  const body = h("tbody");
  let fill: () => void = () => {};
  let timer = 0;
  const ontoggle = () => fill();
  const scroll = { class: "scroll", tabindex: "0", role: "region", "aria-label": "Windows" };
  return {
    root: h("details", { ontoggle }, h("summary", {}, "The windows as a table"), h("div", scroll, h("table", {}, header(column), body))),
    update(windows, measured, nowMs) {
      say(column, measured || "Value");
      // A month has 2880 rows: they are made only while the table is open.
      fill = () => body.parentElement?.closest("details")?.open && body.replaceChildren(...windows.toReversed().map((window) => row(window, nowMs)));
      // While a month arrives, the chart changes five times a second; laying out its table each time would take seconds.
      clearTimeout(timer);
      timer = window.setTimeout(fill, body.hasChildNodes() ? SETTLED_MS : 0);
    },
  };
}

function header(value: HTMLElement): HTMLElement {
  const head = (words: string) => h("th", { scope: "col" }, words);
  return h("thead", {}, h("tr", {}, head("Window"), value, head("Interval"), head("Quality")));
}

function row(window: Estimate, nowMs: number): HTMLElement {
  const cells = [valueOf(window), endsInWords(window), qualityInWords(window)];
  return h(
    "tr",
    { "data-quality": String(window.quality) },
    h("th", { scope: "row" }, when(window.startMs, nowMs)),
    ...cells.map((cell) => h("td", {}, cell)),
  );
}

function endsInWords({ value, low, high }: Estimate): string {
  return low === null || high === null ? "–" : trueEnds(value, low, high).join(" to ");
}

export function qualityInWords(window: Estimate): string {
  const reasons = reasonsInWords(window.reasons).join(". ");
  const flag = reasons ? `${QUALITY[window.quality]}: ${reasons}` : QUALITY[window.quality];
  return [flag, ...revisionInWords(window)].join(". ");
}
