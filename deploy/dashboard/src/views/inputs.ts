/** How the newest value is computed: each mean with its coverage and range, times its weight, and the sum. */

import { h, svg } from "../dom";
import type { Sensor } from "../fleet";
import type { Card, Estimate } from "../wire";
import { brief, channelName, reading, significant, term } from "../words";
import type { Section } from "./view";

/** Below this share of minutes a window has no value (the coverage rule of the contract). */
const ENOUGH = 0.75;

export function inputsSection(sensor: Sensor): Section {
  const terms = h("ul", { class: "terms" });
  let drawn: Pick<Sensor, "newest" | "card"> = { newest: null, card: null };
  return {
    root: h("section", { "aria-label": "Inputs" }, h("h2", {}, "How this value is computed"), terms),
    update() {
      const { newest, card } = sensor;
      if (drawn.newest === newest && drawn.card === card) return;
      drawn = { newest, card };
      terms.replaceChildren(...(newest ? termsOf(newest, card) : []));
    },
  };
}

function termsOf(estimate: Estimate, card: Card | null): HTMLElement[] {
  const channels = [...new Set([...Object.keys(estimate.minutes), ...Object.keys(estimate.inputs)])];
  const bias = estimate.weights.bias;
  return [
    ...channels.map((channel) => channelTerm(channel, estimate, card)),
    ...(bias === undefined ? [] : [sumTerm("Bias", term(bias, estimate.value), "")]),
    sumTerm(
      "Estimate",
      estimate.value === null ? "no value" : `${term(estimate.value, estimate.value)} ${estimate.unit}`,
      "total",
    ),
  ];
}

function sumTerm(name: string, words: string, kind: string): HTMLElement {
  return h("li", { class: kind }, h("b", {}, name), h("span", { class: "adds" }, words));
}

function channelTerm(channel: string, estimate: Estimate, card: Card | null): HTMLElement {
  const mean = estimate.inputs[channel] ?? null;
  const weight = estimate.weights[channel] ?? null;
  return h(
    "li",
    {},
    h("b", {}, channelName(channel)),
    h("span", { class: "product" }, productInWords(channel, mean, weight, card)),
    channel in estimate.minutes
      ? coverage(estimate.minutes[channel]!, estimate.expectedMinutes)
      : h("span", { class: "coverage" }, "from the hours before"),
    range(mean, card?.domain[channel] ?? null),
    h("span", { class: "adds" }, weight === null || mean === null ? "" : term(weight * mean, estimate.value)),
  );
}

function productInWords(channel: string, mean: number | null, weight: number | null, card: Card | null): string {
  if (mean === null) return "no mean";
  const words = reading(mean, channel);
  if (weight !== null) return `${words} × ${significant(weight)}`;
  return channel === card?.auxiliary ? `at ${words} these weights apply` : words;
}

function coverage(minutes: number, expected: number | null): HTMLElement {
  if (expected === null || expected <= 0) return h("span", { class: "coverage" }, `${minutes} minutes`);
  const share = Math.min(1, minutes / expected);
  const bar = svg(
    "svg",
    { class: "bar", viewBox: "0 0 80 6", "aria-hidden": "true" },
    svg("rect", { class: "track", width: "80", height: "6", rx: "3" }),
    svg("rect", { class: "fill", width: (80 * share).toFixed(1), height: "6", rx: "3" }),
  );
  return h(
    "span",
    { class: share >= ENOUGH ? "coverage" : "coverage alert" },
    `${minutes} of ${expected} minutes`,
    bar,
  );
}

/** The range the model was trained on as a bar, with the present mean as a tick on it or beside it. */
function range(mean: number | null, domain: [number, number] | null): HTMLElement {
  if (!domain) return h("span", { class: "range" });
  const [low, high] = domain;
  const outside = mean !== null && (mean < low || mean > high);
  const share = mean === null || high === low ? null : Math.min(1.1, Math.max(-0.1, (mean - low) / (high - low)));
  const bar = svg(
    "svg",
    { class: "bar", viewBox: "0 -2 96 10", "aria-hidden": "true" },
    svg("rect", { class: "track", x: "8", width: "80", height: "6", rx: "3" }),
    share === null
      ? null
      : svg("rect", { class: "tick", x: (6.75 + 80 * share).toFixed(1), y: "-2", width: "2.5", height: "10", rx: "1" }),
  );
  const words = `${mean === null ? "trained on" : outside ? "outside" : "within"} ${brief(low)} to ${brief(high)}`;
  return h("span", { class: outside ? "range alert" : "range" }, words, bar);
}
