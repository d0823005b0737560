/** The choice between a day and a week. */

import { h } from "../dom";
import { DAY_MS, WEEK_MS } from "../fleet";

export function spanInWords(spanMs: number, capital = false): string {
  return `${capital ? "L" : "l"}ast ${spanMs === DAY_MS ? "day" : "7 days"}`;
}

export function spanButtons(onChoice: (spanMs: number) => void): HTMLElement[] {
  const buttons = [DAY_MS, WEEK_MS].map((spanMs) => {
    const choose = () => {
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      onChoice(spanMs);
    };
    const pressed = String(spanMs === DAY_MS);
    const button = h("button", { type: "button", "aria-pressed": pressed, onclick: choose }, spanMs === DAY_MS ? "1 day" : "7 days");
    return button;
  });
  return buttons;
}
