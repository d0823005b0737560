/** The mark before a state: a shape and a colour, readable without telling red from green. */

import type { Link } from "../broker";
import { refill, svg } from "../dom";
import type { Level } from "../level";

const SHAPES: Record<Level, string> = {
  off: "M2.5 2.5h11v11h-11zm2.5 2.5v6h6v-6z",
  wait: "M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12zm0 2.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7z",
  fine: "M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12z",
  look: "M8 2l6.5 12h-13z",
  bad: "M2.5 2.5h11v11h-11z",
};

export function mark(level: Level): SVGElement {
  return svg(
    "svg",
    { class: `mark ${level}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: SHAPES[level], "fill-rule": "evenodd" }),
  );
}

/** A state as a mark and a word. Without a connection it is the last known state, without a colour. */
export function sayState(root: HTMLElement, state: HTMLElement, level: Level, word: string, link: Link): void {
  const live = link.state === "live";
  root.dataset.level = live ? level : "unknown";
  const lastKnown = `Last known: ${word.charAt(0).toLowerCase()}${word.slice(1)}`;
  refill(state, `${live} ${level} ${word}`, () => (live ? [mark(level), word] : [lastKnown]));
}
