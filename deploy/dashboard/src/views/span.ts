/** The choice of how much of the past is shown. */

import { h } from "../dom";
import { DAY_MS, MONTH_MS, WEEK_MS } from "../fleet";

const SPANS = new Map([
  [DAY_MS, "1 day"],
  [WEEK_MS, "7 days"],
  [MONTH_MS, "30 days"],
]);

export function spanInWords(spanMs: number, capital = false): string {
  return `${capital ? "L" : "l"}ast ${spanMs === DAY_MS ? "day" : SPANS.get(spanMs)}`;
}

export function spanButtons(onChoice: (spanMs: number) => void): HTMLElement[] {
  const buttons = [...SPANS].map(([spanMs, words]) => {
    const choose = () => {
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      onChoice(spanMs);
    };
    const button = h("button", { type: "button", "aria-pressed": String(spanMs === DAY_MS), onclick: choose }, words);
    return button;
  });
  return buttons;
}
